// The policies for a pool of devices: what must hold whatever the graphs, the pool, the arrivals
// and the faults, checked from the log of executions and the frames' events alone.
#include <algorithm>
#include <bit>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "runtime/executors/simulated_pool.hpp"
#include "runtime/policies/pool/pool_policies.hpp"
#include "runtime/simulation.hpp"
#include "support/test.hpp"

namespace carillon::runtime {
namespace {

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
  std::vector<CellPlan> cells;
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

Work random_kernel(Dice& dice) {
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

// What has no sources is a transfer from the host, some of what nobody reads one to it; the rest
// are kernels, of several sources each.
CellPlan random_cell(Dice& dice, Tick deadline) {
  GraphBuilder builder;
  CellPlan cell;
  const std::uint32_t size = dice.between(5, 30);
  std::vector<bool> read(size);
  std::vector<std::pair<std::uint16_t, std::uint16_t>> edges;
  for (std::uint16_t i = 0; i < size; ++i) {
    const std::uint32_t sources = i < 2 || dice.chance(0.25) ? 0 : dice.between(1, 3);
    for (std::uint32_t s = 0; s < sources; ++s) {
      edges.emplace_back(dice.below(i), i);
      read[edges.back().first] = true;
    }
    const bool fed = sources == 0 && dice.chance(0.6);
    builder.add({.opcode = static_cast<std::uint16_t>(dice.below(kOpcodes)),
                 .step = static_cast<std::uint16_t>(dice.below(6)),
                 .feed = fed ? Feed::Arrivals : Feed::Commits,
                 .notify = dice.chance(0.3),
                 .release = sources == 0 && dice.chance(0.5) ? dice.below(500'000) : kAlways,
                 .deadline = deadline});
    cell.work.push_back(sources != 0 ? random_kernel(dice)
                                     : Work{.moved = dice.below(500'000), .output = 1000});
  }
  for (const auto& [from, to] : edges) builder.depend(from, to);
  for (std::uint16_t i = 0; i < size; ++i)
    if (!read[i] && cell.work[i].footprint.ctas != 0 && dice.chance(0.5))
      cell.work[i] = {.moved = dice.below(500'000)};
  cell.graph = std::move(*builder.build().graph);
  return cell;
}

PoolModel random_pool(Dice& dice) {
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
void add_faults(Dice& dice, Tick until, PoolModel& model) {
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

Scenario random_scenario(std::uint64_t seed, const Stress& stress) {
  Dice dice(seed);
  Scenario scenario;
  scenario.seed = seed;
  scenario.ring = dice.between(1, 6);
  for (std::uint32_t c = dice.between(1, 3); c > 0; --c)
    scenario.cells.push_back(random_cell(dice, stress.deadline));
  scenario.model = random_pool(dice);
  scenario.model.seed = seed;
  Tick at = 0;
  for (std::uint32_t f = 0; f < 20; ++f) {
    for (std::uint16_t c = 0; c < scenario.cells.size(); ++c)
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
  Course(const Scenario& scenario, std::string_view policy, const Lroc::Options& lroc = {})
      : scenario_(scenario), policy_(make_pool_policy(policy, lroc)) {
    std::vector<Simulation::Cell> cells;
    for (const CellPlan& cell : scenario.cells)
      cells.push_back({cell.graph, scenario.ring, {}, {}});
    simulation_ = std::make_unique<Simulation>(
        cells, *policy_, static_cast<std::uint32_t>(scenario.model.devices.size()),
        [&](Scoreboard& board, std::span<const Arrivals>) { return make_pool(board); });
    simulation_->watch([this](const FrameEvent& event) { take(event); });
    Dice dice(scenario.seed + 1);
    for (const FrameStart& frame : scenario.frames) begin(frame, dice);
    simulation_->run();
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
  std::unique_ptr<SimulatedPool> make_pool(Scoreboard& board) {
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
    for (std::uint16_t c = 0; c < scenario_.cells.size(); ++c) {
      work.push_back(scenario_.cells[c].work);
      board[c].set_profile(profile(scenario_.cells[c], types), 1e6);
    }
    auto pool = std::make_unique<SimulatedPool>(board, model, std::move(work), true);
    pool_ = pool.get();
    return pool;
  }

  // The first instruction of each opcode stands for all: estimates may be wrong.
  static std::vector<OnType> profile(const CellPlan& cell,
                                     const std::vector<const DeviceType*>& types) {
    std::vector<OnType> profile(types.size() * cell.graph.opcodes());
    for (std::size_t t = 0; t < types.size(); ++t)
      for (std::uint16_t i = cell.graph.size(); i-- > 0;) {
        const Work& work = cell.work[i];
        OnType& on = profile[t * cell.graph.opcodes() + cell.graph[i].opcode];
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
    const Graph& graph = scenario_.cells[frame.id.cell].graph;
    for (std::uint16_t i = 0; i < graph.size(); ++i)
      if (graph[i].feed == Feed::Arrivals)
        simulation_->arrive(frame.at + dice.below(700'000), frame.id, i, 0);
  }

  void take(const FrameEvent& event) {
    backwards_ |= simulation_->now() < latest_;
    latest_ = simulation_->now();
    if (event.kind == Kind::Committed || event.kind == Kind::Missed) return;
    ended_.push_back(event);
    if (event.kind == Kind::Refused) return;
    runs_.clear();
    for (const InstructionStatus& status : simulation_->board(event.cell).statuses(event.slot))
      runs_.push_back(status.runs);
  }

  const Scenario& scenario_;
  std::unique_ptr<Policy> policy_;
  SimulatedPool* pool_ = nullptr;
  std::unique_ptr<Simulation> simulation_;
  std::vector<FrameEvent> ended_;
  Tick latest_ = 0, end_ = 0;
  bool backwards_ = false;
  std::vector<std::uint16_t> runs_;
};

using FrameKey = std::pair<std::uint16_t, std::uint64_t>;
std::map<FrameKey, std::vector<Execution>> by_frame(std::span<const Execution> log) {
  std::map<FrameKey, std::vector<Execution>> frames;
  for (const Execution& each : log) frames[{each.what.cell, each.what.frame}].push_back(each);
  return frames;
}

// For sure: one that hangs may be given up or not.
bool dies(const PoolModel& model, std::uint32_t device, Tick after, Tick until) {
  return std::any_of(model.faults.begin(), model.faults.end(), [&](const Fault& fault) {
    return fault.kind == Fault::Kind::Lost && fault.device == device && fault.at >= after &&
           fault.at < until;
  });
}

// The shortest time in which a result could have come from one device to another; after its own
// device has died, by way of a third.
Tick copy_time(const PoolModel& model, std::uint32_t from, std::uint32_t to, std::uint64_t bytes) {
  Fabric idle = model.fabric;
  const auto node = [&](std::uint32_t device) { return model.devices[device].node; };
  if (from != to) return idle.transfer(node(from), node(to), bytes, 0);
  Tick shortest = kNever;
  for (std::uint32_t other = 0; other < model.devices.size(); ++other)
    if (other != from) {
      Fabric there = model.fabric, back = model.fabric;
      shortest = std::min(shortest, there.transfer(node(from), node(other), bytes, 0) +
                                        back.transfer(node(other), node(from), bytes, 0));
    }
  return shortest;
}

// Every execution begins when each of its sources has ended there, and the device has not died
// since, or elsewhere so long before that it could be copied.
void expect_operands(const Course& course) {
  const PoolModel& model = course.scenario().model;
  for (const auto& [key, executions] : by_frame(course.log())) {
    const CellPlan& cell = course.scenario().cells[key.first];
    for (const Execution& each : executions)
      for (const std::uint16_t source : cell.graph[each.what.instruction].sources) {
        const auto is_there = [&](const Execution& other) {
          if (other.what.instruction != source || other.end > each.start) return false;
          if (other.device == each.device && !dies(model, each.device, other.end, each.start))
            return true;
          return copy_time(model, other.device, each.device, cell.work[source].output) <=
                 each.start - other.end;
        };
        EXPECT_TRUE(std::any_of(executions.begin(), executions.end(), is_there))
            << "instruction " << each.what.instruction << " of frame " << each.what.frame
            << " began without its operand " << source;
      }
  }
}

// A queue runs one kernel at a time, a device no more SM time than its SMs have.
void expect_limits(const Course& course) {
  std::map<std::pair<std::uint32_t, std::uint16_t>, Tick> free_at;
  std::vector<Execution> log(course.log().begin(), course.log().end());
  std::stable_sort(log.begin(), log.end(),
                   [](const Execution& a, const Execution& b) { return a.start < b.start; });
  for (const Execution& each : log) {
    const CellPlan& cell = course.scenario().cells[each.what.cell];
    if (cell.work[each.what.instruction].footprint.ctas == 0) continue;
    Tick& free = free_at[{each.device, each.queue}];
    EXPECT_GE(each.start, free);
    EXPECT_GT(each.end, each.start);
    free = each.end;
  }
}

void expect_ends(const Course& course) {
  std::map<FrameKey, int> ends;
  for (const FrameEvent& event : course.ended()) ++ends[{event.cell, event.frame}];
  EXPECT_EQ(ends.size(), course.scenario().frames.size());
  for (const auto& [key, count] : ends) EXPECT_EQ(count, 1);
  const auto frames = by_frame(course.log());
  for (const FrameEvent& event : course.ended()) {
    if (event.kind != Kind::Done) continue;
    std::vector<int> times(course.scenario().cells[event.cell].graph.size());
    for (const Execution& each : frames.at({event.cell, event.frame}))
      ++times[each.what.instruction];
    for (const int count : times) {
      EXPECT_GE(count, 1);
      EXPECT_TRUE(count == 1 || !course.scenario().model.faults.empty());
    }
  }
}

void expect_nothing_left(const Course& course) {
  for (std::uint32_t d = 0; d < course.scenario().model.devices.size(); ++d) {
    const auto& background = course.scenario().model.background;
    EXPECT_TRUE(course.in_use(d) == 0 || (!background.empty() && background[0].device == d));
    const auto& placement = dynamic_cast<const Placement&>(course.policy());
    EXPECT_EQ(placement.load(static_cast<std::uint16_t>(d)), 0);
    EXPECT_EQ(placement.used_sms(static_cast<std::uint16_t>(d)), 0U);
    EXPECT_EQ(course.memory(d).in_use(), 0U);
  }
}

bool same(const Course& a, const Course& b) {
  return std::equal(a.log().begin(), a.log().end(), b.log().begin(), b.log().end(),
                    [](const Execution& x, const Execution& y) {
                      return x.what == y.what && x.device == y.device && x.start == y.start &&
                             x.end == y.end && x.queue == y.queue;
                    });
}

void check(const Stress& stress, std::uint64_t seeds, bool all_done) {
  for (const std::string_view policy : pool_policy_names())
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      const Scenario scenario = random_scenario(seed, stress);
      const Course course(scenario, policy);
      expect_operands(course);
      expect_limits(course);
      expect_ends(course);
      expect_nothing_left(course);
      EXPECT_FALSE(course.backwards());
      EXPECT_TRUE(!all_done || course.count(Kind::Dropped) == 0) << policy << " seed " << seed;
      EXPECT_TRUE(seed % 8 != 0 || same(course, Course(scenario, policy)));
    }
}

TEST(Pool, WhatIsAdmittedIsDoneInOrderAndLeavesNothing) { check({}, 100, true); }

TEST(Pool, UnderOverloadEveryFrameEndsOnce) { check({.deadline = 600 * kMicrosecond}, 100, false); }

TEST(Pool, NoFrameThatHasTimeIsLostWhateverDies) { check({.faults = true}, 100, true); }

TEST(Pool, FaultsUnderOverloadLeaveNothing) {
  check({.deadline = 900 * kMicrosecond, .faults = true}, 100, false);
}

TEST(Pool, BackgroundKernelsDoNotKeepASimulationGoing) {
  check({.background = true}, 10, true);
  check({.deadline = 900 * kMicrosecond, .faults = true, .background = true}, 30, false);
}

// Devices without anything around them that takes time.
PoolModel bare_pool(std::uint32_t devices) {
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
Work full_kernel(std::uint32_t units) {
  const DeviceType& type = *find_device_type("a100");
  Work work{.footprint = {.ctas = type.sms, .warps = 32, .registers = 64, .shared_bytes = 0},
            .floor = units * kUnit,
            .output = 1000};
  work.footprint.ctas *= ctas_per_sm(type, work.footprint);
  return work;
}

struct Job {
  std::uint32_t units, due;
};

// A frame for each job, each of a cell of its own, all there at once.
Scenario jobs_of(const std::vector<Job>& jobs) {
  Scenario scenario;
  scenario.model = bare_pool(1);
  for (const Job& job : jobs) {
    GraphBuilder builder;
    const Tick deadline = job.due * kUnit + kMicrosecond;
    builder.add({.deadline = deadline});
    builder.add({.opcode = 1, .deadline = deadline});
    builder.depend(0, 1);
    scenario.frames.push_back({0, {0, static_cast<std::uint16_t>(scenario.cells.size())}});
    scenario.cells.push_back(
        {std::move(*builder.build().graph), {Work{.output = 1}, full_kernel(job.units)}});
  }
  return scenario;
}

// How many of the jobs can be in time: the most of any order in which they could run.
std::size_t most_in_time(std::vector<Job> jobs) {
  std::vector<std::size_t> order(jobs.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::size_t most = 0;
  do {
    std::uint32_t time = 0;
    std::size_t in_time = 0;
    for (const std::size_t i : order) {
      if (time + jobs[i].units > jobs[i].due) continue;  // left out
      time += jobs[i].units;
      ++in_time;
    }
    most = std::max(most, in_time);
  } while (most < jobs.size() && std::next_permutation(order.begin(), order.end()));
  return most;
}

std::vector<Job> random_jobs(Dice& dice, std::uint32_t longest) {
  std::vector<Job> jobs(dice.between(2, longest == 1 ? 8 : 6));
  for (Job& job : jobs) {
    job.units = dice.between(1, longest);
    job.due = job.units + dice.below(jobs.size() * (longest + 1) / 2);
  }
  return jobs;
}

// With all of them urgent from the start, LROC is least slack first.
TEST(Pool, LeastSlackMeetsEveryFeasibleSetOfEqualJobs) {
  std::size_t feasible = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Dice dice(seed);
    const std::vector<Job> jobs = random_jobs(dice, 1);
    if (most_in_time(jobs) < jobs.size()) continue;
    ++feasible;
    const Scenario scenario = jobs_of(jobs);
    EXPECT_EQ(Course(scenario, "scoreboard", {.urgent = kLong}).count(Kind::Done), jobs.size());
  }
  EXPECT_GT(feasible, 50U);
}

// For jobs of any length no order that does not look ahead is the best. What each loses is printed.
TEST(Pool, TheGapToTheBestOrderIsKnown) {
  std::size_t best = 0;
  std::map<std::string, std::size_t> in_time;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Dice dice(seed);
    const std::vector<Job> jobs = random_jobs(dice, 5);
    const Scenario scenario = jobs_of(jobs);
    const std::size_t most = most_in_time(jobs);
    best += most;
    const auto note = [&](const std::string& name, std::string_view policy, Tick urgent) {
      const std::size_t done = Course(scenario, policy, {.urgent = urgent}).count(Kind::Done);
      EXPECT_LE(done, most);
      in_time[name] += done;
    };
    note("least slack", "scoreboard", kLong);
    for (const std::string_view policy : pool_policy_names())
      note(std::string(policy), policy, Lroc::Options{}.urgent);
  }
  for (const auto& [name, done] : in_time) {
    std::cout << "  " << name << ": " << done << " of " << best << " jobs that could be in time\n";
    EXPECT_GT(done, best / 2);
  }
}

// A symbol each of pilots and of data: Load → ZeroForce, which two data symbols read.
Scenario two_symbols(std::uint32_t first, std::uint32_t second) {
  GraphBuilder builder;
  builder.add({.opcode = 0, .step = 0});
  builder.add({.opcode = 1, .step = 0});
  builder.add({.opcode = 0, .step = 1});
  builder.add({.opcode = 2, .step = 1});
  builder.add({.opcode = 0, .step = 2});
  builder.add({.opcode = 2, .step = 2});
  const std::pair<std::uint16_t, std::uint16_t> edges[] = {{0, 1}, {1, 3}, {2, 3}, {1, 5}, {4, 5}};
  for (const auto& [from, to] : edges) builder.depend(from, to);
  const Work load{.moved = 1, .output = 1};
  Scenario scenario;
  scenario.cells.push_back(
      {std::move(*builder.build().graph),
       {load, full_kernel(1), load, full_kernel(first), load, full_kernel(second)}});
  scenario.model = bare_pool(2);
  scenario.frames = {{0, {0, 0}}};
  return scenario;
}

// symbol-level puts the first symbol where the pilots are, the second on the other device.
TEST(Pool, OnlyWhatIsNowhereElseRunsAgain) {
  struct Expected {
    std::uint32_t first, second;
    std::uint16_t dies;
    std::vector<std::uint16_t> runs;
  };
  const Expected cases[] = {
      // ZeroForce was copied to the second device: only the first symbol is lost.
      {10, 10, 0, {0, 0, 1, 1, 0, 0}},
      // It is still on the first: only the second symbol is lost.
      {10, 10, 1, {0, 0, 0, 0, 1, 1}},
      // The first symbol is done, and the second has its copy.
      {1, 10, 0, {0, 0, 0, 0, 0, 0}},
  };
  for (const Expected& expected : cases) {
    Scenario scenario = two_symbols(expected.first, expected.second);
    scenario.model.faults = {{5 * kUnit, expected.dies, Fault::Kind::Lost, kUnit / 10}};
    const Course course(scenario, "symbol-level");
    EXPECT_EQ(course.count(Kind::Done), 1U);
    EXPECT_TRUE(course.runs() == expected.runs) << "device " << expected.dies;
  }
}

TEST(Pool, WhatDiedWithItsOnlyDeviceRunsAgainWhenThatIsBack) {
  for (const std::string_view policy : pool_policy_names()) {
    Scenario scenario = two_symbols(10, 10);
    scenario.model.devices.resize(1);
    scenario.model.faults = {{5 * kUnit, 0, Fault::Kind::Lost, kUnit},
                             {8 * kUnit, 0, Fault::Kind::Back, 0}};
    const Course course(scenario, policy);
    EXPECT_EQ(course.count(Kind::Done), 1U) << policy;
    EXPECT_EQ(course.runs()[1], 1U) << policy;  // both symbols still read it
    EXPECT_GE(course.simulation().now(), 8 * kUnit + 21 * kUnit) << policy;
  }
}

// A device that stands still for a unit, and is waited for, costs a unit and nothing else; one that
// is given up costs what was on it.
TEST(Pool, AHungDeviceGoesOnUnlessItIsGivenUp) {
  for (const std::string_view policy : pool_policy_names()) {
    const auto one_device = [](std::vector<Fault> faults) {
      Scenario scenario = two_symbols(10, 10);
      scenario.model.devices.resize(1);
      scenario.model.faults = std::move(faults);
      return scenario;
    };
    const Fault back{6 * kUnit, 0, Fault::Kind::Back, 0};
    const Scenario whole = one_device({});
    const Scenario waited = one_device({{5 * kUnit, 0, Fault::Kind::Hung, 2 * kUnit}, back});
    const Scenario lost = one_device({{5 * kUnit, 0, Fault::Kind::Hung, kUnit / 2}, back});
    const Tick without = Course(whole, policy).simulation().now();
    const Course patient(waited, policy), impatient(lost, policy);
    EXPECT_EQ(patient.count(Kind::Done), 1U) << policy;
    EXPECT_EQ(patient.simulation().now(), without + kUnit) << policy;
    EXPECT_EQ(patient.runs()[1] + patient.runs()[3] + patient.runs()[5], 0) << policy;
    EXPECT_EQ(impatient.count(Kind::Done), 1U) << policy;
    EXPECT_EQ(impatient.runs()[1], 1U) << policy;
    EXPECT_GE(impatient.simulation().now(), 6 * kUnit + 21 * kUnit) << policy;
  }
}

// Nobody misses a device that hangs while nothing is asked of it.
TEST(Pool, AnIdleDeviceThatHangsIsNotGivenUp) {
  Scenario scenario = two_symbols(1, 1);
  scenario.frames = {{10 * kUnit, {0, 0}}};
  scenario.model.faults = {{kUnit, 0, Fault::Kind::Hung, kUnit},
                           {9 * kUnit, 0, Fault::Kind::Back, 0}};
  const Course course(scenario, "frame-level");
  EXPECT_EQ(course.count(Kind::Done), 1U);
  for (const Execution& each : course.log()) EXPECT_EQ(each.device, 0U);
}

// A frame of two_symbols holds 512 bytes of loads and 3 KiB of results on each device.
TEST(Pool, WithoutMemoryAFrameIsRefusedAndLeavesTheOthersAlone) {
  for (const std::string_view policy : pool_policy_names()) {
    Scenario scenario = two_symbols(10, 10);
    scenario.ring = 4;
    scenario.frames = {{0, {0, 0}}, {0, {1, 0}}, {0, {2, 0}}, {60 * kUnit, {3, 0}}};
    for (PoolDevice& device : scenario.model.devices) device.memory = 8 * 1024;
    const Course course(scenario, policy);
    EXPECT_EQ(course.count(Kind::Done), 3U) << policy;
    EXPECT_EQ(course.count(Kind::Refused), 1U) << policy;
    for (const FrameEvent& event : course.ended())
      EXPECT_TRUE(event.kind != Kind::Refused || (event.why == Reason::Memory && event.frame == 2));
    expect_nothing_left(course);
  }
}

TEST(Pool, ADeviceThatIsBackIsUsedAgain) {
  for (const std::string_view policy : pool_policy_names()) {
    Scenario scenario = two_symbols(3, 3);
    scenario.frames.clear();
    for (std::uint32_t f = 0; f < 20; ++f) scenario.frames.push_back({f * 4 * kUnit, {f, 0}});
    scenario.ring = 20;
    const Tick back = 40 * kUnit;
    scenario.model.faults = {{4 * kUnit, 1, Fault::Kind::Lost, 0}, {back, 1, Fault::Kind::Back, 0}};
    const Course course(scenario, policy);
    EXPECT_EQ(course.count(Kind::Done), 20U) << policy;
    bool used = false;
    for (const Execution& each : course.log()) {
      EXPECT_FALSE(each.device == 1 && each.end > 4 * kUnit && each.start < back) << policy;
      used |= each.device == 1 && each.start >= back && each.start < back + 6 * kUnit;
    }
    EXPECT_TRUE(used) << policy;
  }
}

}  // namespace
}  // namespace carillon::runtime
