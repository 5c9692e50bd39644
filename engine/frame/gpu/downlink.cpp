// The downlink on a GPU, one function for each opcode.
#include "frame/gpu/arrays.hpp"

namespace carillon::frame {
namespace {

constexpr Direction kDown = Direction::Downlink;

}  // namespace

GpuDownlink::GpuDownlink(const Frame& frame, GpuMemory& memory, const GpuCombiners& combiners)
    : samples(frame, SymbolKind::Downlink, memory),
      payload(room<std::uint8_t>(memory, frame.room(kDown).payload_bytes)),
      frame_(frame),
      combiners_(combiners) {
  const std::size_t symbols = frame.symbols_of(SymbolKind::Downlink).size();
  ofdm_ = phy::cuda::view(frame.ofdm(),
                          put(memory, phy::cuda::fft_roots(frame.ofdm().shape().fft_size)));
  grid_ = room<phy::Tile>(memory, symbols * frame.tiles() * frame.array().antenna_stride);
  saturated_ = room<std::uint32_t>(memory, symbols * frame.format().antennas);
  if (symbols == 0) return;
  const auto reference = frame.downlink_reference();
  reference_ = put(memory, std::vector<phy::Tile>(reference.begin(), reference.end()));
  lay_out_blocks(memory);
}

void GpuDownlink::lay_out_blocks(GpuMemory& memory) {
  const auto blocks = frame_.program().transport_blocks(kDown);
  std::vector<BlockOrder::Block> order;
  std::vector<std::vector<std::size_t>> buffers(blocks.size());
  std::size_t words = 0;
  for (std::uint32_t b = 0; b < blocks.size(); ++b) {
    const phy::TransportPlan& plan = frame_.program().plan(blocks[b]);
    const phy::cuda::EncodeTask task = phy::cuda::encode_task(plan);
    order.push_back({blocks[b].plan, frame_.symbol(blocks[b].first_symbol).ordinal, b});
    coded_at_.push_back(words);
    for (std::uint32_t r = 0; r < plan.C(); ++r)
      buffers[b].push_back((words + r * task.coded_block) * sizeof(std::uint32_t));
    words += task.coded_stride;
  }
  transport_blocks_ = BlockOrder(std::move(order));
  coded_ = room<std::uint32_t>(memory, words + phy::kCodedPadding);
  runs_ = put_runs(frame_, kDown, memory, buffers);
}

std::vector<GpuTask> GpuDownlink::encode(Ordinals symbols) const {
  const auto all = frame_.program().transport_blocks(kDown);
  std::vector<GpuTask> tasks;
  transport_blocks_.for_plans(symbols, [&](std::uint32_t, auto blocks) {
    const auto offsets = [&](std::uint32_t block) -> Offsets {
      return {block, all[block].payload_offset, coded_at_[block]};
    };
    for_stretches(blocks, offsets,
                  [&](const Offsets& at, const Offsets& step, std::uint32_t count) {
                    phy::cuda::EncodeTask task =
                        phy::cuda::encode_task(frame_.program().plan(all[blocks[0].index]));
                    task.count = count;
                    task.payload = payload + at.a;
                    task.payload_stride = step.a;
                    task.coded = coded_ + at.b;
                    task.coded_stride = step.b;
                    tasks.push_back(task);
                  });
  });
  return tasks;
}

std::vector<GpuTask> GpuDownlink::precode(Ordinals symbols) const {
  const std::size_t stride = frame_.array().antenna_stride, row = frame_.tiles() * stride;
  phy::cuda::PrecodeTask task{};
  task.shape = frame_.array();
  task.tiles = frame_.tiles();
  task.symbols = symbols.count;
  if (combiners_.half_scalars != nullptr && in_half(frame_, kDown)) {
    task.half_w_scalars = combiners_.half_scalars;
    task.scale = combiners_.half_scale;
  } else {
    task.w_tiles = combiners_.tiles;
    task.w_scalars = combiners_.scalars;
  }
  task.w_tile = frame_.format().users * stride;
  task.runs = runs_;
  task.runs.first += std::size_t{symbols.first} * frame_.format().users;
  task.coded = reinterpret_cast<const std::uint8_t*>(coded_);
  task.reference = symbols.first == 0 ? reference_ : nullptr;
  task.x = grid_ + symbols.first * row;
  task.x_symbol = row;
  task.x_tile = stride;
  std::vector<GpuTask> tasks = {task};
  for (std::uint32_t s = 0; s < symbols.count && combiners_.in_parts; ++s)
    tasks.push_back(combiners_.gain_of(symbols.first + s));
  return tasks;
}

std::vector<GpuTask> GpuDownlink::ifft(Ordinals symbols) const {
  const std::uint32_t antennas = frame_.format().antennas;
  phy::cuda::TransmitTask task{};
  task.plan = ofdm_;
  task.antennas = antennas;
  task.symbols = symbols.count;
  task.tile_stride = frame_.array().antenna_stride;
  task.symbol_stride = frame_.tiles() * task.tile_stride;
  task.antenna_stride = 1;
  task.tiles = grid_ + symbols.first * task.symbol_stride;
  task.gain = combiners_.gain_of(symbols.first).gain;
  task.prefix = samples.prefix;
  task.iq_antenna = samples.length;
  task.iq_symbol = std::size_t{antennas} * samples.length;
  task.iq = samples.iq + 2 * symbols.first * task.iq_symbol;
  task.saturated = saturated_ + std::size_t{symbols.first} * antennas;
  return {task};
}

}  // namespace carillon::frame
