#include "frame/cpu/serial.hpp"

#include <algorithm>
#include <queue>
#include <vector>

namespace carillon::frame {
namespace {

// Which items of an instruction fed by arrivals are there.
std::vector<std::uint16_t> arrivals(Pipeline& pipeline, std::uint64_t frame, std::uint32_t symbol) {
  const std::uint32_t antennas = pipeline.frame().format().antennas;
  const auto& samples = pipeline.slot(frame).samples;
  std::vector<std::uint16_t> items;
  for (std::uint32_t a = 0; a < antennas; ++a) {
    const bool missing = samples[std::size_t{symbol} * antennas + a] == nullptr;
    items.push_back(static_cast<std::uint16_t>(a | (missing ? runtime::kMissing : 0U)));
  }
  return items;
}

void run(Pipeline& pipeline, std::uint64_t frame, std::uint16_t id, std::uint32_t chunks,
         const Claim& claim, std::uint32_t grain) {
  const auto& instruction = pipeline.graph().graph[id];
  std::vector<std::uint16_t> items;
  if (instruction.feed == runtime::Feed::Arrivals)
    items = arrivals(pipeline, frame, instruction.step);
  runtime::Task task{};
  task.frame = frame;
  task.slot = static_cast<std::uint16_t>(frame % pipeline.ring());
  task.instruction = id;
  task.opcode = instruction.opcode;
  task.step = instruction.step;
  task.arrived = items.data();
  while (task.first < chunks) {
    task.count = std::min(grain, chunks - task.first);
    claim(task);
    task.first += task.count;
  }
}

}  // namespace

void run_serially(Pipeline& pipeline, std::uint64_t frame, const Claim& claim,
                  std::uint32_t grain) {
  const auto& graph = pipeline.graph().graph;
  const auto chunks = pipeline.chunks(frame);
  std::vector<std::uint16_t> waiting;
  const auto later = [&](std::uint16_t a, std::uint16_t b) {
    return graph.rank(a) > graph.rank(b);
  };
  std::priority_queue<std::uint16_t, std::vector<std::uint16_t>, decltype(later)> ready(later);
  for (std::uint16_t id = 0; id < graph.size(); ++id) {
    waiting.push_back(graph[id].predecessors);
    if (waiting.back() == 0) ready.push(id);
  }
  while (!ready.empty()) {
    const std::uint16_t id = ready.top();
    ready.pop();
    run(pipeline, frame, id, chunks[id], claim, grain);
    for (const std::uint16_t next : graph[id].successors)
      if (--waiting[next] == 0) ready.push(next);
  }
}

void run_serially(Pipeline& pipeline, std::uint64_t frame, const Observer& observer,
                  std::uint32_t grain) {
  const auto claim = [&](const runtime::Task& task) {
    const Tick start = now();
    pipeline.opcodes()[task.opcode].kernel(pipeline.context(), task);
    if (observer) observer(task.instruction, task.count, start, now());
  };
  run_serially(pipeline, frame, Claim(claim), grain);
}

}  // namespace carillon::frame
