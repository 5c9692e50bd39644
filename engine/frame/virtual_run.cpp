#include "frame/virtual_run.hpp"

#include <algorithm>

#include "frame/graph.hpp"
#include "frame/opcodes.hpp"

namespace carillon::frame {
namespace {

using runtime::Execution;
using runtime::FrameEvent;

constexpr Tick kApart = 3600 * kSecond;  // frames that are each by themselves

void send_packets(runtime::Simulation& simulation, const Frame& frame, const FrameGraph& graph,
                  std::uint64_t number, Tick air_start, Tick begun, Tick packet) {
  for (std::uint32_t s = 0; s < frame.symbols().size(); ++s) {
    if (graph.receive[s] == kNoInstruction) continue;
    const Tick first = std::max(air_start + frame.symbol(s).end, begun);
    for (std::uint32_t a = 0; a < frame.format().antennas; ++a)
      simulation.arrive(first + packet * a, number, graph.receive[s], a);
  }
}

}  // namespace

Tick all_received(const Frame& frame) {
  Tick last = 0;
  for (const SymbolKind kind : {SymbolKind::Pilot, SymbolKind::Uplink})
    for (const std::uint32_t s : frame.symbols_of(kind)) last = std::max(last, frame.symbol(s).end);
  return last;
}

VirtualRun run_in_virtual_time(const Frame& frame, runtime::Policy& policy,
                               const VirtualRunOptions& options) {
  const FrameGraph graph = build_graph(frame, options.cores);
  runtime::Simulation simulation(graph.graph, policy,
                                 {.devices = options.cores,
                                  .ring = frame.format().ring,
                                  .grain = options.grain,
                                  .costs = options.costs,
                                  .seed = options.seed});
  const Tick period = options.at_once ? kApart : frame.duration();
  const Tick begins = options.at_once ? all_received(frame) : 0;
  for (std::uint64_t n = 0; n < options.frames; ++n) {
    const Tick air_start = static_cast<Tick>(n) * period;
    const auto& work = graph.work[n % graph.work.size()];
    simulation.begin(air_start + begins, n, air_start, work.chunks);
    send_packets(simulation, frame, graph, n, air_start, air_start + begins, options.packet);
  }
  simulation.run();

  const MilestoneKeeper keeper(frame, graph);
  VirtualRun run{.frames = std::vector<Milestones>(options.frames, keeper.begin()),
                 .executions = {simulation.executions().begin(), simulation.executions().end()},
                 .busy = std::vector<Tick>(options.cores),
                 .of_opcode = std::vector<Tick>(kOps)};
  for (const Execution& e : run.executions) {
    const Tick air_start = static_cast<Tick>(e.what.frame) * period;
    keeper.take(run.frames[e.what.frame], e.what.instruction, e.start - air_start,
                e.end - air_start);
    run.busy[e.device] += e.end - e.start;
    run.of_opcode[graph.graph[e.what.instruction].opcode] += e.end - e.start;
  }
  if (options.at_once)
    for (Milestones& one : run.frames) one.first_packet = begins;
  for (const FrameEvent& event : simulation.events()) {
    run.frames[event.frame].completed |= event.kind == FrameEvent::Kind::Done;
    run.frames[event.frame].missed += event.kind == FrameEvent::Kind::Missed;
  }
  return run;
}

}  // namespace carillon::frame
