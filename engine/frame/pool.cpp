#include "frame/pool.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "base/fields.hpp"
#include "frame/graph.hpp"
#include "phy/ldpc/base_graph.hpp"

namespace carillon::frame {
namespace {

using runtime::Feed;
using runtime::Footprint;
using runtime::Instruction;
using runtime::Operand;
using runtime::Work;

// MegaStation's table 1 in the order of Op; CTAs follow from the cell.
constexpr Footprint kFft{.warps = 4, .registers = 56, .shared_bytes = 8448};
constexpr std::array<Footprint, kOps> kFootprints{{
    {},  // Load
    {},  // Store
    kFft,
    kFft,
    kFft,
    {.warps = 32, .registers = 30, .shared_bytes = 8448},   // ZeroForce
    {.warps = 1, .registers = 30},                          // EqualizeDemodulate
    {.warps = 1, .registers = 18},                          // Modulate
    {.warps = 1, .registers = 30},                          // Precode
    {.warps = 4, .registers = 168, .shared_bytes = 14144},  // Decode
    {.warps = 8, .registers = 56, .shared_bytes = 843},     // Encode
}};
constexpr std::uint64_t kRowsPerCta = 8;    // subcarriers × users, however many share a combiner
constexpr std::uint64_t kLanesPerCta = 32;  // subcarriers × users or antennas

// Operations beside the products, which need 8 for each complex multiply-add.
constexpr double kDemapOps = 20;    // per soft bit: max-log, scaled and rounded
constexpr double kModulateOps = 2;  // per bit
constexpr double kDecodeOps = 4;    // per edge and lifting index: min-sum's two sums, two minima
constexpr double kEncodeOps = 1;    // per edge and lifting index

constexpr std::uint64_t kSampleBytes = 4;    // int16 I and Q
constexpr std::uint64_t kCombinerBytes = 8;  // CSI, combiner, precoder: complex float

constexpr KernelProfile kLibrary{.efficiency = 0.5, .floor = 3 * kMicrosecond};
constexpr KernelProfile kThird{.efficiency = 1.0 / 3, .traffic = 3};
constexpr KernelProfile kHalfThird{.efficiency = 1.0 / 3, .half = true, .traffic = 3};
constexpr KernelProfile kMegaFft{.efficiency = 0.5, .floor = 3500};
constexpr KernelProfile kMegaZeroForce{.efficiency = 0.5, .floor = 10 * kMicrosecond};
constexpr KernelProfile kMegaEqualize{.efficiency = 0.5, .floor = 3 * kMicrosecond, .term = 150};
constexpr KernelProfile kMegaPrecode{.efficiency = 0.5, .floor = 3 * kMicrosecond, .term = 270};
constexpr KernelProfile kMegaDecode{.efficiency = 0.25, .half = true, .floor = 3 * kMicrosecond};

constexpr std::array<PoolProfile, 2> kProfiles{{
    {.name = "megastation",
     .symbol_bytes = 8,
     .kernels = {{
         {},              // Load
         {},              // Store
         kMegaFft,        // PilotFft
         kMegaFft,        // UplinkFft
         kMegaFft,        // Ifft
         kMegaZeroForce,  // ZeroForce
         kMegaEqualize,   // EqualizeDemodulate
         kLibrary,        // Modulate
         kMegaPrecode,    // Precode
         kMegaDecode,     // Decode
         kLibrary,        // Encode
     }}},
    {.name = "roofline",
     .symbol_bytes = 4,
     .kernels = {{
         {},          // Load
         {},          // Store
         kThird,      // PilotFft
         kThird,      // UplinkFft
         kThird,      // Ifft
         kThird,      // ZeroForce
         kHalfThird,  // EqualizeDemodulate
         kThird,      // Modulate
         kHalfThird,  // Precode
         kThird,      // Decode
         kThird,      // Encode
     }}},
}};

std::string in_ms(Tick time) {
  return detail::number_text(static_cast<double>(time) / kMillisecond) + " ms";
}

constexpr std::uint64_t divide_up(std::uint64_t value, std::uint64_t by) {
  return (value + by - 1) / by;
}

// Of subcarriers with a combiner of their own.
std::uint64_t groups_of(const FrameFormat& format) {
  return divide_up(format.numerology.subcarriers, format.combiner.group);
}

bool is_in(const PoolProfile& profile, Op op) {
  const MeasuredKernel& kernel = profile.measured[static_cast<std::size_t>(op)];
  return kernel.time > 0 && kernel.footprint.ctas != 0;
}

// Precode does its work, too.
bool merged_modulate(const PoolProfile& profile) {
  return profile.device != nullptr &&
         profile.measured[static_cast<std::size_t>(Op::Modulate)].time == 0;
}

// Of the rows that a decoder works through (all up to the last place sent) for one code block.
double edges_in_use(phy::LdpcCode code, std::uint32_t last_position) {
  const phy::BaseGraph graph = phy::base_graph(code);
  const std::uint32_t sent = std::min(last_position, code.length());
  const auto columns = 2 + static_cast<std::uint32_t>(divide_up(sent, code.lifting));
  const std::uint32_t most = std::max(columns, graph.info_columns + phy::kCoreRows);
  return graph.row_begin[std::min(graph.rows, most - graph.info_columns)];
}

using Sources = std::vector<std::uint16_t>;

struct Cost {
  std::uint64_t ctas = 0;
  double flops = 0;
  std::uint64_t read = 0, output = 0;  // bytes
  std::uint32_t terms = 0;             // of the sums that each thread adds up
  double share = 1;                    // of what an opcode does at once
};

// A kernel alone, in waves of CTAs that have room together: it takes waves × a CTA's serial part +
// turns × what a CTA needs of an SM.
struct Waves {
  Waves(const runtime::DeviceType& type, const Footprint& footprint, std::uint32_t ctas) {
    const std::uint32_t per_sm = std::max(ctas_per_sm(type, footprint), 1U);
    const std::uint32_t room = per_sm * type.sms, rest = ctas % room;
    count = static_cast<double>(ctas / room) + (rest != 0 ? 1 : 0);
    widest = std::min(ctas, room);
    turns = static_cast<double>(ctas / room) * per_sm + (rest != 0 ? of_wave(type, rest) : 0);
  }
  static double of_wave(const runtime::DeviceType& type, std::uint32_t ctas) {
    return std::max(1.0, static_cast<double>(ctas) / type.sms);
  }

  double count = 0, turns = 0;
  std::uint32_t widest = 0;  // CTAs
};

// ns of a CTA.
struct CtaTime {
  double serial = 0, of_sm = 0;
};

CtaTime cta_time(const MeasuredKernel& kernel, const runtime::DeviceType& type) {
  const Waves one(type, kernel.footprint, kernel.footprint.ctas);
  const auto time = static_cast<double>(kernel.time);
  double of_sm = time / one.turns;
  if (kernel.full_ctas != 0) {
    const Waves full(type, kernel.footprint, kernel.full_ctas);
    const double apart = one.count * full.turns - full.count * one.turns;
    const double both = one.count * static_cast<double>(kernel.full_time) - full.count * time;
    if (apart > 0) of_sm = std::clamp(both / apart, 0.0, of_sm);
  }
  return {(time - one.turns * of_sm) / one.count, of_sm};
}

// `flops` are what a host's cores would have to do instead. Memory is never what bounds a kernel
// alone: that is in its time.
Work measured_work(const MeasuredKernel& kernel, const runtime::DeviceType& type,
                   const Cost& cost) {
  const double all = kernel.footprint.ctas;
  const CtaTime time = cta_time(kernel, type);
  const std::uint32_t widest = Waves(type, kernel.footprint, kernel.footprint.ctas).widest;
  const double wave = time.serial + time.of_sm * Waves::of_wave(type, widest);
  const double peak = type.fp32_flops / type.sms * 1e-9;  // of an SM in a ns
  Work work{
      .footprint = kernel.footprint, .floor = std::llround(time.serial), .output = cost.output};
  work.footprint.ctas = static_cast<std::uint32_t>(std::ceil(all * cost.share));
  work.flops = std::max(cost.flops, 1.0) / (all * cost.share);
  work.efficiency = work.flops / (peak * std::max(time.of_sm, 1e-3));
  work.bytes = std::min(kernel.bytes / all, type.memory_bytes_per_s * 1e-9 * wave / widest);
  return work;
}

class Builder {
 public:
  Builder(const Frame& frame, const PoolGraphOptions& options, const PoolProfile& profile)
      : frame_(frame),
        format_(frame.format()),
        program_(frame.program()),
        options_(options),
        profile_(profile),
        equalize_(frame.symbols().size(), kNoInstruction),
        decode_(frame.symbols().size(), kNoInstruction),
        encode_(frame.symbols().size(), kNoInstruction) {}

  PoolGraph build() {
    zero_force();
    for (const auto s : frame_.symbols_of(SymbolKind::Uplink)) uplink(s);
    for (const auto s : frame_.symbols_of(SymbolKind::Downlink)) downlink(s);
    auto made = builder_.build();
    if (!made.graph) throw std::logic_error("pool graph: " + made.error);
    result_.graph = std::move(*made.graph);
    return std::move(result_);
  }

 private:
  std::uint64_t subcarriers() const { return format_.numerology.subcarriers; }
  std::uint64_t antennas() const { return format_.antennas; }
  std::uint64_t users() const { return format_.users; }
  std::uint64_t groups() const { return groups_of(format_); }
  std::uint64_t samples_bytes() const {
    return antennas() * format_.numerology.fft_size * kSampleBytes;
  }
  std::uint64_t combiner_bytes(std::uint64_t groups) const {
    return groups * antennas() * users() * kCombinerBytes;
  }
  std::uint64_t symbol_bytes(std::uint64_t streams) const {
    return streams * subcarriers() * profile_.symbol_bytes;
  }
  double product_flops() const {
    return 8.0 * static_cast<double>(antennas() * users() * subcarriers());
  }

  std::uint64_t coded_bits(std::uint16_t symbol, Direction direction) const {
    std::uint64_t bits = 0;
    for (const Allocation& a : program_.allocations(symbol))
      bits += std::uint64_t{a.count} *
              program_.plan(program_.transport_blocks(direction)[a.transport_block]).Qm();
    return bits;
  }

  // What all instructions have in common.
  std::uint16_t add(Instruction instruction, const Work& work, const Sources& sources) {
    const auto id = static_cast<std::uint16_t>(result_.work.size());
    std::vector<Operand> operands;
    for (const auto source : sources) operands.push_back({.buffer = source});
    operands.push_back({.buffer = id, .write = true});
    instruction.operands = operands;
    instruction.deadline = options_.deadline;
    result_.work.push_back(work);
    return builder_.add(instruction);
  }

  std::uint16_t kernel(Op op, std::uint16_t symbol, const Cost& cost, const Sources& sources) {
    const Instruction instruction{.opcode = static_cast<std::uint16_t>(op), .step = symbol};
    return add(instruction, profile_.device != nullptr ? measured(op, cost) : assumed(op, cost),
               sources);
  }

  Work measured(Op op, const Cost& cost) const {
    const auto index = static_cast<std::size_t>(op);
    if (!is_in(profile_, op))
      throw std::invalid_argument("the device profile has no time of " +
                                  std::string(kOpNames[index]));
    return measured_work(profile_.measured[index], *profile_.device, cost);
  }

  Work assumed(Op op, const Cost& cost) const {
    const auto index = static_cast<std::size_t>(op);
    const KernelProfile& profile = profile_.kernels[index];
    Work work{.footprint = kFootprints[index],
              .efficiency = profile.efficiency,
              .half = profile.half,
              .floor = profile.floor + profile.term * cost.terms,
              .output = cost.output};
    const std::uint64_t ctas = std::max<std::uint64_t>(cost.ctas, 1);
    work.footprint.ctas = static_cast<std::uint32_t>(ctas);
    work.flops = cost.flops / static_cast<double>(ctas);
    work.bytes =
        profile.traffic * static_cast<double>(cost.read + cost.output) / static_cast<double>(ctas);
    return work;
  }

  std::uint64_t outputs(const Sources& sources) const {
    std::uint64_t bytes = 0;
    for (const auto source : sources) bytes += result_.work[source].output;
    return bytes;
  }

  std::uint16_t load(Instruction instruction, std::uint16_t symbol, std::uint64_t bytes) {
    instruction.opcode = static_cast<std::uint16_t>(Op::Load);
    instruction.step = symbol;
    return add(instruction, {.moved = bytes, .output = bytes}, {});
  }

  std::uint16_t load_received(std::uint16_t symbol) {
    return load({.feed = Feed::Arrivals, .release = frame_.symbol(symbol).end - kReadiness}, symbol,
                samples_bytes());
  }

  // Moves what the last of the sources yields.
  void store(std::uint16_t symbol, const Sources& sources) {
    add({.opcode = static_cast<std::uint16_t>(Op::Store), .step = symbol, .notify = true},
        {.moved = result_.work[sources.back()].output}, sources);
  }

  // 5·N·log2(N) for each antenna.
  Cost fft(std::uint64_t read, std::uint64_t output) const {
    const double n = format_.numerology.fft_size;
    return {antennas(), 5 * n * std::log2(n) * static_cast<double>(antennas()), read, output};
  }

  void zero_force() {
    const auto pilots = frame_.symbols_of(SymbolKind::Pilot);
    Sources channels;
    for (const auto s : pilots) {
      const auto share = combiner_bytes(groups()) / pilots.size();  // of the users, by their pilots
      channels.push_back(kernel(Op::PilotFft, s, fft(samples_bytes(), share), {load_received(s)}));
    }
    const double m = format_.antennas, k = format_.users;
    const double flops = 8 * (m * k * (k + 1) / 2 + k * k * k / 6 + m * k * k);  // one combiner
    for (std::uint64_t part = 0; part < options_.zero_force_parts; ++part) {
      const std::uint64_t count = groups() * (part + 1) / options_.zero_force_parts -
                                  groups() * part / options_.zero_force_parts;
      const std::uint64_t rows = count * format_.combiner.group * users();
      const Cost cost{divide_up(rows, kRowsPerCta),
                      flops * static_cast<double>(count),
                      combiner_bytes(count),
                      combiner_bytes(count),
                      0,
                      static_cast<double>(count) / static_cast<double>(groups())};
      combiner_.push_back(kernel(Op::ZeroForce, pilots.back(), cost, channels));
    }
  }

  Sources with_combiner(Sources sources) const {
    sources.insert(sources.end(), combiner_.begin(), combiner_.end());
    return sources;
  }

  void uplink(std::uint16_t s) {
    const auto received = kernel(Op::UplinkFft, s, fft(samples_bytes(), symbol_bytes(antennas())),
                                 {load_received(s)});
    if (!program_.anyone_in(s)) return;
    const auto sources = with_combiner({received});
    const std::uint64_t soft_bits = coded_bits(s, Direction::Uplink);  // a byte each
    equalize_[s] = kernel(Op::EqualizeDemodulate, s,
                          {divide_up(subcarriers() * users(), kLanesPerCta),
                           product_flops() + kDemapOps * static_cast<double>(soft_bits),
                           outputs(sources), soft_bits, format_.antennas},
                          sources);
    if (!program_.code_blocks_at(s).empty()) decode(s);
  }

  void decode(std::uint16_t s) {
    const Coding& coding = frame_.coding(Direction::Uplink);
    Cost cost = coding_cost(s, Direction::Uplink, kDecodeOps * coding.iterations);
    std::swap(cost.read, cost.output);
    Sources sources;
    for (std::uint16_t t = program_.first_symbol_of_blocks_at(s); t <= s; ++t)
      if (equalize_[t] != kNoInstruction) sources.push_back(equalize_[t]);
    decode_[s] = kernel(Op::Decode, s, cost, sources);
    store(s, decoded_for(s));
  }

  // The Decodes of all code blocks of the transport blocks that end in a symbol, its own last.
  Sources decoded_for(std::uint16_t s) const {
    Sources sources = {decode_[s]};
    for (const auto b : program_.assemblies_at(s)) {
      const auto& block = program_.transport_blocks(Direction::Uplink)[b];
      for (std::uint32_t r = 0; r < program_.plan(block).C(); ++r)
        sources.push_back(
            decode_[program_.code_blocks(Direction::Uplink)[block.first_code_block + r]
                        .last_symbol]);
    }
    std::ranges::sort(sources);
    sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
    return sources;
  }

  // Of the code blocks that begin (downlink) or end (uplink) in a symbol, from information bits to
  // soft or coded ones; a decoder goes the other way.
  Cost coding_cost(std::uint16_t s, Direction direction, double ops) const {
    Cost cost;
    std::uint64_t info = 0, coded = 0;
    for (const auto b : program_.code_blocks_at(s)) {
      const CodeBlockPlace& place = program_.code_blocks(direction)[b];
      const auto& plan = program_.plan(program_.transport_blocks(direction)[place.transport_block]);
      const phy::CodeBlock& block = program_.code_block(direction, place);
      cost.ctas += 1;
      cost.flops += ops * edges_in_use(plan.code(), block.last_position) * plan.code().lifting;
      info += divide_up(plan.K(), 8);
      coded += block.E;
    }
    cost.read = info;
    cost.output = direction == Direction::Uplink ? coded : divide_up(coded, 8);
    return cost;
  }

  void downlink(std::uint16_t s) {
    if (!program_.code_blocks_at(s).empty()) {
      const Cost cost = coding_cost(s, Direction::Downlink, kEncodeOps);
      encode_[s] = kernel(Op::Encode, s, cost, {load({.release = 0}, s, cost.read)});
    }
    Sources symbols;
    if (frame_.symbol(s).ordinal > 0 && program_.anyone_in(s)) symbols = modulated(s);
    const auto sources = with_combiner(symbols);
    const auto precoded =
        kernel(Op::Precode, s,
               {divide_up(subcarriers() * antennas(), kLanesPerCta), product_flops(),
                outputs(sources), symbol_bytes(antennas()), format_.users},
               sources);
    const Cost inverse = fft(symbol_bytes(antennas()), samples_bytes());
    store(s, {kernel(Op::Ifft, s, inverse, {precoded})});
  }

  // What Precode waits for: Modulate, or where Precode does its work, Encode.
  Sources modulated(std::uint16_t s) {
    Sources sources;
    for (const auto first : program_.first_symbols_of_blocks_in(s))
      sources.push_back(encode_[first]);
    return merged_modulate(profile_) ? sources : Sources{modulate(s, sources)};
  }

  std::uint16_t modulate(std::uint16_t s, const Sources& sources) {
    const std::uint64_t bits = coded_bits(s, Direction::Downlink);
    return kernel(
        Op::Modulate, s,
        {divide_up(subcarriers() * users(), kLanesPerCta), kModulateOps * static_cast<double>(bits),
         divide_up(bits, 8), symbol_bytes(users())},
        sources);
  }

  const Frame& frame_;
  const FrameFormat& format_;
  const FrameProgram& program_;
  const PoolGraphOptions& options_;
  const PoolProfile& profile_;
  runtime::GraphBuilder builder_;
  PoolGraph result_;
  Sources combiner_;                                       // ZeroForce's parts
  std::vector<std::uint16_t> equalize_, decode_, encode_;  // [symbol]
};

}  // namespace

std::span<const PoolProfile> pool_profiles() { return kProfiles; }

const PoolProfile* find_pool_profile(std::string_view name) {
  const auto* found = std::ranges::find(kProfiles, name, &PoolProfile::name);
  return found == kProfiles.end() ? nullptr : found;
}

PoolGraph build_pool_graph(const Frame& frame, const PoolGraphOptions& options,
                           const PoolProfile& profile) {
  if (const auto problems = check_pool_graph(frame, options); !problems.empty())
    throw std::invalid_argument(problems.front().key + " " + problems.front().message);
  return Builder(frame, options, profile).build();
}

std::vector<Problem> check_pool_graph(const Frame& frame, const PoolGraphOptions& options) {
  if (const std::string why = frame.why_not_on_devices(); !why.empty())
    return {{"grants.frames", why}};
  std::vector<Problem> problems;
  Tick last = 0;
  for (const auto kind : {SymbolKind::Pilot, SymbolKind::Uplink})
    if (const auto symbols = frame.symbols_of(kind); !symbols.empty())
      last = std::max(last, frame.symbol(symbols.back()).end);
  if (options.deadline <= last)
    problems.push_back({"deadline", "is " + in_ms(options.deadline) +
                                        " but the last symbol to receive ends after " +
                                        in_ms(last)});
  const std::uint64_t groups = groups_of(frame.format());
  if (options.zero_force_parts == 0 || options.zero_force_parts > groups)
    problems.push_back(
        {"zero_force_parts", "is " + std::to_string(options.zero_force_parts) +
                                 " but must be between 1 and the " + std::to_string(groups) +
                                 " groups of subcarriers with a combiner of their own"});
  return problems;
}

std::optional<Op> unmeasured(const Frame& frame, const PoolGraphOptions& options,
                             const PoolProfile& profile) {
  if (profile.device == nullptr) return {};
  PoolProfile assumed = profile;
  assumed.device = nullptr;
  const PoolGraph whole = Builder(frame, options, assumed).build();
  for (std::uint16_t i = 0; i < whole.graph.size(); ++i) {
    const auto op = static_cast<Op>(whole.graph[i].opcode);
    const bool kernel = whole.work[i].footprint.ctas != 0;
    if (kernel && !is_in(profile, op) && !(op == Op::Modulate && merged_modulate(profile)))
      return op;
  }
  return {};
}

std::vector<std::uint16_t> rows_of(const PoolGraph& graph) {
  std::vector<std::uint16_t> first, row;  // [row] an instruction of it
  for (std::uint16_t i = 0; i < graph.graph.size(); ++i) {
    const auto like = std::ranges::find_if(first, [&](std::uint16_t other) {
      return graph.graph[other].opcode == graph.graph[i].opcode &&
             graph.work[other] == graph.work[i];
    });
    row.push_back(static_cast<std::uint16_t>(like - first.begin()));
    if (like == first.end()) first.push_back(i);
  }
  return row;
}

}  // namespace carillon::frame
