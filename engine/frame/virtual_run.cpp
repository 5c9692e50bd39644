#include "frame/virtual_run.hpp"

#include <algorithm>

#include "frame/graph.hpp"
#include "frame/opcodes.hpp"

namespace carillon::frame {
namespace {

using runtime::Execution;
using runtime::FrameEvent;
using runtime::kNever;

// The frame's milestones as its tasks reach them.
class Milestones {
 public:
  Milestones(const Frame& frame, const FrameGraph& graph) : graph_(graph) {
    const auto downlink = frame.symbols_of(SymbolKind::Downlink);
    if (!downlink.empty()) first_downlink_ = graph.transmit[downlink.front()];
  }

  void take(VirtualFrame& frame, const Execution& e, Tick air_start) const {
    const Tick start = e.start - air_start, end = e.end - air_start;
    frame.started = std::min(frame.started, start);
    frame.slack = std::min(frame.slack, graph_.graph[e.what.instruction].deadline - end);
    const auto reach = [&](Tick& milestone) {
      milestone = milestone == kNever ? end : std::max(milestone, end);
    };
    switch (static_cast<Op>(graph_.graph[e.what.instruction].opcode)) {
      case Op::PilotFft: reach(frame.pilots_done); break;
      case Op::ZeroForce: reach(frame.combiner_done); break;
      case Op::UplinkFft:
      case Op::EqualizeDemodulate:
      case Op::Decode:
      case Op::Store: reach(frame.uplink_done); break;
      case Op::Ifft:
        if (e.what.instruction == first_downlink_) reach(frame.downlink_first);
        break;
      default: break;
    }
  }

 private:
  const FrameGraph& graph_;
  std::uint16_t first_downlink_ = kNoInstruction;
};

void send_packets(runtime::Simulation& simulation, const Frame& frame, const FrameGraph& graph,
                  std::uint64_t number, Tick packet) {
  const Tick air_start = static_cast<Tick>(number) * frame.duration();
  for (std::uint32_t s = 0; s < frame.symbols().size(); ++s) {
    if (graph.receive[s] == kNoInstruction) continue;
    for (std::uint32_t a = 0; a < frame.format().antennas; ++a)
      simulation.arrive(air_start + frame.symbol(s).end + packet * a, number, graph.receive[s], a);
  }
}

Tick first_packet(const Frame& frame, const FrameGraph& graph) {
  for (std::uint32_t s = 0; s < frame.symbols().size(); ++s)
    if (graph.receive[s] != kNoInstruction) return frame.symbol(s).end;
  return kNever;
}

}  // namespace

VirtualRun run_in_virtual_time(const Frame& frame, runtime::Policy& policy,
                               const VirtualRunOptions& options) {
  const FrameGraph graph = build_graph(frame, options.cores);
  runtime::Simulation simulation(graph.graph, policy,
                                 {.devices = options.cores,
                                  .ring = frame.format().ring,
                                  .grain = options.grain,
                                  .costs = options.costs});
  for (std::uint64_t n = 0; n < options.frames; ++n) {
    const Tick air_start = static_cast<Tick>(n) * frame.duration();
    simulation.begin(air_start, n, air_start);
    send_packets(simulation, frame, graph, n, options.packet);
  }
  simulation.run();

  VirtualRun run{.frames = std::vector<VirtualFrame>(options.frames),
                 .executions = {simulation.executions().begin(), simulation.executions().end()},
                 .busy = std::vector<Tick>(options.cores),
                 .of_opcode = std::vector<Tick>(kOps)};
  const Milestones milestones(frame, graph);
  for (auto& one : run.frames) one.first_packet = first_packet(frame, graph);
  for (const Execution& e : run.executions) {
    const Tick air_start = static_cast<Tick>(e.what.frame) * frame.duration();
    milestones.take(run.frames[e.what.frame], e, air_start);
    run.busy[e.device] += e.end - e.start;
    run.of_opcode[graph.graph[e.what.instruction].opcode] += e.end - e.start;
  }
  for (const FrameEvent& event : simulation.events()) {
    run.frames[event.frame].completed |= event.kind == FrameEvent::Kind::Done;
    run.frames[event.frame].missed += event.kind == FrameEvent::Kind::Missed;
  }
  return run;
}

}  // namespace carillon::frame
