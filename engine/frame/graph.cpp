#include "frame/graph.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "frame/needs.hpp"
#include "frame/opcodes.hpp"
#include "frame/steps.hpp"
#include "phy/estimate/estimate.hpp"

namespace carillon::frame {
namespace {

using runtime::Feed;
using runtime::Instruction;

constexpr Tick kForEver = std::numeric_limits<Tick>::max();

class Builder {
 public:
  Builder(const Frame& frame, std::uint32_t workers, bool elsewhere)
      : frame_(frame),
        needs_(needs_of(frame, workers)),
        steps_(steps_of(frame, needs_)),
        elsewhere_(elsewhere),
        equalize_(none()) {
    result_.receive = result_.decode = result_.assemble = result_.transmit = result_.bring = none();
    result_.workers = workers;
  }

  FrameGraph build() {
    for (const Step& step : steps_) add(step);
    share_grids();
    if (elsewhere_) bring();
    auto made = builder_.build();
    if (!made.graph) throw std::logic_error("frame graph: " + made.error);
    result_.graph = std::move(*made.graph);
    for (const FrameProgram& program : frame_.programs())
      result_.work.push_back(work_of(program, frame_, result_));
    return std::move(result_);
  }

 private:
  std::vector<std::uint16_t> none() const {
    return std::vector<std::uint16_t>(frame_.symbols().size(), kNoInstruction);
  }

  // An instruction for each step, with its place as id.
  void add(const Step& step) {
    const auto id = builder_.add(instruction_of(step));
    note(step, id);
    for (const auto taken : step.takes)
      if (!is_earlier_frame_s(step, steps_[taken])) builder_.depend(taken, id);
  }

  bool is_earlier_frame_s(const Step& step, const Step& taken) const {
    return step.op == Op::Precode && taken.op == Op::ZeroForce &&
           frame_.format().deadlines.precoder_age > 0;
  }

  void note(const Step& step, std::uint16_t id) {
    const std::uint16_t s = step.symbol;
    switch (step.op) {
      case Op::PilotFft:
      case Op::UplinkFft: result_.receive[s] = id; break;
      case Op::ZeroForce: result_.zero_force.push_back(id); break;
      case Op::EqualizeDemodulate: equalize_[s] = id; break;
      case Op::Decode: result_.decode[s] = id; break;
      case Op::Store: result_.assemble[s] = id; break;
      case Op::Ifft: result_.transmit[s] = id; break;
      default: break;
    }
  }

  Instruction instruction_of(const Step& step) const {
    const FrameFormat& f = frame_.format();
    const std::uint16_t s = step.symbol;
    switch (step.op) {
      case Op::PilotFft: return receive(step, pilot_deadline(s), pilot_patience(s));
      case Op::UplinkFft: return receive(step, frame_.uplink_deadline(s), kForEver);
      case Op::ZeroForce:
        return make(step.op, s, phy::csi_tiles(f.numerology.subcarriers, f.combiner.group),
                    pilot_deadline(s));
      case Op::Decode: {
        Instruction decode = make_for_owner(step, needs_[s].decodes);
        // From one iteration on.
        decode.longest = frame_.coding(Direction::Uplink).iterations;
        return decode;
      }
      case Op::Store: return make_for_owner(step, needs_[s].assembles);
      case Op::Encode: return make(step.op, s, needs_[s].encodes, frame_.downlink_deadline(s));
      case Op::Modulate: return make_for_air(step.op, s, f.users);
      case Op::Precode: return make_for_air(step.op, s, frame_.tiles());
      case Op::Ifft: return make_for_air(step.op, s, f.antennas);
      default: return make(step.op, s, frame_.tiles(), frame_.uplink_deadline(s));
    }
  }

  static Instruction make(Op op, std::uint16_t symbol, std::size_t chunks, Tick deadline) {
    Instruction instruction;
    instruction.opcode = static_cast<std::uint16_t>(op);
    instruction.step = symbol;
    instruction.chunks = static_cast<std::uint32_t>(chunks);
    instruction.deadline = deadline;
    return instruction;
  }

  Instruction make_for_owner(const Step& step, std::size_t chunks) const {
    Instruction instruction =
        make(step.op, step.symbol, chunks, frame_.uplink_deadline(step.symbol));
    instruction.notify = true;
    return instruction;
  }

  // What makes one downlink symbol is of no use to anybody once that should have left.
  Instruction make_for_air(Op op, std::uint16_t symbol, std::size_t chunks) const {
    Instruction instruction = make(op, symbol, chunks, frame_.downlink_deadline(symbol));
    instruction.drop_alone = true;
    instruction.notify = op == Op::Ifft || op == Op::Store;
    return instruction;
  }

  Instruction receive(const Step& step, Tick deadline, Tick most) const {
    const Tick patience = std::llround(frame_.format().deadlines.uplink_budget_ms *
                                       static_cast<double>(kMillisecond) / 2);
    const Tick end = frame_.symbol(step.symbol).end;
    Instruction instruction = make(step.op, step.symbol, frame_.format().antennas, deadline);
    instruction.feed = Feed::Arrivals;
    instruction.release = end - kReadiness;
    instruction.close = end + patience;
    if (most < patience) {
      instruction.early_close = end + most;
      instruction.quorum = enough_antennas();
    }
    return instruction;
  }

  // When most antennas' packets are there, the others are lost; when they are not, all are late,
  // and the downlink with them, but perhaps not yet the uplink.
  std::uint32_t enough_antennas() const {
    const FrameFormat& f = frame_.format();
    return std::max(frame_.most_together(), f.antennas - f.antennas / 4);
  }

  // How long a pilot's last packets are waited for: half of the time until the first downlink
  // symbol that can still have this channel must leave, or the later frame that is to have it
  // begins. An antenna that is silent for ever costs no downlink then.
  Tick pilot_patience(std::uint16_t symbol) const {
    const Tick age = frame_.format().deadlines.precoder_age;
    for (const auto s : frame_.symbols_of(SymbolKind::Downlink)) {
      if (frame_.symbol(s).occasion != frame_.symbol(symbol).occasion) continue;
      const Tick longest = frame_.format().deadlines.lead_quantile > 0
                               ? frame_.most_lead() - frame_.least_lead()
                               : 0;
      const Tick leaves = frame_.downlink_deadline(s) - longest;
      const Tick needed = age == 0 ? leaves : age * frame_.duration() + std::min<Tick>(leaves, 0);
      if (const Tick left = needed - frame_.symbol(symbol).end; left > 0) return left / 2;
    }
    return kForEver;
  }

  // A downlink that uses this frame's own channel waits for it.
  Tick pilot_deadline(std::uint16_t symbol) const {
    const Tick uplink = frame_.uplink_deadline(symbol);
    if (frame_.format().deadlines.precoder_age > 0) return uplink;
    for (const auto s : frame_.symbols_of(SymbolKind::Downlink))
      if (frame_.symbol(s).occasion == frame_.symbol(symbol).occasion)
        return std::min(uplink, frame_.downlink_deadline(s));
    return uplink;
  }

  // A symbol's FFT takes over the grid of an earlier one.
  void share_grids() {
    const auto symbols = frame_.symbols_of(SymbolKind::Uplink);
    for (std::size_t i = kReceivedGrids; i < symbols.size(); ++i)
      builder_.depend(last_use_of_grid(symbols[i - kReceivedGrids]), result_.receive[symbols[i]]);
  }

  std::uint16_t last_use_of_grid(std::uint16_t symbol) const {
    return equalize_[symbol] != kNoInstruction ? equalize_[symbol] : result_.receive[symbol];
  }

  // Blocks that end in a symbol are done with when it has been brought. One that nobody is in
  // yields nothing, but is waited for as here.
  void bring() {
    const auto pilots = frame_.symbols_of(SymbolKind::Pilot);
    for (const auto s : frame_.symbols_of(SymbolKind::Uplink)) {
      const bool yields = result_.decode[s] != kNoInstruction;
      if (!yields && needs_[s].anyone) continue;
      Instruction store = make(Op::Store, s, 1, frame_.uplink_deadline(s));
      store.notify = yields;
      bring(s, store, frame_.symbol(s).end);
      if (yields) builder_.depend(result_.bring[s], result_.decode[s]);
    }
    for (const auto s : frame_.symbols_of(SymbolKind::Downlink))
      bring(s, make_for_air(Op::Store, s, 1),
            pilots.empty() ? runtime::kAlways : frame_.symbol(pilots.back()).end);
  }

  void bring(std::uint16_t s, Instruction instruction, Tick release) {
    instruction.feed = Feed::Arrivals;
    instruction.release = std::min(release, instruction.deadline);
    result_.bring[s] = builder_.add(instruction);
  }

  const Frame& frame_;
  const std::vector<SymbolNeeds> needs_;  // [symbol]
  const std::vector<Step> steps_;
  bool elsewhere_;
  runtime::GraphBuilder builder_;
  FrameGraph result_;
  std::vector<std::uint16_t> equalize_;  // [symbol]
};

}  // namespace

FrameGraph build_graph(const Frame& frame, std::uint32_t workers, bool elsewhere) {
  return Builder(frame, workers, elsewhere).build();
}

}  // namespace carillon::frame
