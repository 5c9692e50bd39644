#include "frame/pool_run.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "base/random.hpp"
#include "runtime/policies/pool/pool_policies.hpp"
#include "runtime/simulation.hpp"

namespace carillon::frame {
namespace {

using namespace runtime;

// The types of a pool's devices, each once, and which of them each device is.
struct Types {
  explicit Types(const PoolModel& model) {
    for (const PoolDevice& device : model.devices) {
      const auto known = std::find(types.begin(), types.end(), device.type);
      of_device.push_back(static_cast<std::uint16_t>(known - types.begin()));
      if (known != types.end()) continue;
      types.push_back(device.type);
      nodes.push_back(device.node);
    }
  }
  std::vector<const DeviceType*> types;
  std::vector<std::uint16_t> nodes;  // of the first device of each
  std::vector<std::uint16_t> of_device;
};

Tick transfer_alone(const Fabric& fabric, std::uint16_t from, std::uint16_t to,
                    std::uint64_t bytes) {
  Fabric idle = fabric;
  return idle.transfer(from, to, bytes, 0);
}

// What is known of the cell's opcodes before anything has run: the longest of each on an idle pool.
std::vector<OnType> profile_of(const PoolGraph& cell, const PoolModel& model, const Types& types) {
  std::vector<OnType> profile(types.types.size() * cell.graph.opcodes());
  const std::uint16_t elsewhere = model.devices.back().node;
  for (std::uint16_t t = 0; t < types.types.size(); ++t)
    for (std::uint16_t i = 0; i < cell.graph.size(); ++i) {
      const Work& work = cell.work[i];
      OnType& on = profile[std::size_t{t} * cell.graph.opcodes() + cell.graph[i].opcode];
      const bool kernel = work.footprint.ctas != 0;
      const Tick time = kernel ? alone(*types.types[t], work)
                               : transfer_alone(model.fabric, 0, types.nodes[t], work.moved);
      if (static_cast<double>(time) < on.alone) continue;
      on.alone = static_cast<double>(time);
      on.time.start(static_cast<double>(time));
      on.footprint = work.footprint;
      on.sms = kernel ? sms_needed(*types.types[t], work.footprint) : 0;
      on.copy = static_cast<double>(
          transfer_alone(model.fabric, model.devices.front().node, elsewhere, work.output));
    }
  return profile;
}

void check_fit(const PoolGraph& cell, const Types& types) {
  for (const DeviceType* type : types.types)
    for (std::uint16_t i = 0; i < cell.graph.size(); ++i) {
      const Footprint& footprint = cell.work[i].footprint;
      if (footprint.ctas != 0 && ctas_per_sm(*type, footprint) == 0)
        throw std::invalid_argument(std::string(kOpNames[cell.graph[i].opcode]) +
                                    ": its kernel fits no SM of a " + std::string(type->name));
    }
}

class Run {
 public:
  Run(const std::vector<const Frame*>& cells, const PoolModel& model, const PoolRunOptions& options)
      : cells_(cells), model_(model), options_(options), types_(model) {
    policy_ = make_pool_policy(options.policy, options.lroc);
    if (!policy_) throw std::invalid_argument("no policy for a pool is called " + options.policy);
    if (options.around) policy_ = options.around(std::move(policy_));
    for (const Frame* cell : cells_) {
      PoolGraphOptions graph = options.graph;
      if (options.at_once != 0) graph.deadline += cell->duration();
      graphs_.push_back(build_pool_graph(*cell, graph, *options.profile));
      check_fit(graphs_.back(), types_);
    }
    make_simulation();
    result_.of_opcode.resize(kOps);
    next_.resize(cells.size());
    began_.resize(cells.size() * options.ring);
  }

  PoolRun run() {
    if (options_.at_once != 0) {
      for (std::uint16_t c = 0; c < cells_.size(); ++c)
        for (std::uint32_t i = 0; i < options_.at_once; ++i) begin(c, 0);
    } else {
      pace();
    }
    simulation_->run();
    summarize();
    return std::move(result_);
  }

 private:
  void make_simulation() {
    std::vector<Simulation::Cell> cells;
    for (const PoolGraph& graph : graphs_) cells.push_back({graph.graph, options_.ring, {}, {}});
    simulation_ = std::make_unique<Simulation>(
        cells, *policy_, static_cast<std::uint32_t>(model_.devices.size()),
        [&](Scoreboard& board, std::span<const Arrivals>) {
          std::vector<std::vector<Work>> work;
          for (std::uint16_t c = 0; c < graphs_.size(); ++c) {
            work.push_back(graphs_[c].work);
            board[c].set_profile(profile_of(graphs_[c], model_, types_),
                                 static_cast<double>(cells_[c]->duration()));
          }
          for (std::uint32_t d = 0; d < model_.devices.size(); ++d) {
            board.device(d).type = types_.of_device[d];
            board.device(d).sms = model_.devices[d].type->sms;
          }
          auto pool =
              std::make_unique<SimulatedPool>(board, model_, std::move(work), options_.keep);
          pool_ = pool.get();
          return pool;
        });
    simulation_->watch([this](const FrameEvent& event) { take(event); });
  }

  // As frames start on air, some ahead of time.
  void pace() {
    constexpr std::uint64_t kAhead = 32;
    for (std::uint64_t n = 0; n < options_.frames && !stopped_; ++n) {
      if (n % kAhead == 0 && n != 0) simulation_->run(on_air(0, n) - 1);
      for (std::uint16_t c = 0; c < cells_.size(); ++c) begin(c, on_air(c, n));
    }
  }

  Tick on_air(std::uint16_t cell, std::uint64_t frame) const {
    return static_cast<Tick>(frame) * cells_[cell]->duration() + cell * options_.apart;
  }

  // The cell's next frame, and when its samples come.
  void begin(std::uint16_t cell, Tick at) {
    if (stopped_ || next_[cell] == options_.frames) return;
    const std::uint64_t number = next_[cell]++;
    if (options_.at_once != 0) began_[cell * options_.ring + number % options_.ring] = at;
    // A frame with all its samples there has been on air before.
    const Tick before = options_.at_once != 0 ? cells_[cell]->duration() : 0;
    simulation_->begin(at, {number, cell}, at - before);
    const Graph& graph = graphs_[cell].graph;
    for (std::uint16_t i = 0; i < graph.size(); ++i) {
      if (graph[i].feed != Feed::Arrivals) continue;
      const Tick end = options_.at_once != 0 ? 0 : cells_[cell]->symbol(graph[i].step).end;
      simulation_->arrive(at + end + lateness(cell, number, i), {number, cell}, i, 0);
    }
  }

  Tick lateness(std::uint16_t cell, std::uint64_t frame, std::uint16_t instruction) const {
    if (options_.late == 0 || options_.at_once != 0) return 0;
    Random random(model_.seed, (frame << 24) ^ (std::uint64_t{cell} << 16) ^ instruction);
    return std::llround(-std::log(1 - random.uniform()) * static_cast<double>(options_.late));
  }

  void take(const FrameEvent& event) {
    if (event.kind == FrameEvent::Kind::Committed || event.kind == FrameEvent::Kind::Missed) return;
    const bool refused = event.kind == FrameEvent::Kind::Refused;
    const Tick began = options_.at_once != 0
                           ? began_[event.cell * options_.ring + event.frame % options_.ring]
                           : on_air(event.cell, event.frame);
    PoolFrame frame{.cell = event.cell,
                    .done = event.kind == FrameEvent::Kind::Done,
                    .why = event.why,
                    .began = began,
                    .latency = event.at - began};
    if (!refused) count(event, frame);
    result_.frames.push_back(frame);
    if (options_.progress && !options_.progress(result_.frames.size())) stopped_ = true;
    if (options_.at_once != 0) begin(event.cell, event.at);
  }

  void count(const FrameEvent& event, PoolFrame& frame) {
    const CellBoard& board = simulation_->board(event.cell);
    DeviceMask used;
    for (std::uint16_t i = 0; i < board.graph().size(); ++i) {
      const InstructionStatus& status = board.status(event.slot, i);
      result_.again += status.runs;
      if (status.chunks == 0 || status.state != InstructionStatus::State::Committed) continue;
      ++result_.tasks;
      used.set(status.device);
      if (frame.done)
        result_.of_opcode[board.graph()[i].opcode] += static_cast<double>(status.busy);
    }
    frame.devices = static_cast<std::uint16_t>(used.count());
  }

  void summarize() {
    result_.end = simulation_->now();
    const double time = static_cast<double>(std::max<Tick>(result_.end, 1));
    for (std::uint32_t d = 0; d < model_.devices.size(); ++d)
      result_.busy.push_back(pool_->busy(d, result_.end) / time / model_.devices[d].type->sms);
    const auto executions = simulation_->executions();
    result_.executions.assign(executions.begin(), executions.end());
    result_.copies = pool_->copies();
    const auto done = std::count_if(result_.frames.begin(), result_.frames.end(),
                                    [](const PoolFrame& frame) { return frame.done; });
    for (double& each : result_.of_opcode)
      each /= static_cast<double>(std::max<std::ptrdiff_t>(done, 1));
  }

  const std::vector<const Frame*>& cells_;
  const PoolModel& model_;
  const PoolRunOptions& options_;
  Types types_;
  std::unique_ptr<Policy> policy_;
  std::vector<PoolGraph> graphs_;
  std::unique_ptr<Simulation> simulation_;
  SimulatedPool* pool_ = nullptr;
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

Tick alone(const DeviceType& type, const Work& work) {
  Gpu gpu({.sms = type.sms, .bytes_per_ns = type.memory_bytes_per_s * 1e-9});
  gpu.submit(0, true, load_on(type, work), 1, 0, 0, 0);
  std::vector<Gpu::Ended> ended;
  while (ended.empty()) gpu.advance(gpu.next(), ended);
  return ended.front().end;
}

}  // namespace carillon::frame
