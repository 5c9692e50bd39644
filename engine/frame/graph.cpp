#include "frame/graph.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "frame/needs.hpp"
#include "frame/opcodes.hpp"
#include "phy/estimate/estimate.hpp"

namespace carillon::frame {
namespace {

using runtime::Feed;
using runtime::Instruction;

class Builder {
 public:
  Builder(const Frame& frame, std::uint32_t workers, bool elsewhere)
      : frame_(frame),
        needs_(needs_of(frame, workers)),
        elsewhere_(elsewhere),
        equalize_(none()),
        encode_(none()),
        modulate_(none()) {
    result_.receive = result_.decode = result_.assemble = result_.transmit = result_.bring = none();
    result_.workers = workers;
  }

  FrameGraph build() {
    receive();
    zero_force();
    uplink();
    downlink();
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

  static Instruction make(Op op, std::uint16_t symbol, std::size_t chunks, Tick deadline) {
    Instruction instruction;
    instruction.opcode = static_cast<std::uint16_t>(op);
    instruction.step = symbol;
    instruction.chunks = static_cast<std::uint32_t>(chunks);
    instruction.deadline = deadline;
    return instruction;
  }

  std::uint16_t add(Op op, std::uint16_t symbol, std::size_t chunks, Tick deadline) {
    return builder_.add(make(op, symbol, chunks, deadline));
  }

  // What makes one downlink symbol is of no use to anybody once that should have left.
  Instruction make_for_air(Op op, std::uint16_t symbol, std::size_t chunks) const {
    Instruction instruction = make(op, symbol, chunks, frame_.downlink_deadline(symbol));
    instruction.drop_alone = true;
    instruction.notify = op == Op::Ifft || op == Op::Store;
    return instruction;
  }

  std::uint16_t add_for_air(Op op, std::uint16_t symbol, std::size_t chunks) {
    return builder_.add(make_for_air(op, symbol, chunks));
  }

  void receive() {
    const Tick patience = std::llround(frame_.format().deadlines.uplink_budget_ms *
                                       static_cast<double>(kMillisecond) / 2);
    for (std::uint16_t s = 0; s < frame_.symbols().size(); ++s) {
      const Symbol& symbol = frame_.symbol(s);
      const bool pilot = symbol.kind == SymbolKind::Pilot;
      if (!pilot && symbol.kind != SymbolKind::Uplink) continue;
      Instruction instruction =
          make(pilot ? Op::PilotFft : Op::UplinkFft, s, frame_.format().antennas,
               pilot ? pilot_deadline(s) : frame_.uplink_deadline(s));
      instruction.feed = Feed::Arrivals;
      instruction.release = symbol.end - kReadiness;
      instruction.close = symbol.end + patience;
      if (const Tick less = pilot ? pilot_patience(s) : patience; less < patience) {
        instruction.early_close = symbol.end + less;
        instruction.quorum = enough_antennas();
      }
      result_.receive[s] = builder_.add(instruction);
    }
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
      const Tick longest = frame_.format().deadlines.lead_quantile > 0
                               ? frame_.most_lead() - frame_.least_lead()
                               : 0;
      const Tick leaves = frame_.downlink_deadline(s) - longest;
      const Tick needed = age == 0 ? leaves : age * frame_.duration() + std::min<Tick>(leaves, 0);
      if (const Tick left = needed - frame_.symbol(symbol).end; left > 0) return left / 2;
    }
    return std::numeric_limits<Tick>::max();
  }

  // A downlink that uses this frame's own channel waits for it.
  Tick pilot_deadline(std::uint16_t symbol) const {
    const auto downlink = frame_.symbols_of(SymbolKind::Downlink);
    const Tick uplink = frame_.uplink_deadline(symbol);
    if (downlink.empty() || frame_.format().deadlines.precoder_age > 0) return uplink;
    return std::min(uplink, frame_.downlink_deadline(downlink.front()));
  }

  void zero_force() {
    const auto pilots = frame_.symbols_of(SymbolKind::Pilot);
    if (pilots.empty()) return;
    const auto& f = frame_.format();
    const auto chunks = phy::csi_tiles(f.numerology.subcarriers, f.combiner.group);
    for (std::size_t i = 0; i < frame_.most_pairings(); ++i) {
      const auto id = add(Op::ZeroForce, pilots.back(), chunks, pilot_deadline(pilots.back()));
      for (const auto s : pilots) builder_.depend(result_.receive[s], id);
      result_.zero_force.push_back(id);
    }
  }

  void uplink() {
    const auto symbols = frame_.symbols_of(SymbolKind::Uplink);
    for (const auto s : symbols) {
      if (!needs_[s].anyone) continue;
      equalize_[s] = add(Op::EqualizeDemodulate, s, frame_.tiles(), frame_.uplink_deadline(s));
      builder_.depend(result_.receive[s], equalize_[s]);
      for (const auto pairing : needs_[s].pairings)
        builder_.depend(result_.zero_force[pairing], equalize_[s]);
    }
    for (std::size_t i = kReceivedGrids; i < symbols.size(); ++i)
      builder_.depend(last_use_of_grid(symbols[i - kReceivedGrids]), result_.receive[symbols[i]]);
    for (const auto s : symbols) decode(s);
    for (const auto s : symbols) assemble(s);
  }

  std::uint16_t last_use_of_grid(std::uint16_t symbol) const {
    return equalize_[symbol] != kNoInstruction ? equalize_[symbol] : result_.receive[symbol];
  }

  void decode(std::uint16_t s) {
    if (needs_[s].decodes == 0) return;
    Instruction decode = make(Op::Decode, s, needs_[s].decodes, frame_.uplink_deadline(s));
    decode.notify = true;
    // From one iteration on.
    decode.longest = frame_.coding(Direction::Uplink).iterations;
    result_.decode[s] = builder_.add(decode);
    for (std::size_t t = needs_[s].decodes_from; t <= s; ++t)
      if (equalize_[t] != kNoInstruction) builder_.depend(equalize_[t], result_.decode[s]);
  }

  void assemble(std::uint16_t s) {
    if (needs_[s].assembles == 0) return;
    Instruction store = make(Op::Store, s, needs_[s].assembles, frame_.uplink_deadline(s));
    store.notify = true;
    result_.assemble[s] = builder_.add(store);
    for (std::size_t t = needs_[s].assembles_from; t <= s; ++t)
      if (result_.decode[t] != kNoInstruction)
        builder_.depend(result_.decode[t], result_.assemble[s]);
  }

  void downlink() {
    const auto symbols = frame_.symbols_of(SymbolKind::Downlink);
    for (const auto s : symbols)
      if (needs_[s].encodes > 0)
        encode_[s] = add(Op::Encode, s, needs_[s].encodes, frame_.downlink_deadline(s));
    for (const auto s : symbols) {
      if (carries_data(frame_.symbol(s), Direction::Downlink) && needs_[s].anyone) modulate(s);
      transmit(s);
    }
  }

  void modulate(std::uint16_t s) {
    modulate_[s] = add_for_air(Op::Modulate, s, frame_.format().users);
    for (const auto first : needs_[s].encoded_at) builder_.depend(encode_[first], modulate_[s]);
  }

  void transmit(std::uint16_t s) {
    const auto precode = add_for_air(Op::Precode, s, frame_.tiles());
    if (modulate_[s] != kNoInstruction) builder_.depend(modulate_[s], precode);
    if (frame_.format().deadlines.precoder_age == 0)
      builder_.depend(result_.zero_force.front(), precode);
    result_.transmit[s] = add_for_air(Op::Ifft, s, frame_.format().antennas);
    builder_.depend(precode, result_.transmit[s]);
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
  bool elsewhere_;
  runtime::GraphBuilder builder_;
  FrameGraph result_;
  std::vector<std::uint16_t> equalize_, encode_, modulate_;  // [symbol]
};

}  // namespace

FrameGraph build_graph(const Frame& frame, std::uint32_t workers, bool elsewhere) {
  return Builder(frame, workers, elsewhere).build();
}

}  // namespace carillon::frame
