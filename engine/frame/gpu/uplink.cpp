// The uplink on a GPU, one function for each opcode.
#include <algorithm>

#include "frame/gpu/arrays.hpp"
#include "frame/transmit.hpp"

namespace carillon::frame {
namespace {

using phy::kTileLanes;

std::size_t symbols_of(const Frame& frame, SymbolKind kind) {
  return frame.symbols_of(kind).size();
}

phy::cuda::ReceiveTask receive_of(const GpuSamples& samples, const phy::cuda::OfdmView& ofdm,
                                  const std::uint8_t* missing, Ordinals symbols) {
  phy::cuda::ReceiveTask task{};
  task.plan = ofdm;
  task.antennas = samples.antennas;
  task.symbols = symbols.count;
  task.iq = samples.at(symbols.first);
  task.iq_antenna = samples.length;
  task.iq_symbol = std::size_t{samples.antennas} * samples.length;
  task.missing = missing + std::size_t{symbols.first} * samples.antennas;
  return task;
}

}  // namespace

GpuUplink::GpuUplink(const Frame& frame, GpuMemory& memory, std::uint32_t zero_force_parts)
    : pilot_samples(frame, SymbolKind::Pilot, memory),
      samples(frame, SymbolKind::Uplink, memory),
      frame_(frame),
      parts_(zero_force_parts),
      half_(in_half(frame, Direction::Uplink)),
      single_(!half_ || symbols_of(frame, SymbolKind::Downlink) != 0) {
  const std::size_t antennas = frame.format().antennas;
  ofdm_ = phy::cuda::view(frame.ofdm(),
                          put(memory, phy::cuda::fft_roots(frame.ofdm().shape().fft_size)));
  pilot_missing = room<std::uint8_t>(memory, symbols_of(frame, SymbolKind::Pilot) * antennas);
  missing = room<std::uint8_t>(memory, symbols_of(frame, SymbolKind::Uplink) * antennas);
  lay_out_estimates(memory);
  lay_out_combiners(memory);
  lay_out_grid(memory);
  lay_out_blocks(memory);
}

void GpuUplink::lay_out_estimates(GpuMemory& memory) {
  const FrameFormat& f = frame_.format();
  const std::size_t pilots = symbols_of(frame_, SymbolKind::Pilot), tiles = frame_.tiles();
  std::vector<phy::Tile> division;
  for (std::size_t p = 0; p < pilots; ++p)
    division.insert(division.end(), frame_.pilot_division().begin(), frame_.pilot_division().end());
  pilot_division_ = put(memory, division);
  pilot_rows_ = room<phy::Tile>(memory, pilots * f.antennas * tiles);
  noise_ = room<float>(memory, pilots * f.antennas);

  std::vector<phy::EstimatePlan> plans;
  for (std::uint32_t offset = 0; offset < frame_.comb(); ++offset)
    plans.emplace_back(f.numerology.subcarriers, frame_.comb(), offset, f.combiner.group);
  const phy::cuda::EstimateTaps taps = phy::cuda::taps_of(plans);
  std::vector<phy::cuda::EstimateUser> users;
  combine_.noise_gain = 1;
  for (std::uint32_t u = 0; u < f.users; ++u) {
    users.push_back({frame_.pilot_symbol_of(u), u % frame_.comb()});
    // The errors of all users' estimates come with their unit-energy symbols: noise like the other.
    combine_.noise_gain += plans[u % frame_.comb()].noise_gain();
  }
  estimate_.tiles = taps.tiles;
  estimate_.tap_count = taps.count;
  estimate_.taps = put(memory, taps.taps);
  estimate_.antennas = f.antennas;
  estimate_.of = put(memory, users);
  estimate_.rows = pilot_rows_;
  estimate_.row_stride = f.antennas * tiles;
  estimate_.antenna_stride = tiles;
  estimate_.tile_stride = 1;
  estimate_.csi_user_stride = frame_.array().antenna_stride;
  estimate_.csi_tile_stride = std::size_t{f.users} * frame_.array().antenna_stride;
  csi_ = room<phy::Tile>(memory, taps.tiles * estimate_.csi_tile_stride);
  if (phy::leaves_residual(frame_.comb(), f.combiner.group)) lay_out_deviations(memory, plans);
}

void GpuUplink::lay_out_deviations(GpuMemory& memory, const std::vector<phy::EstimatePlan>& plans) {
  const FrameFormat& f = frame_.format();
  deviations_ =
      room<phy::GroupDeviation>(memory, symbols_of(frame_, SymbolKind::Pilot) * f.antennas);
  combine_.residual = room<float>(memory, f.users);
  combine_.comb = frame_.comb();
  if (frame_.comb() > 1) combine_.held = room<phy::HeldResidual>(memory, f.users);
  std::vector<phy::DeviationPlan> of_offsets;
  for (const phy::EstimatePlan& plan : plans) of_offsets.push_back(plan.deviation_plan());
  std::vector<phy::cuda::DeviationPlace> places;
  for (std::uint32_t u = 0; u < f.users; ++u) {
    const std::uint32_t pilot = frame_.pilot_symbol_of(u), offset = u % frame_.comb();
    const std::uint32_t others = std::min(frame_.comb(), f.users - pilot * frame_.comb());
    places.push_back({pilot, offset, others, offset});
  }
  survey_.deviations = deviations_;
  survey_.places = put(memory, places);
  survey_.plans = put(memory, of_offsets);
}

void GpuUplink::lay_out_combiners(GpuMemory& memory) {
  const FrameFormat& f = frame_.format();
  const std::size_t lanes = std::size_t{estimate_.tiles} * kTileLanes;
  const std::uint32_t blocks = phy::cuda::triangle(phy::cuda::user_blocks(f.users));
  combine_.detector = f.combiner.kind;
  combine_.antennas = f.antennas;
  combine_.users = f.users;
  combine_.tiles = estimate_.tiles;
  combine_.csi = csi_;
  combine_.tile_stride = estimate_.csi_tile_stride;
  combine_.user_stride = estimate_.csi_user_stride;
  combine_.w = room<phy::Tile>(memory, combine_.tiles * combine_.tile_stride);
  combine_.noise = noise_;
  combine_.pilots = static_cast<std::uint32_t>(symbols_of(frame_, SymbolKind::Pilot));
  combine_.slices =
      phy::cuda::slices_for(f.antennas, f.users, (combine_.tiles + parts_ - 1) / parts_);
  combine_.squares = room<phy::cuda::SquareBlock>(memory, lanes * combine_.slices * blocks);
  combine_.gains = room<float>(memory, lanes * f.users);
  combine_.mean_noise = room<float>(memory, 1);
  combine_.takes_part = room<std::uint8_t>(memory, f.antennas);
  combine_.variances = room<float>(memory, lanes * f.users);
  combine_.flags = room<std::uint32_t>(memory, lanes);

  const std::uint32_t group = f.combiner.group;
  const std::size_t users = std::size_t{frame_.tiles()} * f.users;
  const std::size_t weights = users * frame_.array().antenna_stride;
  if (group == 16) {
    if (single_) combiners_.scalars = room<phy::Complex>(memory, weights);
    if (half_) combiners_.half_scalars = room<phy::HalfComplex>(memory, weights);
  } else {
    if (single_) combiners_.tiles = group == 1 ? combine_.w : room<phy::Tile>(memory, weights);
    if (half_) combiners_.half_tiles = room<phy::HalfTile>(memory, weights);
  }
  if (half_) combiners_.half_scale = room<float>(memory, users);
  combiners_.post_noise = room<float>(memory, users * kTileLanes);
  combiners_.power = room<float>(memory, std::size_t{combine_.tiles} * f.antennas);
  combiners_.in_parts = parts_ > 1;
  const std::size_t gains = parts_ > 1 ? symbols_of(frame_, SymbolKind::Downlink) : 1;
  const auto bins = static_cast<float>(frame_.ofdm().shape().fft_size);
  combiners_.gain = {combiners_.power, combine_.tiles, combine_.antennas, kTransmitPower * bins,
                     room<float>(memory, gains)};

  expand_.of = combine_;
  expand_.group = group;
  expand_.subcarriers = f.numerology.subcarriers;
  expand_.tiles = group == 1 ? nullptr : combiners_.tiles;
  expand_.half = combiners_.half_tiles;
  expand_.scalars = combiners_.scalars;
  expand_.half_scalars = combiners_.half_scalars;
  expand_.user_stride = frame_.array().antenna_stride;
  expand_.tile_stride = f.users * expand_.user_stride;
  expand_.half_scale = combiners_.half_scale;
  expand_.post_noise = combiners_.post_noise;
}

void GpuUplink::lay_out_grid(GpuMemory& memory) {
  const std::size_t tiles = symbols_of(frame_, SymbolKind::Uplink) * row();
  if (half_)
    half_grid_ = room<phy::HalfTile>(memory, tiles);
  else
    grid_ = room<phy::Tile>(memory, tiles);
  const std::size_t symbols = symbols_of(frame_, SymbolKind::Uplink);
  altered_.symbols = room<std::uint8_t>(memory, symbols);
  altered_.lanes = room<phy::cuda::Alteration>(memory, symbols * altered_row());
}

void GpuUplink::lay_out_blocks(GpuMemory& memory) {
  const auto blocks = frame_.program().transport_blocks(Direction::Uplink);
  const auto places = frame_.program().code_blocks(Direction::Uplink);
  const auto ordinal = [&](std::uint16_t symbol) -> std::uint32_t {
    return frame_.symbol(symbol).ordinal;
  };
  std::vector<BlockOrder::Block> coded, whole;
  std::vector<std::vector<std::size_t>> buffers(blocks.size());
  for (std::uint32_t b = 0; b < blocks.size(); ++b)
    whole.push_back({blocks[b].plan, ordinal(blocks[b].last_symbol), b});
  for (std::uint32_t c = 0; c < places.size(); ++c) {
    const std::uint32_t b = places[c].transport_block;
    coded.push_back({blocks[b].plan, ordinal(places[c].last_symbol), c});
    buffers[b].push_back(places[c].coded_offset);
  }
  transport_blocks_ = BlockOrder(std::move(whole));
  code_blocks_ = BlockOrder(std::move(coded));
  runs_ = put_runs(frame_, Direction::Uplink, memory, buffers);
  soft_ = room<std::int8_t>(memory, frame_.room(Direction::Uplink).coded_bytes);
  info_ = room<std::uint8_t>(memory, frame_.room(Direction::Uplink).info_bytes);
  payload = room<std::uint8_t>(memory, frame_.room(Direction::Uplink).payload_bytes);
  std::vector<std::uint8_t> single;
  for (const TransportBlock& block : blocks)
    single.push_back(frame_.program().plan(block).C() == 1 ? 1 : 0);
  good = put(memory, single);
  judged = room<std::uint8_t>(memory, places.size());
  results = room<phy::DecodeResult>(memory, places.size());

  std::vector<phy::cuda::Recovery> recoveries;
  std::vector<std::size_t> recovered_at;
  std::size_t recovered = 0;
  for (const auto& each : code_blocks_.blocks()) {
    const phy::CodeBlock& block =
        frame_.program().code_block(Direction::Uplink, places[each.index]);
    recovered_at.push_back(recovered);
    recoveries_at_.push_back(static_cast<std::uint32_t>(recoveries.size()));
    if (block.map.direct) continue;
    recoveries.push_back(
        phy::cuda::recovery(block.map, places[each.index].coded_offset, recovered));
    recovered += block.map.N;
  }
  recoveries_at_.push_back(static_cast<std::uint32_t>(recoveries.size()));
  recoveries_ = put(memory, recoveries);
  recovered_ = room<std::int8_t>(memory, recovered);
  std::vector<const std::int8_t*> softs;
  std::vector<std::uint8_t*> infos, payloads;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const CodeBlockPlace& place = places[code_blocks_.blocks()[i].index];
    const bool direct = frame_.program().code_block(Direction::Uplink, place).map.direct;
    softs.push_back(direct ? soft_ + place.coded_offset : recovered_ + recovered_at[i]);
    infos.push_back(info_ + place.info_offset);
    payloads.push_back(payload + blocks[place.transport_block].payload_offset);
  }
  soft_list_ = put(memory, softs);
  info_list_ = put(memory, infos);
  payload_list_ = put(memory, payloads);
}

GpuTask GpuUplink::gather(SymbolKind kind, std::uint32_t ordinal,
                          const std::int16_t* const* packets) const {
  const bool pilot = kind == SymbolKind::Pilot;
  const GpuSamples& to = pilot ? pilot_samples : samples;
  phy::cuda::GatherTask task{};
  task.antennas = to.antennas;
  task.skip = frame_.symbol(frame_.symbols_of(kind)[ordinal]).prefix;
  task.samples = frame_.ofdm().shape().fft_size;
  task.packets = packets;
  task.iq = to.at(ordinal);
  task.iq_antenna = to.length;
  task.missing = (pilot ? pilot_missing : missing) + std::size_t{ordinal} * to.antennas;
  return task;
}

std::vector<GpuTask> GpuUplink::pilot_fft(Ordinals symbols) const {
  const FrameFormat& f = frame_.format();
  phy::cuda::ReceiveTask pilots = receive_of(pilot_samples, ofdm_, pilot_missing, symbols);
  pilots.symbol_stride = estimate_.row_stride;
  pilots.antenna_stride = estimate_.antenna_stride;
  pilots.tile_stride = estimate_.tile_stride;
  pilots.tiles = pilot_rows_ + symbols.first * pilots.symbol_stride;
  pilots.pilot = pilot_division_;
  pilots.noise = noise_ + std::size_t{symbols.first} * f.antennas;

  const std::uint32_t first = std::min(f.users, symbols.first * frame_.comb());
  const std::uint32_t end = std::min(f.users, (symbols.first + symbols.count) * frame_.comb());
  if (first == end) return {pilots};
  phy::cuda::EstimateTask estimate = estimate_;
  estimate.users = end - first;
  estimate.of += first;
  estimate.csi = csi_ + first * estimate.csi_user_stride;
  if (deviations_ == nullptr) return {pilots, estimate};
  phy::cuda::DeviationTask deviation{};
  deviation.subcarriers = f.numerology.subcarriers;
  deviation.comb = frame_.comb();
  deviation.group = f.combiner.group;
  deviation.antennas = f.antennas;
  deviation.users = estimate.users;
  deviation.symbols = (estimate.users + frame_.comb() - 1) / frame_.comb();
  deviation.rows = pilots.tiles;
  deviation.row_stride = estimate.row_stride;
  deviation.antenna_stride = estimate.antenna_stride;
  deviation.tile_stride = estimate.tile_stride;
  deviation.csi = estimate.csi;
  deviation.csi_tile_stride = estimate.csi_tile_stride;
  deviation.csi_user_stride = estimate.csi_user_stride;
  deviation.deviations = deviations_ + std::size_t{symbols.first} * f.antennas;
  return {pilots, estimate, deviation};
}

std::vector<GpuTask> GpuUplink::uplink_fft(Ordinals symbols) const {
  phy::cuda::ReceiveTask task = receive_of(samples, ofdm_, missing, symbols);
  task.symbol_stride = row();
  task.antenna_stride = 1;
  task.tile_stride = frame_.array().antenna_stride;
  const std::size_t first = symbols.first * row();
  if (half_)
    task.half = half_grid_ + first;
  else
    task.tiles = grid_ + first;
  return {task};
}

Ordinals GpuUplink::tiles_of(Ordinals parts) const {
  const auto begin = [&](std::uint32_t part) { return combine_.tiles * part / parts_; };
  return {begin(parts.first), begin(parts.first + parts.count) - begin(parts.first)};
}

std::vector<GpuTask> GpuUplink::zero_force(Ordinals parts) const {
  const Ordinals tiles = tiles_of(parts);
  phy::cuda::CombineTask combine = combine_;
  combine.first_tile = tiles.first;
  combine.tiles = tiles.count;
  phy::cuda::ExpandTask expand = expand_;
  expand.of = combine;
  phy::cuda::SurveyTask survey = survey_;
  survey.of = combine;
  std::vector<GpuTask> tasks = {survey, phy::cuda::GramTask{combine},
                                phy::cuda::FactorTask{combine}, phy::cuda::WeighTask{combine},
                                expand};
  if (symbols_of(frame_, SymbolKind::Downlink) == 0) return tasks;
  tasks.push_back(
      phy::cuda::AntennaPowerTask{combine, expand.group, expand.subcarriers, combiners_.power});
  if (!combiners_.in_parts) tasks.push_back(combiners_.gain);
  return tasks;
}

std::vector<GpuTask> GpuUplink::equalize_demodulate(Ordinals symbols) const {
  const std::size_t stride = frame_.array().antenna_stride;
  phy::cuda::EqualizeTask task{};
  task.shape = frame_.array();
  task.tiles = frame_.tiles();
  task.symbols = symbols.count;
  task.w_tile = frame_.format().users * stride;
  task.y_tile = stride;
  task.y_symbol = row();
  const std::size_t first = symbols.first * row();
  if (half_) {
    task.half_w_tiles = combiners_.half_tiles;
    task.half_w_scalars = combiners_.half_scalars;
    task.scale = combiners_.half_scale;
    task.half_y = half_grid_ + first;
  } else {
    task.w_tiles = combiners_.tiles;
    task.w_scalars = combiners_.scalars;
    task.y = grid_ + first;
  }
  task.noise = combiners_.post_noise;
  task.altered = {altered_.symbols + symbols.first, altered_.lanes + symbols.first * altered_row()};
  task.runs = runs_;
  task.runs.first += std::size_t{symbols.first} * frame_.format().users;
  task.soft = soft_;
  return {leave_out_of(task, symbols), task};
}

phy::cuda::LeaveOutTask GpuUplink::leave_out_of(const phy::cuda::EqualizeTask& of,
                                                Ordinals symbols) const {
  phy::cuda::LeaveOutTask task{};
  task.of = of;
  task.detector = combine_.detector;
  task.missing = missing + std::size_t{symbols.first} * frame_.format().antennas;
  task.takes_part = combine_.takes_part;
  task.csi = csi_;
  task.csi_tile = combine_.tile_stride;
  task.csi_user = combine_.user_stride;
  task.group = expand_.group;
  task.mean_noise = combine_.mean_noise;
  task.residual = combine_.residual;
  const std::size_t first = symbols.first * row();
  if (half_)
    task.half_y = half_grid_ + first;
  else
    task.y = grid_ + first;
  return task;
}

std::vector<GpuTask> GpuUplink::decode(Ordinals symbols) const {
  std::vector<GpuTask> tasks;
  code_blocks_.for_plans(symbols, [&](std::uint32_t place, auto blocks) {
    const auto count = static_cast<std::uint32_t>(blocks.size());
    const auto& first = frame_.program().code_blocks(Direction::Uplink)[blocks[0].index];
    const phy::TransportPlan& plan = frame_.program().plan(
        frame_.program().transport_blocks(Direction::Uplink)[first.transport_block]);
    const auto& code = frame_.coding(Direction::Uplink);
    // Of a transport block's, the last may have more bits than the first, and alone repeat some.
    const std::uint32_t repeat = recoveries_at_[place], end = recoveries_at_[place + count];
    if (repeat != end)
      tasks.push_back(
          phy::cuda::RecoverTask{recoveries_ + repeat, end - repeat, plan.N(), soft_, recovered_});
    phy::DecodeOptions options;
    options.fillers = plan.fillers();
    options.sent = 0;
    for (const phy::CodeBlock& block : plan.blocks())
      options.sent = std::max(options.sent, block.last_position);
    options.max_iterations = code.iterations;
    options.early_stop = code.early_stop;
    options.crc = plan.decoder_crc();
    options.crc_span = plan.Kprime();
    phy::cuda::DecodeTask task = phy::cuda::decode_task(plan.code(), options, count);
    task.soft_list = soft_list_ + place;
    task.info_list = info_list_ + place;
    task.results = results + place;
    task.judged = judged + place;
    if (plan.C() == 1) {
      task.payload_list = payload_list_ + place;
      task.payload_bits = plan.A();
    }
    tasks.push_back(task);
  });
  return tasks;
}

// Those of one code block have been handed out by the decoder.
std::vector<GpuTask> GpuUplink::store(Ordinals symbols) const {
  const auto all = frame_.program().transport_blocks(Direction::Uplink);
  const auto places = frame_.program().code_blocks(Direction::Uplink);
  std::vector<GpuTask> tasks;
  transport_blocks_.for_plans(symbols, [&](std::uint32_t, auto blocks) {
    const phy::TransportPlan& plan = frame_.program().plan(all[blocks[0].index]);
    if (plan.C() == 1) return;
    const auto offsets = [&](std::uint32_t block) -> Offsets {
      return {block, places[all[block].first_code_block].info_offset, all[block].payload_offset};
    };
    for_stretches(blocks, offsets,
                  [&](const Offsets& at, const Offsets& step, std::uint32_t count) {
                    phy::cuda::DesegmentTask task{};
                    task.plan = phy::cuda::view(plan);
                    task.count = count;
                    task.info = info_ + at.a;
                    task.info_stride = step.a;
                    task.info_block = places[all[at.block].first_code_block + 1].info_offset - at.a;
                    task.payload = payload + at.b;
                    task.payload_stride = step.b;
                    task.good = good + at.block;
                    task.good_stride = step.block;
                    tasks.push_back(task);
                  });
  });
  return tasks;
}

}  // namespace carillon::frame
