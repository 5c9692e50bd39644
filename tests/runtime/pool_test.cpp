// The policies for a pool of devices: what must hold whatever the graphs, the pool, the arrivals
// and the faults, checked from the log of executions and the frames' events alone.
#include <algorithm>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/pool_scenario.hpp"
#include "support/test.hpp"
#include "support/watched.hpp"

namespace carillon::runtime {
namespace {

using FrameKey = std::pair<std::uint16_t, std::uint64_t>;
std::map<FrameKey, std::vector<Execution>> by_frame(std::span<const Execution> log) {
  std::map<FrameKey, std::vector<Execution>> frames;
  for (const Execution& each : log) frames[{each.what.source, each.what.frame}].push_back(each);
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

// Every execution begins when each of its waits_for has ended there, and the device has not died
// since, or elsewhere so long before that it could be copied.
void expect_operands(const Course& course) {
  const PoolModel& model = course.scenario().model;
  for (const auto& [key, executions] : by_frame(course.log())) {
    const CellPlan& source = course.scenario().sources[key.first];
    for (const Execution& each : executions)
      for (const std::uint16_t needed : source.graph[each.what.instruction].waits_for) {
        const auto is_there = [&](const Execution& other) {
          if (other.what.instruction != needed || other.end > each.start) return false;
          if (other.device == each.device && !dies(model, each.device, other.end, each.start))
            return true;
          return copy_time(model, other.device, each.device, source.work[needed].output) <=
                 each.start - other.end;
        };
        EXPECT_TRUE(std::any_of(executions.begin(), executions.end(), is_there))
            << "instruction " << each.what.instruction << " of frame " << each.what.frame
            << " began without its operand " << needed;
      }
  }
}

// A queue runs one kernel at a time, but for the one of streams of one kernel each.
void expect_limits(const Course& course) {
  std::map<std::pair<std::uint32_t, std::uint16_t>, Tick> free_at;
  std::vector<Execution> log(course.log().begin(), course.log().end());
  std::stable_sort(log.begin(), log.end(),
                   [](const Execution& a, const Execution& b) { return a.start < b.start; });
  for (const Execution& each : log) {
    const CellPlan& source = course.scenario().sources[each.what.source];
    if (source.work[each.what.instruction].footprint.ctas == 0) continue;
    EXPECT_GT(each.end, each.start);
    if (each.queue + 2U == course.scenario().model.devices[each.device].queues) continue;
    Tick& free = free_at[{each.device, each.queue}];
    EXPECT_GE(each.start, free);
    free = each.end;
  }
}

void expect_ends(const Course& course) {
  std::map<FrameKey, int> ends;
  for (const FrameEvent& event : course.ended()) ++ends[{event.source, event.frame}];
  EXPECT_EQ(ends.size(), course.scenario().frames.size());
  for (const auto& [key, count] : ends) EXPECT_EQ(count, 1);
  const auto frames = by_frame(course.log());
  for (const FrameEvent& event : course.ended()) {
    if (event.kind != Kind::Done) continue;
    std::vector<int> times(course.scenario().sources[event.source].graph.size());
    for (const Execution& each : frames.at({event.source, event.frame}))
      ++times[each.what.instruction];
    for (const int count : times) {
      EXPECT_GE(count, 1);
      EXPECT_TRUE(count == 1 || !course.scenario().model.faults.empty());
    }
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
      if (test::left_out(seed)) continue;
      const Scenario scenario = random_scenario(seed, stress);
      const Course course(scenario, policy);
      expect_operands(course);
      expect_limits(course);
      expect_ends(course);
      expect_nothing_left(course);
      EXPECT_FALSE(course.backwards());
      EXPECT_FALSE(course.exceeded());
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

// What a later symbol does before it needs the combiner does not wait behind the combiner's parts.
TEST(Pool, PartsOfAStageKeepNobodyElseWaiting) {
  GraphBuilder builder;
  const Work load{.moved = 1, .output = 1};
  Work kernel = full_kernel(1);
  kernel.footprint.ctas = 1;
  std::vector<Work> work{load};
  builder.add({.opcode = 0, .step = 0});
  for (std::uint16_t part = 1; part <= 4; ++part) {
    builder.add({.opcode = 1, .step = 0});
    builder.depend(0, part);
    work.push_back(kernel);
  }
  for (std::uint16_t step = 1; step <= 4; ++step) {
    const std::uint16_t first = builder.add({.opcode = 0, .step = step});
    const std::uint16_t encode = builder.add({.opcode = 2, .step = step});
    const std::uint16_t precode = builder.add({.opcode = 3, .step = step});
    builder.depend(first, encode);
    builder.depend(encode, precode);
    for (std::uint16_t part = 1; part <= 4; ++part) builder.depend(part, precode);
    work.insert(work.end(), {load, kernel, kernel});
  }
  Scenario scenario;
  scenario.sources.push_back({std::move(*builder.build().graph), std::move(work)});
  scenario.model = bare_pool(1);
  scenario.frames = {{0, {0, 0}}};
  const Course course(scenario, "adaptive");
  EXPECT_EQ(course.count(Kind::Done), 1U);
  for (const Execution& each : course.log())
    if (scenario.sources[0].graph[each.what.instruction].opcode == 2) {
      EXPECT_LT(each.start, kUnit);
    }
}

// So many symbols, each of a kernel that takes ten units of one SM.
CellPlan symbols(std::uint16_t count) {
  GraphBuilder builder;
  std::vector<Work> work;
  Work kernel = full_kernel(10);
  kernel.footprint.ctas = 1;
  for (std::uint16_t step = 0; step < count; ++step) {
    const std::uint16_t load = builder.add({.opcode = 0, .step = step});
    builder.depend(load, builder.add({.opcode = 1, .step = step}));
    work.insert(work.end(), {{.moved = 1, .output = 1}, kernel});
  }
  return {std::move(*builder.build().graph), std::move(work)};
}

// Streams are counted by source, place in the ring and symbol, however many symbols sources have.
TEST(Pool, CellsOfOtherLengthsShareNoStream) {
  for (const std::string_view policy : {"symbol-level", "adaptive"}) {
    Scenario scenario;
    scenario.ring = 2;
    scenario.sources.push_back(symbols(3));
    scenario.sources.push_back(symbols(2));
    scenario.model = bare_pool(1);
    scenario.frames = {{0, {0, 0}}, {0, {1, 0}}, {kUnit, {0, 1}}};
    const Course course(scenario, policy);
    EXPECT_EQ(course.count(Kind::Done), 3U);
    for (const Execution& each : course.log()) EXPECT_LT(each.start, 2 * kUnit) << policy;
  }
}

TEST(Pool, BackgroundKernelsDoNotKeepASimulationGoing) {
  check({.background = true}, 10, true);
  check({.deadline = 900 * kMicrosecond, .faults = true, .background = true}, 30, false);
}

struct Job {
  std::uint32_t units, due;
};

// A frame for each job, each of a source of its own, all there at once.
Scenario jobs_of(const std::vector<Job>& jobs) {
  Scenario scenario;
  scenario.model = bare_pool(1);
  for (const Job& job : jobs) {
    GraphBuilder builder;
    const Tick deadline = job.due * kUnit + kMicrosecond;
    builder.add({.deadline = deadline});
    builder.add({.opcode = 1, .deadline = deadline});
    builder.depend(0, 1);
    scenario.frames.push_back({0, {0, static_cast<std::uint16_t>(scenario.sources.size())}});
    scenario.sources.push_back(
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
  std::vector<Job> jobs(dice.between(2, 8));
  for (Job& job : jobs) {
    job.units = dice.between(1, longest);
    job.due = job.units + dice.below(jobs.size() * (longest + 1) / 2);
  }
  return jobs;
}

// A stage in two parts, which has a device each where no other source wants its share.
CellPlan two_parts() {
  GraphBuilder builder;
  const Work load{.moved = 1, .output = 1};
  builder.add({.opcode = 0, .step = 0});
  for (int part = 0; part < 2; ++part) builder.depend(0, builder.add({.opcode = 1, .step = 0}));
  builder.add({.opcode = 0, .step = 1});
  builder.add({.opcode = 2, .step = 1});
  for (std::uint16_t needed = 1; needed <= 3; ++needed) builder.depend(needed, 4);
  return {std::move(*builder.build().graph),
          {load, full_kernel(2), full_kernel(2), load, full_kernel(1)}};
}

// A source that sends a frame every millisecond leaves the other one device; but not for ever.
TEST(Pool, ACellThatHasGoneSilentHasNoShare) {
  for (const Tick begin : {3 * kMillisecond + kUnit, kSecond}) {
    Scenario scenario;
    for (int c = 0; c < 2; ++c) scenario.sources.push_back(two_parts());
    scenario.model = bare_pool(2);
    for (std::uint32_t f = 0; f < 4; ++f) scenario.frames.push_back({f * kMillisecond, {f, 1}});
    scenario.frames.push_back({begin + kMillisecond / 2, {0, 0}});
    const Course course(scenario, "adaptive");
    std::set<std::uint32_t> devices;
    for (const Execution& each : course.log())
      if (each.what.source == 0 && scenario.sources[0].graph[each.what.instruction].opcode == 1)
        devices.insert(each.device);
    EXPECT_EQ(devices.size(), begin == kSecond ? 2U : 1U);
  }
}

// However late adaptive expects a frame: alone it runs, lest wrong forecasts stay for ever. Beside
// another it does not.
TEST(Pool, AFrameThatHasThePoolToItselfIsNotRefused) {
  Scenario scenario = jobs_of({{10, 1}, {10, 1}, {10, 1}});
  scenario.frames[2].at = 60 * kUnit;
  const Course course(scenario, "adaptive");
  EXPECT_EQ(course.count(Kind::Refused), 1U);
  EXPECT_EQ(course.count(Kind::Dropped), 2U);
  for (const FrameEvent& event : course.ended())
    EXPECT_TRUE(event.kind != Kind::Refused || event.source == 1);
  expect_nothing_left(course);
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

}  // namespace
}  // namespace carillon::runtime
