#include "frame/program_work.hpp"

#include <algorithm>
#include <map>

#include "frame/graph.hpp"
#include "frame/opcodes.hpp"
#include "phy/ldpc/ldpc.hpp"

namespace carillon::frame {
namespace {

Packs pack(const FrameProgram& program, std::uint16_t symbol, std::uint32_t workers) {
  Packs packs;
  const auto blocks = program.code_blocks_at(symbol);
  std::map<std::uint32_t, std::vector<std::uint32_t>> of_plan;
  for (const auto block : blocks) {
    const auto& place = program.code_blocks(Direction::Uplink)[block];
    of_plan[program.transport_blocks(Direction::Uplink)[place.transport_block].plan].push_back(
        block);
  }
  const std::size_t share = (blocks.size() + workers - 1) / workers;
  for (const auto& [plan, same] : of_plan)
    for (std::span<const std::uint32_t> left = same; !left.empty();) {
      const auto most = static_cast<std::uint32_t>(std::min(left.size(), share));
      const std::uint32_t count = phy::ldpc_pack(program.plan(plan).code(), most);
      packs.add(left.first(count));
      left = left.subspan(count);
    }
  return packs;
}

// References, or someone's data.
bool sends(const Frame& frame, const FrameProgram& program, std::uint16_t symbol) {
  if (program.pairing(symbol).is_empty()) return false;
  return !carries_data(frame.symbol(symbol), Direction::Downlink) || program.anyone_in(symbol);
}

bool separates(const FrameProgram& program, std::uint32_t occasion, std::size_t pairing) {
  const auto pairings = program.pairings(occasion);
  return pairing < pairings.size() && !pairings[pairing].is_empty();
}

}  // namespace

std::vector<Packs> pack(const Frame& frame, const FrameProgram& program, std::uint32_t workers) {
  std::vector<Packs> packs(frame.symbols().size());
  for (const std::uint16_t s : frame.symbols_of(SymbolKind::Uplink))
    packs[s] = pack(program, s, workers);
  return packs;
}

ProgramWork work_of(const FrameProgram& program, const Frame& frame, const FrameGraph& graph) {
  ProgramWork work{{}, pack(frame, program, graph.workers)};
  for (std::uint16_t i = 0; i < graph.graph.size(); ++i) {
    const runtime::Instruction& instruction = graph.graph[i];
    const std::uint16_t s = instruction.step;
    const auto count = [&]() -> std::size_t {
      if (graph.bring[s] == i) return 0;
      switch (static_cast<Op>(instruction.opcode)) {
        case Op::Decode: return work.packs[s].size();
        case Op::Store: return program.assemblies_at(s).size();
        case Op::Encode: return program.code_blocks_at(s).size();
        case Op::EqualizeDemodulate:
        case Op::Modulate: return program.anyone_in(s) ? instruction.chunks : 0;
        case Op::Precode: return sends(frame, program, s) ? instruction.chunks : 0;
        case Op::ZeroForce: {
          const std::uint32_t occasion = frame.symbol(s).occasion;
          const std::uint32_t first = graph.zero_force.front() + frame.first_combiner(occasion);
          return separates(program, occasion, i - first) ? instruction.chunks : 0;
        }
        default: return instruction.chunks;
      }
    };
    work.chunks.push_back(static_cast<std::uint32_t>(count()));
  }
  return work;
}

}  // namespace carillon::frame
