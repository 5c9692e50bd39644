#include "frame/pool_run.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "base/random.hpp"

namespace carillon::frame {
namespace {

using namespace runtime;

std::vector<PoolCell> with_graphs(const std::vector<const Frame*>& frames,
                                  const PoolRunOptions& options) {
  std::vector<PoolCell> cells;
  for (const Frame* frame : frames) {
    PoolGraphOptions graph = options.graph;
    if (options.at_once != 0) graph.deadline += frame->duration();
    cells.push_back({*frame, build_pool_graph(*frame, graph, *options.profile)});
  }
  return cells;
}

class Run {
 public:
  Run(const std::vector<const Frame*>& cells, const PoolModel& model, const PoolRunOptions& options)
      : cells_(with_graphs(cells, options)),
        model_(model),
        options_(options),
        server_(cells_, model, options, [this](const PoolServer::Ended& frame) { take(frame); }),
        next_(cells.size()),
        began_(cells.size() * options.ring) {}

  PoolRun run() {
    if (options_.at_once != 0) {
      for (std::uint16_t c = 0; c < cells_.size(); ++c)
        for (std::uint32_t i = 0; i < options_.at_once; ++i) begin(c, 0);
    } else {
      pace();
    }
    server_.run();
    summarize();
    return std::move(result_);
  }

 private:
  // As frames start on air.
  void pace() {
    while (!stopped_) {
      std::uint16_t first = 0;
      for (std::uint16_t c = 1; c < cells_.size(); ++c)
        if (order(c) < order(first)) first = c;
      if (next_[first] == options_.frames) return;
      const Tick at = on_air(first, next_[first]);
      server_.run(at - 1);
      begin(first, at);
    }
  }

  // Of cells' next frames: none left last, then by time, then as they were given.
  std::tuple<bool, Tick, std::uint64_t> order(std::uint16_t cell) const {
    return {next_[cell] == options_.frames, on_air(cell, next_[cell]), next_[cell]};
  }

  Tick on_air(std::uint16_t cell, std::uint64_t frame) const {
    return static_cast<Tick>(frame) * cells_[cell].frame.duration() + cell * options_.apart;
  }

  // The cell's next frame, and when its samples come.
  void begin(std::uint16_t cell, Tick at) {
    if (stopped_ || next_[cell] == options_.frames) return;
    const FrameId frame{next_[cell]++, cell};
    const Frame& format = cells_[cell].frame;
    began_[cell * options_.ring + frame.frame % options_.ring] = at;
    // A frame with all its samples there has been on air before.
    server_.begin(at, frame, options_.at_once != 0 ? at - format.duration() : at);
    const Graph& graph = cells_[cell].graph.graph;
    for (std::uint16_t i = 0; i < graph.size(); ++i) {
      if (graph[i].feed != Feed::Arrivals) continue;
      const Tick end = options_.at_once != 0 ? 0 : format.symbol(graph[i].step).end;
      server_.arrive(at + end + lateness(frame, i), frame, i);
    }
  }

  Tick lateness(FrameId frame, std::uint16_t instruction) const {
    if (options_.late == 0 || options_.at_once != 0) return 0;
    Random random(model_.seed,
                  (frame.frame << 24) ^ (std::uint64_t{frame.cell} << 16) ^ instruction);
    return std::llround(-std::log(1 - random.uniform()) * static_cast<double>(options_.late));
  }

  void take(const PoolServer::Ended& ended) {
    const auto [number, cell] = ended.frame;
    const Tick began = options_.at_once != 0 ? began_[cell * options_.ring + number % options_.ring]
                                             : on_air(cell, number);
    result_.frames.push_back({.cell = cell,
                              .done = ended.done,
                              .why = ended.why,
                              .began = began,
                              .latency = ended.at - began,
                              .devices = ended.devices});
    if (options_.progress && !options_.progress(result_.frames.size())) stopped_ = true;
    if (options_.at_once != 0) begin(cell, ended.at);
  }

  void summarize() {
    PoolUse use = server_.use();
    result_.end = server_.now();
    const double time = static_cast<double>(std::max<Tick>(result_.end, 1));
    for (std::uint32_t d = 0; d < model_.devices.size(); ++d)
      result_.busy.push_back(use.busy[d] / time / model_.devices[d].type->sms);
    const auto done = std::count_if(result_.frames.begin(), result_.frames.end(),
                                    [](const PoolFrame& frame) { return frame.done; });
    for (const double each : use.of_opcode)
      result_.of_opcode.push_back(each / static_cast<double>(std::max<std::ptrdiff_t>(done, 1)));
    result_.executions = std::move(use.executions);
    result_.memory = std::move(use.memory);
    result_.tasks = use.tasks;
    result_.copies = use.copies;
    result_.again = use.again;
  }

  const std::vector<PoolCell> cells_;
  const PoolModel& model_;
  const PoolRunOptions& options_;
  PoolServer server_;
  std::vector<std::uint64_t> next_;  // [cell] frame
  std::vector<Tick> began_;          // [cell][slot]
  PoolRun result_;
  bool stopped_ = false;
};

}  // namespace

PoolRun run_on_pool(const std::vector<const Frame*>& cells, const PoolModel& model,
                    const PoolRunOptions& options) {
  return Run(cells, model, options).run();
}

}  // namespace carillon::frame
