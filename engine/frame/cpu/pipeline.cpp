#include "frame/cpu/pipeline.hpp"

#include <algorithm>

#include "frame/cpu/kernels.hpp"
#include "frame/cpu/worker.hpp"

namespace carillon::frame {
namespace {

using phy::kTileLanes;

constexpr std::array<runtime::Opcode, kOps> opcode_table() {
  std::array<runtime::Opcode, kOps> table{};
  for (std::size_t i = 0; i < kOps; ++i) table[i].name = kOpNames[i];
  const auto set = [&](Op op, runtime::Kernel kernel) {
    table[static_cast<std::size_t>(op)].kernel = kernel;
  };
  set(Op::PilotFft, kernels::pilot_fft);
  set(Op::UplinkFft, kernels::uplink_fft);
  set(Op::ZeroForce, kernels::zero_force);
  set(Op::EqualizeDemodulate, kernels::equalize_demodulate);
  set(Op::Decode, kernels::decode);
  set(Op::Store, kernels::store);
  set(Op::Encode, kernels::encode);
  set(Op::Modulate, kernels::modulate);
  set(Op::Precode, kernels::precode);
  set(Op::Ifft, kernels::ifft);
  return table;
}

constexpr auto kOpcodes = opcode_table();

}  // namespace

// Elements of the arrays that grow with the cell.
struct Pipeline::Sizes {
  explicit Sizes(const Frame& frame) {
    const auto& f = frame.format();
    const auto symbols = [&](SymbolKind kind) { return frame.symbols_of(kind).size(); };
    const std::size_t uplink = symbols(SymbolKind::Uplink),
                      downlink = symbols(SymbolKind::Downlink);
    const std::size_t tiles = frame.tiles(), stride = frame.array().antenna_stride;
    const std::size_t csi_tiles = phy::csi_tiles(f.numerology.subcarriers, f.combiner.group);
    grid = std::min<std::size_t>(uplink, kReceivedGrids) * tiles * stride;
    csi = frame.occasions() * csi_tiles * f.users * stride;
    noise = symbols(SymbolKind::Pilot) * f.antennas;
    downlink_symbols = downlink * tiles * f.users;
    downlink_grid = downlink * tiles * stride;
    const bool shared = f.combiner.group == 16;
    const std::size_t blocks = shared ? tiles : csi_tiles;  // of combiners
    weights = blocks * f.users * stride;
    post_noise = tiles * f.users * kTileLanes;
    antenna_power = csi_tiles * f.antennas;
    half_scale = blocks * f.users;
    const std::size_t lanes = shared ? 1 : kTileLanes;
    combiner_scale = blocks * f.users * lanes;
    precoder_scale = blocks * f.antennas * lanes;
  }

  std::size_t grid, csi, noise, downlink_symbols, downlink_grid;  // of a FrameSlot
  std::size_t weights, half_scale, post_noise, antenna_power;     // of Combiners
  std::size_t combiner_scale, precoder_scale;                     // of their integers
};

namespace {

/// Where whole cells gain by integers (docs/performance.md): users share what making them of
/// received symbols costs, and the sums of a downlink's few users are short for what begins and
/// ends them.
constexpr std::uint32_t kUsersForIntegers = 8, kUsersForSentIntegers = 16;

// With an older frame's precoder, a frame in flight holds two: one must be free for the next frame
// whatever the others hold.
std::size_t combiner_count(const FrameFormat& f) {
  return f.deadlines.precoder_age == 0 ? f.ring : 2 * f.ring - 1;
}

}  // namespace

Pipeline::Pipeline(const Frame& frame, Options options)
    : frame_(frame),
      graph_(build_graph(frame, options.workers, options.elsewhere)),
      antennas_(frame.format().antennas),
      users_(frame.format().users),
      together_(frame.most_together()),
      csi_tiles_(
          phy::csi_tiles(frame.format().numerology.subcarriers, frame.format().combiner.group)),
      source_(options.source),
      uplink_(precision(frame, Direction::Uplink, options.isa, source_ == nullptr)),
      downlink_(precision(frame, Direction::Downlink, options.isa)),
      single_(uplink_ == Precision::Fp32 || downlink_ == Precision::Fp32),
      ofdm_(phy::ofdm_kernels(options.isa)),
      estimate_(phy::estimate_kernels(options.isa)),
      zero_force_(phy::zeroforce_kernels(options.isa)),
      equalize_(phy::equalize_kernels(options.isa)),
      precode_(phy::precode_kernels(options.isa)),
      demap_(phy::demap_kernels(options.isa)),
      modulate_(phy::modulate_kernels(options.isa)),
      ldpc_(phy::ldpc_kernels(options.isa)),
      comb_plan_(frame.format().numerology.subcarriers, frame.comb(),
                 frame.format().combiner.group),
      zeros_(frame.room(Direction::Downlink).longest_block),
      soft_store_(frame),
      slots_(frame.format().ring),
      combiners_(combiner_count(frame.format())) {
  for (std::uint32_t offset = 0; offset < frame.comb(); ++offset)
    estimate_noise_.push_back(comb_plan_.plan(offset).noise_gain());
  const bool residual = phy::leaves_residual(frame.comb(), group());
  for (std::uint32_t offset = 0; residual && offset < frame.comb(); ++offset)
    deviation_plans_.push_back(comb_plan_.plan(offset).deviation_plan());
  const Sizes sizes(frame);
  for (auto& slot : slots_) allocate(slot, sizes);
  for (auto& combiners : combiners_) {
    combiners.of = std::vector<PairCombiner>(frame.combiners());
    for (std::uint32_t o = 0; o < frame.occasions(); ++o)
      for (std::uint32_t i = 0; i < frame.most_pairings(o); ++i)
        allocate(combiners.of[frame.first_combiner(o) + i], sizes, frame.sends(o) && i == 0);
  }
  for (const FrameProgram& program : frame.programs()) prepared_.push_back(prepare(program));
  for (auto& slot : slots_) slot.prepared = &prepared_[0], slot.program = prepared_[0].program;
  const bool pairs =
      frame.scheduled_by_port() || !std::ranges::all_of(prepared_, &Prepared::all_together);
  for (std::uint32_t w = 0; w < options.workers; ++w)
    workers_.push_back(std::make_unique<Worker>(frame_, uplink_, downlink_, !single_, pairs));
  for (std::uint16_t i = 0; i < graph_.graph.size(); ++i) {
    const runtime::Instruction& instruction = graph_.graph[i];
    const bool brings = graph_.bring[instruction.step] == i;
    brought_.push_back(brings ? instruction.chunks : 0);
  }
}

Prepared Pipeline::prepare(const FrameProgram& program) const {
  Prepared prepared{&program, work_of(program, frame_, graph_), {}, false};
  for (std::uint16_t i = 0; i < graph_.graph.size(); ++i) {
    const bool sends = frame_.symbol(graph_.graph[i].step).kind == SymbolKind::Downlink;
    prepared.uplink_only.push_back(sends ? 0 : prepared.work.chunks[i]);
  }
  std::size_t pairings = 0, whole = 0;
  for (std::uint32_t occasion = 0; occasion < frame_.occasions(); ++occasion) {
    const auto own = program.pairings(occasion);
    pairings += own.size();
    whole += own.size() == 1 && own.front().is_whole();
  }
  prepared.all_together = pairings > 0 && whole == pairings;
  return prepared;
}

Pipeline::~Pipeline() = default;

std::span<const runtime::Opcode> Pipeline::opcodes() const { return kOpcodes; }

void Pipeline::allocate(FrameSlot& s, const Sizes& sizes) const {
  const auto symbols = [&](SymbolKind kind) { return frame_.symbols_of(kind).size(); };
  const std::size_t uplink = symbols(SymbolKind::Uplink), downlink = symbols(SymbolKind::Downlink);
  s.samples.resize(frame_.symbols().size() * antennas_);
  s.absent.resize(s.samples.size());
  if (uplink_ == Precision::Fp16)
    s.half_grid = AlignedArray<phy::HalfTile>(sizes.grid);
  else
    s.grid = AlignedArray<phy::Tile>(sizes.grid);
  s.csi = AlignedArray<phy::Tile>(sizes.csi);
  s.noise = AlignedArray<float>(sizes.noise);
  if (!deviation_plans_.empty()) s.deviation.resize(sizes.noise);
  s.soft = AlignedArray<std::int8_t>(frame_.room(Direction::Uplink).coded_bytes);
  s.info = AlignedArray<std::uint8_t>(frame_.room(Direction::Uplink).info_bytes);
  s.payload = AlignedArray<std::uint8_t>(frame_.room(Direction::Uplink).payload_bytes);
  s.results.resize(frame_.room(Direction::Uplink).code_blocks);
  s.good.resize(frame_.room(Direction::Uplink).transport_blocks);
  s.quality.resize(uplink * users_);
  s.constellation.resize(uplink);
  s.downlink_bits.assign(frame_.room(Direction::Downlink).transport_blocks, zeros_.data());
  s.downlink_coded = AlignedArray<std::uint8_t>(frame_.room(Direction::Downlink).coded_bytes);
  s.symbols = AlignedArray<phy::Tile>(sizes.downlink_symbols);
  s.downlink_grid = AlignedArray<phy::Tile>(sizes.downlink_grid);
  s.transmit.resize(downlink * antennas_);
}

void Pipeline::allocate(PairCombiner& c, const Sizes& sizes, bool sends) const {
  const bool shared = group() == 16;
  const auto keep = [&]<typename S, typename T>(AlignedArray<S>& scalars, AlignedArray<T>& tiles) {
    if (shared)
      scalars = AlignedArray<S>(sizes.weights);
    else
      tiles = AlignedArray<T>(sizes.weights);
  };
  if (single_) keep(c.scalars, c.tiles);
  if (uplink_ == Precision::Fp16) {
    keep(c.half_scalars, c.half_tiles);
    c.half_scale = AlignedArray<float>(sizes.half_scale);
  }
  const auto keep_integers = [&](Int16Matrix& to, std::size_t scales) {
    keep(to.scalars, to.tiles);
    to.scale = AlignedArray<float>(scales);
  };
  if (uplink_ == Precision::Int16) keep_integers(c.integers, sizes.combiner_scale);
  c.post_noise = AlignedArray<float>(sizes.post_noise);
  if (!sends) return;
  if (downlink_ == Precision::Int16) keep_integers(c.precoder, sizes.precoder_scale);
  c.antenna_power = AlignedArray<float>(sizes.antenna_power);
}

void Pipeline::begin(std::uint64_t frame, const Prepared& prepared) {
  FrameSlot& s = slot(frame);
  s.frame = frame;
  s.prepared = &prepared;
  s.program = prepared.program;
  s.saturated.store(0, std::memory_order_relaxed);
  std::fill(s.good.begin(), s.good.end(), std::uint8_t{0});
  std::fill(s.results.begin(), s.results.end(), CodeBlockResult{});
  std::fill(s.quality.begin(), s.quality.end(), SymbolQuality{});
  std::fill(s.constellation.begin(), s.constellation.end(), phy::Tile{});
  std::fill(s.samples.begin(), s.samples.end(), nullptr);
  const bool own = frame_.format().deadlines.precoder_age == 0;
  s.elsewhere = nullptr;
  s.combiners = nullptr;
  s.precoder = nullptr;
  s.combiners = &free_combiners();
  s.combiners->frame.store(Combiners::kIncomplete, std::memory_order_relaxed);
  for (auto& combiner : s.combiners->of) combiner.chunks_done.store(0, std::memory_order_relaxed);
  s.combiners->ill_conditioned.store(0, std::memory_order_relaxed);
  s.precoder = own ? s.combiners : find_precoder(frame);
}

void Pipeline::set_downlink(std::uint64_t frame, const std::uint8_t* payload) {
  const auto blocks = slot(frame).program->transport_blocks(Direction::Downlink);
  for (std::size_t b = 0; b < blocks.size(); ++b)
    slot(frame).downlink_bits[b] = payload + blocks[b].payload_offset;
}

std::span<const std::uint8_t*> Pipeline::downlink_bits(std::uint64_t frame) {
  FrameSlot& s = slot(frame);
  return {s.downlink_bits.data(), s.program->transport_blocks(Direction::Downlink).size()};
}

void Pipeline::forget() {
  for (auto& s : slots_) s.combiners = nullptr, s.precoder = nullptr;
  for (auto& c : combiners_) c.frame.store(Combiners::kIncomplete, std::memory_order_relaxed);
}

// Of those that no slot holds the least useful one: never completed, else the oldest.
Combiners& Pipeline::free_combiners() {
  const auto held = [&](const Combiners& c) {
    return std::any_of(slots_.begin(), slots_.end(),
                       [&](const FrameSlot& s) { return s.combiners == &c || s.precoder == &c; });
  };
  const auto age_rank = [](const Combiners& c) {
    return c.frame.load(std::memory_order_relaxed) + 1;  // 0 when incomplete
  };
  Combiners* least = nullptr;
  for (Combiners& c : combiners_)
    if (!held(c) && (least == nullptr || age_rank(c) < age_rank(*least))) least = &c;
  return *least;
}

// The version wanted, else the next older one that is still there; a whole ring older, the channel
// is another.
const Combiners* Pipeline::find_precoder(std::uint64_t frame) const {
  const std::uint64_t age = frame_.format().deadlines.precoder_age;
  const Combiners* newest = nullptr;
  for (const Combiners& c : combiners_) {
    const std::uint64_t of = c.frame.load(std::memory_order_acquire);
    if (of == Combiners::kIncomplete || of + age > frame || of + age + ring() <= frame) continue;
    if (newest == nullptr || of > newest->frame.load(std::memory_order_relaxed)) newest = &c;
  }
  return newest;
}

std::span<const std::uint32_t> Pipeline::chunks(std::uint64_t frame) {
  const FrameSlot& s = slot(frame);
  if (s.elsewhere != nullptr) return brought_;
  return s.precoder != nullptr ? s.prepared->work.chunks : s.prepared->uplink_only;
}

std::uint32_t Pipeline::sampled_user(std::uint64_t frame) const {
  return static_cast<std::uint32_t>(frame % users_);
}

std::uint32_t Pipeline::sampled_tile(std::uint64_t frame, std::uint32_t symbol) const {
  return static_cast<std::uint32_t>((frame * 7 + symbol) % frame_.tiles());
}

std::optional<Precision> Pipeline::precision(const Frame& frame, Direction direction, Isa isa,
                                             bool samples) {
  const auto& f = frame.format();
  const Precision wanted = f.combiner.precision;
  const bool up = direction == Direction::Uplink, halves = up && samples;
  if (frame.symbols_of(up ? SymbolKind::Uplink : SymbolKind::Downlink).empty()) return std::nullopt;
  const std::uint32_t together = frame.most_together();
  const auto suffices = [&](phy::Rounding rounding) {
    if (frame.scheduled_by_port())
      return phy::suffices(rounding, f.antennas, together, phy::Modulation::Qam256);
    return std::ranges::all_of(frame.programs(), [&](const FrameProgram& program) {
      return std::ranges::all_of(program.transport_blocks(direction), [&](const auto& tb) {
        return phy::suffices(rounding, f.antennas, together, program.plan(tb).modulation());
      });
    });
  };
  if (wanted == Precision::Fp16) return halves ? Precision::Fp16 : Precision::Fp32;
  if (wanted != Precision::Fastest) return wanted;
  const auto integers_for = [&](std::uint32_t users) {
    return f.users >= users && suffices(phy::Rounding::Int16);
  };
  if (isa >= Isa::Avx512Fp16 && halves && suffices(phy::Rounding::HalfSums)) return Precision::Fp16;
  return integers_for(up ? kUsersForIntegers : kUsersForSentIntegers) ? Precision::Int16
                                                                      : Precision::Fp32;
}

std::uint64_t Pipeline::footprint(const Frame& frame, Isa isa) {
  const auto& f = frame.format();
  const Sizes s(frame);
  const bool shared = f.combiner.group == 16;
  const auto uplink = precision(frame, Direction::Uplink, isa);
  const auto downlink = precision(frame, Direction::Downlink, isa);
  std::uint64_t combiners = s.post_noise * sizeof(float);
  if (uplink == Precision::Fp32 || downlink == Precision::Fp32)
    combiners += s.weights * (shared ? sizeof(phy::Complex) : sizeof(phy::Tile));
  const auto in_16_bits = [&](std::size_t scales) {
    static_assert(sizeof(phy::Int16Tile) == sizeof(phy::HalfTile));
    return s.weights * (shared ? sizeof(phy::HalfComplex) : sizeof(phy::HalfTile)) +
           scales * sizeof(float);
  };
  if (uplink == Precision::Fp16) combiners += in_16_bits(s.half_scale);
  if (uplink == Precision::Int16) combiners += in_16_bits(s.combiner_scale);
  std::uint64_t precoders = 0, precoder = s.antenna_power * sizeof(float);
  for (std::uint32_t occasion = 0; occasion < frame.occasions(); ++occasion)
    precoders += frame.sends(occasion);
  if (downlink == Precision::Int16) precoder += in_16_bits(s.precoder_scale);
  const bool half = uplink == Precision::Fp16;
  const std::uint64_t deviation = phy::leaves_residual(frame.comb(), f.combiner.group)
                                      ? s.noise * sizeof(phy::GroupDeviation)
                                      : 0;
  std::uint64_t slot = s.grid * (half ? sizeof(phy::HalfTile) : sizeof(phy::Tile)) +
                       (s.csi + s.downlink_symbols + s.downlink_grid) * sizeof(phy::Tile) +
                       s.noise * sizeof(float) + deviation +
                       frame.room(Direction::Uplink).info_bytes;
  for (const Direction d : {Direction::Uplink, Direction::Downlink})
    slot += frame.room(d).coded_bytes;
  slot += frame.room(Direction::Uplink).payload_bytes;
  const std::uint64_t packets = std::uint64_t{frame.samples()} * f.antennas * 4;
  return f.ring * (slot + packets) + SoftStore::bytes(frame) +
         combiner_count(f) * (frame.combiners() * combiners + precoders * precoder);
}

}  // namespace carillon::frame
