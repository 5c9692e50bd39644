#include "frame/graph.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>

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
        workers_(workers),
        elsewhere_(elsewhere),
        equalize_(none()),
        encode_(none()),
        modulate_(none()) {
    result_.receive = result_.decode = result_.assemble = result_.transmit = result_.bring = none();
    for (const FrameProgram& program : frame.programs()) {
      auto& packs = result_.work.emplace_back().packs;
      for (std::uint16_t s = 0; s < frame.symbols().size(); ++s) packs.push_back(pack(program, s));
    }
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
    for (std::size_t p = 0; p < result_.work.size(); ++p)
      result_.work[p].chunks = chunks_of(frame_.program(p), result_.work[p].packs);
    return std::move(result_);
  }

 private:
  // Of each instruction, in the order of the graph.
  std::vector<std::uint32_t> chunks_of(const FrameProgram& program,
                                       const std::vector<Packs>& packs) const {
    std::vector<std::uint32_t> chunks;
    for (std::uint16_t i = 0; i < result_.graph.size(); ++i) {
      const runtime::Instruction& instruction = result_.graph[i];
      const std::uint16_t s = instruction.step;
      const auto count = [&]() -> std::size_t {
        if (result_.bring[s] == i) return 0;
        switch (static_cast<Op>(instruction.opcode)) {
          case Op::Decode: return packs[s].size();
          case Op::Store: return program.assemblies_at(s).size();
          case Op::Encode: return program.code_blocks_at(s).size();
          case Op::EqualizeDemodulate:
          case Op::Modulate: return program.anyone_in(s) ? instruction.chunks : 0;
          case Op::Precode: return sends(program, s) ? instruction.chunks : 0;
          case Op::ZeroForce: {
            const std::size_t pairing = i - result_.zero_force.front();
            const bool any =
                pairing < program.pairings().size() && !program.pairings()[pairing].is_empty();
            return any ? instruction.chunks : 0;
          }
          default: return instruction.chunks;
        }
      };
      chunks.push_back(static_cast<std::uint32_t>(count()));
    }
    return chunks;
  }

  // References, or someone's data.
  bool sends(const FrameProgram& program, std::uint16_t s) const {
    if (program.pairings().front().is_empty()) return false;
    return !carries_data(frame_.symbol(s), Direction::Downlink) || program.anyone_in(s);
  }

  // The most of a number that any program has.
  template <typename Of>
  std::size_t most(Of&& of) const {
    std::size_t result = 0;
    for (std::size_t p = 0; p < result_.work.size(); ++p)
      result = std::max<std::size_t>(result, of(frame_.program(p), result_.work[p]));
    return result;
  }
  bool anyone_in(std::uint16_t s) const {
    return most([s](const FrameProgram& p, const ProgramWork&) { return p.anyone_in(s); }) > 0;
  }

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
      if (!anyone_in(s)) continue;
      equalize_[s] = add(Op::EqualizeDemodulate, s, frame_.tiles(), frame_.uplink_deadline(s));
      builder_.depend(result_.receive[s], equalize_[s]);
      std::set<std::uint32_t> pairings;
      for (const FrameProgram& program : frame_.programs())
        if (program.anyone_in(s)) pairings.insert(program.pairing_of(s));
      for (const auto pairing : pairings)
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
    const std::size_t chunks =
        most([s](const FrameProgram&, const ProgramWork& work) { return work.packs[s].size(); });
    if (chunks == 0) return;
    Instruction decode = make(Op::Decode, s, chunks, frame_.uplink_deadline(s));
    decode.notify = true;
    // From one iteration on.
    decode.longest = frame_.coding(Direction::Uplink).iterations;
    result_.decode[s] = builder_.add(decode);
    const auto before = most([s](const FrameProgram& p, const ProgramWork&) {
      return s - p.first_symbol_of_blocks_at(s);
    });
    for (std::size_t t = s - before; t <= s; ++t)
      if (equalize_[t] != kNoInstruction) builder_.depend(equalize_[t], result_.decode[s]);
  }

  // Blocks of the same plan together, at most a worker's share of the instruction.
  Packs pack(const FrameProgram& program, std::uint16_t s) const {
    Packs packs;
    if (frame_.symbol(s).kind != SymbolKind::Uplink) return packs;
    const auto blocks = program.code_blocks_at(s);
    std::map<std::uint32_t, std::vector<std::uint32_t>> of_plan;
    for (const auto block : blocks) {
      const auto& place = program.code_blocks(Direction::Uplink)[block];
      of_plan[program.transport_blocks(Direction::Uplink)[place.transport_block].plan].push_back(
          block);
    }
    const std::size_t share = (blocks.size() + workers_ - 1) / workers_;
    for (const auto& [plan, same] : of_plan)
      for (std::span<const std::uint32_t> left = same; !left.empty();) {
        const auto most = static_cast<std::uint32_t>(std::min(left.size(), share));
        const std::uint32_t count = phy::ldpc_pack(frame_.plan(plan).code(), most);
        packs.add(left.first(count));
        left = left.subspan(count);
      }
    return packs;
  }

  void assemble(std::uint16_t s) {
    const auto chunks =
        most([s](const FrameProgram& p, const ProgramWork&) { return p.assemblies_at(s).size(); });
    if (chunks == 0) return;
    Instruction store = make(Op::Store, s, chunks, frame_.uplink_deadline(s));
    store.notify = true;
    result_.assemble[s] = builder_.add(store);
    const auto before = most([s](const FrameProgram& p, const ProgramWork&) {
      std::uint16_t first = s;
      for (const auto b : p.assemblies_at(s))
        first = std::min(first, p.transport_blocks(Direction::Uplink)[b].first_symbol);
      return s - first;
    });
    for (std::size_t t = s - before; t <= s; ++t)
      if (result_.decode[t] != kNoInstruction)
        builder_.depend(result_.decode[t], result_.assemble[s]);
  }

  void downlink() {
    const auto symbols = frame_.symbols_of(SymbolKind::Downlink);
    for (const auto s : symbols)
      if (const auto chunks = most([s](const FrameProgram& p, const ProgramWork&) {
            return p.code_blocks_at(s).size();
          });
          chunks > 0)
        encode_[s] = add(Op::Encode, s, chunks, frame_.downlink_deadline(s));
    for (const auto s : symbols) {
      if (carries_data(frame_.symbol(s), Direction::Downlink) && anyone_in(s)) modulate(s);
      transmit(s);
    }
  }

  void modulate(std::uint16_t s) {
    modulate_[s] = add_for_air(Op::Modulate, s, frame_.format().users);
    std::set<std::uint16_t> needed;
    for (const FrameProgram& program : frame_.programs())
      needed.merge(program.first_symbols_of_blocks_in(s));
    for (const auto first : needed) builder_.depend(encode_[first], modulate_[s]);
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
      if (!yields && anyone_in(s)) continue;
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
  std::uint32_t workers_;
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
