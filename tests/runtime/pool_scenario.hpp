// Random graphs, pools, arrivals and faults for the policies of a pool of devices, and a simulation
// of them that keeps what happens.
#pragma once

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "runtime/executors/simulated_pool.hpp"
#include "runtime/policies/pool/pool_policies.hpp"
#include "runtime/simulation.hpp"
#include "support/test.hpp"

namespace carillon::runtime {

using Kind = FrameEvent::Kind;
constexpr std::uint16_t kOpcodes = 6;
constexpr Tick kLong = 10'000 * kMillisecond;

struct CellPlan {
  Graph graph;
  std::vector<Work> work;  // [instruction]
};

struct FrameStart {
  Tick at;
  FrameId id;
};

struct Scenario {
  std::vector<CellPlan> sources;
  PoolModel model;
  std::uint32_t ring = 4;
  std::vector<FrameStart> frames;
  std::uint64_t seed = 1;
};

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  std::uint32_t below(std::uint64_t n) { return static_cast<std::uint32_t>(random_.next() % n); }
  std::uint32_t between(std::uint32_t low, std::uint32_t high) {
    return low + below(high - low + 1);
  }
  bool chance(double p) { return random_.uniform() < p; }

 private:
  Random random_;
};

inline Work random_kernel(Dice& dice) {
  return {.footprint = {.ctas = dice.between(1, dice.chance(0.2) ? 4000 : 200),
                        .warps = dice.between(1, 8),
                        .registers = dice.between(16, 64),
                        .shared_bytes = dice.below(16'000)},
          .flops = dice.below(2'000'000) * 1.0,
          .bytes = dice.below(20'000) * 1.0,
          .efficiency = 0.5,
          .half = dice.chance(0.5),
          .floor = dice.below(20'000),
          .output = dice.between(1, 300'000)};
}

// What has no waits_for is a transfer from the host, some of what nobody reads one to it; the rest
// are kernels, of several waits_for each.
inline CellPlan random_cell(Dice& dice, Tick deadline) {
  GraphBuilder builder;
  CellPlan source;
  const std::uint32_t size = dice.between(5, 30);
  std::vector<bool> read(size);
  std::vector<std::pair<std::uint16_t, std::uint16_t>> edges;
  for (std::uint16_t i = 0; i < size; ++i) {
    const std::uint32_t waits_for = i < 2 || dice.chance(0.25) ? 0 : dice.between(1, 3);
    for (std::uint32_t s = 0; s < waits_for; ++s) {
      edges.emplace_back(dice.below(i), i);
      read[edges.back().first] = true;
    }
    const bool fed = waits_for == 0 && dice.chance(0.6);
    builder.add({.opcode = static_cast<std::uint16_t>(dice.below(kOpcodes)),
                 .step = static_cast<std::uint16_t>(dice.below(6)),
                 .feed = fed ? Feed::Arrivals : Feed::Commits,
                 .notify = dice.chance(0.3),
                 .release = waits_for == 0 && dice.chance(0.5) ? dice.below(500'000) : kAlways,
                 .deadline = deadline});
    source.work.push_back(waits_for != 0 ? random_kernel(dice)
                                         : Work{.moved = dice.below(500'000), .output = 1000});
  }
  for (const auto& [from, to] : edges) builder.depend(from, to);
  for (std::uint16_t i = 0; i < size; ++i)
    if (!read[i] && source.work[i].footprint.ctas != 0 && dice.chance(0.5))
      source.work[i] = {.moved = dice.below(500'000)};
  source.graph = std::move(*builder.build().graph);
  return source;
}

inline PoolModel random_pool(Dice& dice) {
  PoolModel model;
  std::vector<FabricNode> nodes{{"host", 0, 0, 0}, {"chassis", 0, 20e9, 500}};
  const std::uint32_t devices = dice.between(1, 8);
  for (std::uint32_t d = 0; d < devices; ++d) {
    model.devices.push_back({.type = &device_types()[dice.below(device_types().size())],
                             .node = static_cast<std::uint16_t>(nodes.size()),
                             .queues = dice.between(3, 32),
                             .reserved_sms = dice.chance(0.3) ? dice.below(60) : 0});
    nodes.push_back({"gpu", static_cast<std::uint16_t>(dice.below(2)), 10e9, dice.below(2000)});
  }
  model.fabric = *Fabric::build(nodes).fabric;
  model.host = {dice.below(2000), dice.below(5000), dice.below(2000), dice.below(2000)};
  if (dice.chance(0.5)) model.jitter = {0.3, 0.3};
  return model;
}

// Devices die and come back at any time, now and then all of them at once.
inline void add_faults(Dice& dice, Tick until, PoolModel& model) {
  const auto devices = static_cast<std::uint32_t>(model.devices.size());
  for (std::uint32_t n = dice.between(1, 12); n > 0; --n) {
    const Tick at = dice.below(static_cast<std::uint64_t>(until));
    const Tick back = at + dice.below(500'000);
    const Tick noticed = dice.below(200'000);
    const std::uint32_t first = dice.below(devices);
    const std::uint32_t last = dice.chance(0.2) ? first + devices : first + 1;
    for (std::uint32_t d = first; d < last; ++d) {
      const auto device = static_cast<std::uint16_t>(d % devices);
      const bool hangs = dice.chance(0.3);
      model.faults.push_back({at, device, hangs ? Fault::Kind::Hung : Fault::Kind::Lost, noticed});
      model.faults.push_back({back, device, Fault::Kind::Back, 0});
    }
  }
}

struct Stress {
  Tick deadline = kLong;
  bool faults = false, background = false;
};

inline Scenario random_scenario(std::uint64_t seed, const Stress& stress) {
  Dice dice(seed);
  Scenario scenario;
  scenario.seed = seed;
  scenario.ring = dice.between(1, 6);
  for (std::uint32_t c = dice.between(1, 3); c > 0; --c)
    scenario.sources.push_back(random_cell(dice, stress.deadline));
  scenario.model = random_pool(dice);
  scenario.model.seed = seed;
  Tick at = 0;
  for (std::uint32_t f = 0; f < 20; ++f) {
    for (std::uint16_t c = 0; c < scenario.sources.size(); ++c)
      scenario.frames.push_back({at + (dice.chance(0.3) ? dice.below(100'000) : 0), {f, c}});
    at += dice.below(300'000);
  }
  if (stress.faults) add_faults(dice, at + 500'000, scenario.model);
  if (stress.background)
    scenario.model.background.push_back({0, dice.between(1, 3), random_kernel(dice)});
  return scenario;
}

// A simulation of a scenario, and what it tells.
class Course {
 public:
  // Up to a time, or to its end.
  Course(const Scenario& scenario, std::string_view policy, const Lroc::Options& lroc = {},
         Tick until = kNever)
      : scenario_(scenario), policy_(make_pool_policy(policy, lroc)) {
    std::vector<Simulation::Source> sources;
    for (const CellPlan& source : scenario.sources)
      sources.push_back({source.graph, scenario.ring, {}, {}});
    simulation_ = std::make_unique<Simulation>(
        sources, *policy_, static_cast<std::uint32_t>(scenario.model.devices.size()),
        [&](ScoreboardWriter& board, std::span<const Arrivals>) { return make_pool(board); });
    simulation_->watch([this](const FrameEvent& event) { take(event); });
    Dice dice(scenario.seed + 1);
    for (const FrameStart& frame : scenario.frames) begin(frame, dice);
    simulation_->run(until);
    if (until != kNever) return;
    // What was on its way when the last frame was given up arrives, on a device that hung, late.
    end_ = simulation_->now() + 100 * kMillisecond;
    pool_->advance(end_);
  }

  const Scenario& scenario() const { return scenario_; }
  const std::vector<FrameEvent>& ended() const { return ended_; }
  std::span<const Execution> log() const { return simulation_->executions(); }
  const Simulation& simulation() const { return *simulation_; }
  const Policy& policy() const { return *policy_; }
  bool backwards() const { return backwards_; }
  // Whether a device had more of its SMs in use than it has.
  bool exceeded() const { return exceeded_; }
  // How often the instructions of the last frame were issued again.
  const std::vector<std::uint16_t>& runs() const { return runs_; }
  std::size_t count(Kind kind) const {
    return static_cast<std::size_t>(std::count_if(
        ended_.begin(), ended_.end(), [&](const FrameEvent& e) { return e.kind == kind; }));
  }
  const DeviceMemory& memory(std::uint32_t device) const { return pool_->memory(device); }
  // SMs in use.
  double in_use(std::uint32_t device) const {
    return pool_->busy(device, end_ + 1) - pool_->busy(device, end_);
  }

 private:
  std::unique_ptr<SimulatedPool> make_pool(ScoreboardWriter& board) {
    std::vector<const DeviceType*> types;
    const PoolModel& model = scenario_.model;
    for (std::uint32_t d = 0; d < model.devices.size(); ++d) {
      const DeviceType* type = model.devices[d].type;
      const auto known = std::find(types.begin(), types.end(), type);
      board.device(d).type = static_cast<std::uint16_t>(known - types.begin());
      board.device(d).sms = type->sms;
      if (known == types.end()) types.push_back(type);
    }
    std::vector<std::vector<Work>> work;
    for (std::uint16_t c = 0; c < scenario_.sources.size(); ++c) {
      work.push_back(scenario_.sources[c].work);
      board[c].set_profile(profile(scenario_.sources[c], types), 1e6);
    }
    auto pool = std::make_unique<SimulatedPool>(board, model, std::move(work), true);
    pool_ = pool.get();
    return pool;
  }

  // The first instruction of each opcode stands for all: estimates may be wrong.
  static std::vector<OnType> profile(const CellPlan& source,
                                     const std::vector<const DeviceType*>& types) {
    std::vector<OnType> profile(types.size() * source.graph.opcodes());
    for (std::size_t t = 0; t < types.size(); ++t)
      for (std::uint16_t i = source.graph.size(); i-- > 0;) {
        const Work& work = source.work[i];
        OnType& on = profile[t * source.graph.opcodes() + source.graph[i].opcode];
        on.footprint = work.footprint;
        on.sms = work.footprint.ctas != 0 ? sms_needed(*types[t], work.footprint) : 0;
        on.alone = static_cast<double>(work.floor + 1);
        on.time.start(on.alone);
        on.copy = static_cast<double>(work.output) / 10;
      }
    return profile;
  }

  void begin(const FrameStart& frame, Dice& dice) {
    simulation_->begin(frame.at, frame.id, frame.at);
    const Graph& graph = scenario_.sources[frame.id.source].graph;
    for (std::uint16_t i = 0; i < graph.size(); ++i)
      if (graph[i].feed == Feed::Arrivals)
        simulation_->arrive(frame.at + dice.below(700'000), frame.id, i, 0);
  }

  void take(const FrameEvent& event) {
    const Tick now = simulation_->now();
    backwards_ |= now < latest_;
    busy_.resize(scenario_.model.devices.size());
    for (std::uint32_t d = 0; d < busy_.size(); ++d) {
      const double busy = pool_->busy(d, now), most = scenario_.model.devices[d].type->sms;
      exceeded_ |= busy - busy_[d] > most * static_cast<double>(now - latest_) * (1 + 1e-9) + 1e-3;
      busy_[d] = busy;
    }
    latest_ = now;
    if (event.kind == Kind::Committed || event.kind == Kind::Missed) return;
    ended_.push_back(event);
    if (event.kind == Kind::Refused) return;
    runs_.clear();
    for (const InstructionStatus& status : simulation_->board(event.source).statuses(event.slot))
      runs_.push_back(status.runs);
  }

  const Scenario& scenario_;
  std::unique_ptr<Policy> policy_;
  SimulatedPool* pool_ = nullptr;
  std::unique_ptr<Simulation> simulation_;
  std::vector<FrameEvent> ended_;
  Tick latest_ = 0, end_ = 0;
  bool backwards_ = false, exceeded_ = false;
  std::vector<double> busy_;  // [device] SM·ns until latest_
  std::vector<std::uint16_t> runs_;
};

inline void expect_nothing_left(const Course& course) {
  for (std::uint32_t d = 0; d < course.scenario().model.devices.size(); ++d) {
    const auto& background = course.scenario().model.background;
    EXPECT_TRUE(course.in_use(d) == 0 || (!background.empty() && background[0].device == d));
    const auto& placement = dynamic_cast<const Placement&>(course.policy());
    EXPECT_EQ(placement.load(static_cast<std::uint16_t>(d)), 0);
    EXPECT_EQ(placement.used_sms(static_cast<std::uint16_t>(d)), 0U);
    EXPECT_EQ(course.memory(d).in_use(), 0U);
  }
}

// Devices without anything around them that takes time.
inline PoolModel bare_pool(std::uint32_t devices) {
  std::vector<FabricNode> nodes{{"host", 0, 0, 0}};
  PoolModel model;
  for (std::uint32_t d = 0; d < devices; ++d) {
    const auto node = static_cast<std::uint16_t>(nodes.size());
    model.devices.push_back({.type = find_device_type("a100"), .node = node});
    nodes.push_back({"gpu", 0, 10e9, 0});
  }
  model.fabric = *Fabric::build(nodes).fabric;
  model.host = {0, 0, 0, 0};
  return model;
}

constexpr Tick kUnit = 100 * kMicrosecond;

// Takes all SMs for so many units.
inline Work full_kernel(std::uint32_t units) {
  const DeviceType& type = *find_device_type("a100");
  Work work{.footprint = {.ctas = type.sms, .warps = 32, .registers = 64, .shared_bytes = 0},
            .floor = units * kUnit,
            .output = 1000};
  work.footprint.ctas *= ctas_per_sm(type, work.footprint);
  return work;
}

}  // namespace carillon::runtime
