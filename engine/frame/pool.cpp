#include "frame/pool.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/fields.hpp"
#include "frame/graph.hpp"
#include "frame/needs.hpp"
#include "frame/steps.hpp"
#include "phy/ldpc/base_graph.hpp"

namespace carillon::frame {
namespace {

using runtime::Feed;
using runtime::Instruction;
using runtime::Operand;
using runtime::Work;

constexpr std::uint64_t kRowsPerCta = 8;    // subcarriers × users, however many share a combiner
constexpr std::uint64_t kLanesPerCta = 32;  // subcarriers × users or antennas

// Operations beside the products, which need 8 for each complex multiply-add.
constexpr double kDemapOps = 20;    // per soft bit: max-log, scaled and rounded
constexpr double kModulateOps = 2;  // per bit
constexpr double kDecodeOps = 4;    // per edge and lifting index: min-sum's two sums, two minima
constexpr double kEncodeOps = 1;    // per edge and lifting index

constexpr std::uint64_t kSampleBytes = 4;    // int16 I and Q
constexpr std::uint64_t kCombinerBytes = 8;  // CSI, combiner, precoder: complex float

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

// Of the rows that a decoder works through (all up to the last place sent) for one code block.
double edges_in_use(phy::LdpcCode code, std::uint32_t last_position) {
  const phy::BaseGraph graph = phy::base_graph(code);
  const std::uint32_t sent = std::min(last_position, code.length());
  const auto columns = 2 + static_cast<std::uint32_t>(divide_up(sent, code.lifting));
  const std::uint32_t most = std::max(columns, graph.info_columns + phy::kCoreRows);
  return graph.row_begin[std::min(graph.rows, most - graph.info_columns)];
}

using Sources = std::vector<std::uint16_t>;

class Builder {
 public:
  Builder(const Frame& frame, const PoolGraphOptions& options, const PoolProfile& profile)
      : frame_(frame),
        format_(frame.format()),
        program_(frame.program()),
        options_(options),
        profile_(profile),
        steps_(steps_of(frame, needs_of(frame, 1))),
        of_step_(steps_.size()) {
    for (const Step& step : steps_)
      if (step.op == Op::Store) assembles_.insert(step.symbol);
  }

  PoolGraph build() {
    for (const auto place : in_order()) of_step_[place] = add(steps_[place]);
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

  // The steps' places: what separates the users first, then the uplink and the downlink symbol by
  // symbol, so that of kernels that are equally urgent those come first that end a symbol.
  std::vector<std::size_t> in_order() const {
    std::vector<std::size_t> places(steps_.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    const auto turn = [&](std::size_t place) {
      const Step& step = steps_[place];
      if (step.op == Op::PilotFft || step.op == Op::ZeroForce) return std::pair(0, 0);
      const bool down = frame_.symbol(step.symbol).kind == SymbolKind::Downlink;
      return std::pair(down ? 2 : 1, static_cast<int>(step.symbol));
    };
    std::ranges::stable_sort(places, {}, turn);
    return places;
  }

  // A step's instructions.
  Sources add(const Step& step) {
    switch (step.op) {
      case Op::PilotFft:
      case Op::UplinkFft: return {kernel(step, cost_of(step), {load_received(step.symbol)})};
      case Op::ZeroForce: return zero_force(step);
      case Op::Decode: return decode(step);
      case Op::Store: return store(step.symbol, taken_by(step));
      case Op::Encode: return encode(step);
      case Op::Modulate:
        if (merged_modulate(profile_)) return taken_by(step);  // Precode waits for Encode
        break;
      case Op::Ifft: {
        const Sources samples = {kernel(step, cost_of(step), taken_by(step))};
        store(step.symbol, samples);
        return samples;
      }
      default: break;
    }
    return {kernel(step, cost_of(step), taken_by(step))};
  }

  Sources taken_by(const Step& step) const {
    Sources sources;
    for (const auto place : step.takes)
      for (const auto id : of_step_[place])
        if (std::ranges::find(sources, id) == sources.end()) sources.push_back(id);
    return sources;
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

  std::uint16_t kernel(const Step& step, const KernelCost& cost, const Sources& sources) {
    return add({.opcode = static_cast<std::uint16_t>(step.op), .step = step.symbol},
               kernel_work(profile_, step.op, cost), sources);
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
  Sources store(std::uint16_t symbol, const Sources& sources) {
    return {add({.opcode = static_cast<std::uint16_t>(Op::Store), .step = symbol, .notify = true},
                {.moved = result_.work[sources.back()].output}, sources)};
  }

  Sources zero_force(const Step& step) {
    if (step.combiner > 0) return combiner_;
    for (std::uint64_t part = 0; part < options_.zero_force_parts; ++part) {
      const std::uint64_t count = groups() * (part + 1) / options_.zero_force_parts -
                                  groups() * part / options_.zero_force_parts;
      combiner_.push_back(kernel(step, zero_force_cost(count), taken_by(step)));
    }
    return combiner_;
  }

  // Where nothing is assembled, what there is moves at once.
  Sources decode(const Step& step) {
    const Sources decoded = {kernel(step, cost_of(step), taken_by(step))};
    if (!assembles_.contains(step.symbol)) store(step.symbol, decoded);
    return decoded;
  }

  Sources encode(const Step& step) {
    const KernelCost cost = cost_of(step);
    return {kernel(step, cost, {load({.release = 0}, step.symbol, cost.read)})};
  }

  KernelCost cost_of(const Step& step) const {
    const std::uint16_t s = step.symbol;
    switch (step.op) {
      case Op::PilotFft:  // of the users, by their pilots
        return fft(samples_bytes(),
                   combiner_bytes(groups()) / frame_.symbols_of(SymbolKind::Pilot).size());
      case Op::UplinkFft: return fft(samples_bytes(), symbol_bytes(antennas()));
      case Op::EqualizeDemodulate: return equalize_cost(step);
      case Op::Decode: {
        const Coding& coding = frame_.coding(Direction::Uplink);
        KernelCost cost = coding_cost(s, Direction::Uplink, kDecodeOps * coding.iterations);
        std::swap(cost.read, cost.output);
        return cost;
      }
      case Op::Encode: return coding_cost(s, Direction::Downlink, kEncodeOps);
      case Op::Modulate: return modulate_cost(s);
      case Op::Precode:
        return {divide_up(subcarriers() * antennas(), kLanesPerCta), product_flops(),
                outputs(taken_by(step)), symbol_bytes(antennas()), format_.users};
      case Op::Ifft: return fft(symbol_bytes(antennas()), samples_bytes());
      default: return {};
    }
  }

  // 5·N·log2(N) for each antenna.
  KernelCost fft(std::uint64_t read, std::uint64_t output) const {
    const double n = format_.numerology.fft_size;
    return {antennas(), 5 * n * std::log2(n) * static_cast<double>(antennas()), read, output};
  }

  KernelCost zero_force_cost(std::uint64_t count) const {
    const double m = format_.antennas, k = format_.users;
    const double flops = 8 * (m * k * (k + 1) / 2 + k * k * k / 6 + m * k * k);  // one combiner
    const std::uint64_t rows = count * format_.combiner.group * users();
    return {divide_up(rows, kRowsPerCta),
            flops * static_cast<double>(count),
            combiner_bytes(count),
            combiner_bytes(count),
            0,
            static_cast<double>(count) / static_cast<double>(groups())};
  }

  KernelCost equalize_cost(const Step& step) const {
    const std::uint64_t soft_bits = coded_bits(step.symbol, Direction::Uplink);  // a byte each
    return {divide_up(subcarriers() * users(), kLanesPerCta),
            product_flops() + kDemapOps * static_cast<double>(soft_bits), outputs(taken_by(step)),
            soft_bits, format_.antennas};
  }

  KernelCost modulate_cost(std::uint16_t s) const {
    const std::uint64_t bits = coded_bits(s, Direction::Downlink);
    return {divide_up(subcarriers() * users(), kLanesPerCta),
            kModulateOps * static_cast<double>(bits), divide_up(bits, 8), symbol_bytes(users())};
  }

  // Of the code blocks that begin (downlink) or end (uplink) in a symbol, from information bits to
  // soft or coded ones; a decoder goes the other way.
  KernelCost coding_cost(std::uint16_t s, Direction direction, double ops) const {
    KernelCost cost;
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

  const Frame& frame_;
  const FrameFormat& format_;
  const FrameProgram& program_;
  const PoolGraphOptions& options_;
  const PoolProfile& profile_;
  const std::vector<Step> steps_;
  std::vector<Sources> of_step_;       // [step] its instructions
  std::set<std::uint16_t> assembles_;  // symbols with a Store of their own
  runtime::GraphBuilder builder_;
  PoolGraph result_;
  Sources combiner_;  // ZeroForce's parts
};

}  // namespace

PoolGraph build_pool_graph(const Frame& frame, const PoolGraphOptions& options,
                           const PoolProfile& profile) {
  if (const auto problems = check_pool_graph(frame, options); !problems.empty())
    throw std::invalid_argument(problems.front().key + " " + problems.front().message);
  return Builder(frame, options, profile).build();
}

std::vector<Problem> check_pool_graph(const Frame& frame, const PoolGraphOptions& options) {
  if (const auto why = frame.why_not_on_devices()) return {*why};
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

std::optional<Op> unmeasured(const Frame& frame, const PoolProfile& profile) {
  if (profile.device == nullptr) return {};
  for (const Step& step : steps_of(frame, needs_of(frame, 1))) {
    const bool merged = step.op == Op::Modulate && merged_modulate(profile);
    if (step.op != Op::Store && !merged && !is_in(profile, step.op)) return step.op;
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
