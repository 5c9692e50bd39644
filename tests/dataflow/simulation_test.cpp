#include "dataflow/simulation.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.hpp"
#include "dataflow/synthetic.hpp"
#include "nbfm.hpp"

namespace carillon::dataflow {
namespace {

// Drawn by hand: two cores, (period, cost) = (4, 3), (5, 3), (6, 3). The third waits for the first
// core until 3; at 4 the first's second job has the later deadline 8 and waits for a core.
TEST(Simulation, ScheduleByHand) {
  const Workload workload{{{4, 3, 4}, {5, 3, 5}, {6, 3, 6}}, {}};
  const Simulated one = simulate(workload, {{2, true}, 1, 1, 1, 0});
  EXPECT_EQ(one.response, (std::vector<std::int64_t>{3, 3, 6}));
  EXPECT_EQ(one.events, 6U);
  const Simulated two = simulate(workload, {{2, true}, 5, 1, 1, 0});
  EXPECT_EQ(two.response, (std::vector<std::int64_t>{3, 3, 6}));
  EXPECT_EQ(two.ends[0], (std::vector<std::int64_t>{3, 7}));
}

// A long job and a short one on one core: preempted at 1, or not.
TEST(Simulation, PreemptsOnlyWhereItMay) {
  const Workload workload{{{100, 10, 100}, {5, 2, 5, 1}}, {}};
  const Simulated preemptive = simulate(workload, {{1, true}, 2, 1, 1, 0});
  EXPECT_EQ(preemptive.response, (std::vector<std::int64_t>{12, 2}));
  EXPECT_EQ(preemptive.preempted, 1U);
  const Simulated whole = simulate(workload, {{1, false}, 2, 1, 1, 0});
  EXPECT_EQ(whole.response, (std::vector<std::int64_t>{10, 11}));
  EXPECT_EQ(whole.preempted, 0U);
}

// Jobs of a task run one after another though a core is free, and are released a period apart.
TEST(Simulation, ReleasesWhatIsThereAPeriodApart) {
  const Workload workload{{{10, 1, 10}, {5, 1, 5}}, {{0, 1, 2, 1, 1}}};
  const Simulated found = simulate(workload, {{2, true}, 20, 1, 1, 0});
  EXPECT_EQ(found.ends[1], (std::vector<std::int64_t>{2, 7, 12, 17}));
  EXPECT_EQ(found.most, (std::vector<std::uint64_t>{2}));
}

// By hand: a writes samples 0 to 4 at 0. b's second execution reads samples 4 to 11, which are
// there when a's third has ended, at 2.001 ms; and it takes sample 4 away.
TEST(Simulation, ASampleIsDoneWhenTheLastWindowThatHasItIs) {
  const Graph graph({{{"a", {1000, {}}, {1000, 1}}, {"b", {1000, {}}, {}}}, {{0, 1, 5, 8, 4}}});
  const Batches batches{1, 1};
  const Timeline timeline = timeline_of(graph, batches, 100);
  const auto until = static_cast<std::int64_t>(2e7 / timeline.unit_ns);
  const Simulated found = simulate(timeline.workload, {{1, true}, until});
  const double longest =
      static_cast<double>(longest_latency(graph, batches, timeline, found)) * timeline.unit_ns;
  EXPECT_GE(longest, 2.002e6);
  EXPECT_LE(longest, latency_of(graph, batches, Machine{1, true}).bound);
}

struct DrawnSet {
  Workload workload;
  std::vector<Task> tasks;
  std::uint32_t cores;
};

// Two to twelve tasks, periods of 20 to 1000, shares of a core up to all of it.
DrawnSet draw_set(Random& random) {
  DrawnSet set;
  set.cores = 1 + static_cast<std::uint32_t>(random.next() % 6);
  const std::uint64_t count = 2 + random.next() % 11;
  double left = set.cores;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto period = static_cast<std::int64_t>(20 + random.next() % 981);
    const double share = std::min(left, random.uniform());
    const auto cost = static_cast<std::int64_t>(share * static_cast<double>(period));
    if (cost == 0) continue;
    left -= static_cast<double>(cost) / static_cast<double>(period);
    set.workload.tasks.push_back({period, cost, period});
    set.tasks.push_back({static_cast<double>(period), static_cast<double>(cost)});
  }
  return set;
}

SimulationOptions draw_options(Random& random, Machine machine, std::int64_t until) {
  SimulationOptions options{machine, until, random.next(), 1, 0};
  if (random.next() % 2 == 0) options.least_cost = 0.5;
  if (random.next() % 2 == 0) options.most_delay = 0.3;
  return options;
}

TEST(Simulation, TenThousandTaskSetsKeepTheirBounds) {
  Random random(1);
  std::uint64_t jobs = 0;
  for (int round = 0; round < 10'000; ++round) {
    const DrawnSet set = draw_set(random);
    if (set.tasks.empty()) continue;
    const Machine machine{set.cores, round % 4 != 0};
    ASSERT_TRUE(is_bounded(set.tasks, set.cores));
    const Simulated found = simulate(set.workload, draw_options(random, machine, 3000));
    std::vector<std::vector<double>> bounds{devi_anderson(set.tasks, machine)};
    if (machine.preemptive) bounds.push_back(compliant_vector(set.tasks, set.cores));
    for (const auto& bound : bounds)
      for (std::size_t i = 0; i < bound.size(); ++i)
        ASSERT_LE(static_cast<double>(found.response[i]), bound[i] + 1e-6)
            << "set " << round << " task " << i;
    jobs += found.events;
  }
  EXPECT_GT(jobs, 1'000'000U);
}

// Shares that leave cores idle most of the time, so that no response need be longer than a period.
TEST(Simulation, LightLoadsKeepTheirBounds) {
  Random random(4);
  int held = 0;
  double tightest = 0;
  for (int round = 0; held < 4000; ++round) {
    DrawnSet set;
    set.cores = 1 + static_cast<std::uint32_t>(random.next() % 4);
    for (std::uint64_t i = 2 + random.next() % 8; i > 0; --i) {
      const auto period = static_cast<std::int64_t>(100 + random.next() % 900);
      const auto cost = static_cast<std::int64_t>(1 + random.next() % 40);
      set.workload.tasks.push_back({period, cost, period});
      set.tasks.push_back({static_cast<double>(period), static_cast<double>(cost)});
    }
    const Machine machine{set.cores, round % 2 != 0};
    const std::vector<double> bounds = light_load(set.tasks, machine);
    if (bounds.empty()) continue;
    ++held;
    const Simulated found = simulate(set.workload, draw_options(random, machine, 5000));
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      const auto response = static_cast<double>(found.response[i]);
      ASSERT_LE(response, bounds[i] + 1e-6) << "set " << round << " task " << i;
      tightest = std::max(tightest, response / bounds[i]);
    }
  }
  EXPECT_GT(tightest, 0.95);
}

TEST(Bounds, OfALightLoadByHand) {
  // The second waits for one job of the third and two of the first: 2 + (3 + 1 + 1)/2.
  const std::vector<Task> tasks{{10, 1}, {20, 2}, {30, 3}};
  EXPECT_EQ(light_load(tasks, {2, false}), (std::vector<double>{3.5, 4.5, 6.0}));
  EXPECT_TRUE(light_load(std::vector<Task>{{5, 1}, {20, 2}, {30, 3}}, {2, true}).empty());
}

Batches draw_batches(Random& random, const Graph& graph) {
  Batches batches;
  const std::uint64_t all = 1 + random.next() % 6;
  for (NodeId v = 0; v < graph.size(); ++v)
    batches.push_back(random.next() % 3 == 0 ? 1 + random.next() % 8 : all);
  return batches;
}

// Times are multiplied by the cores, so that the priority points are whole.
TEST(Simulation, FairPriorityPointsKeepTheirBounds) {
  Random random(3);
  for (int round = 0; round < 1000; ++round) {
    DrawnSet set = draw_set(random);
    const std::int64_t m = set.cores;
    for (SimulatedTask& task : set.workload.tasks)
      task = {task.period * m, task.cost * m, task.period * m - (m - 1) * task.cost};
    const Simulated found =
        simulate(set.workload, draw_options(random, {set.cores, true}, 3000 * m));
    const auto bounds = compliant_vector(set.tasks, set.cores, PriorityPoint::Fair);
    for (std::size_t i = 0; i < bounds.size(); ++i)
      ASSERT_LE(static_cast<double>(found.response[i]), static_cast<double>(m) * bounds[i] + 1e-6)
          << "set " << round << " task " << i;
  }
}

void expect_kept(const Graph& graph, const Batches& batches, const Latency& bound,
                 SimulationOptions options, std::uint64_t seed) {
  const Timeline timeline = timeline_of(graph, batches);
  options.most_delay = 0;  // sources keep their rates
  options.until = static_cast<std::int64_t>(4e5 / timeline.unit_ns);
  const Simulated found = simulate(timeline.workload, options);
  for (NodeId v = 0; v < graph.size(); ++v)
    ASSERT_LE(static_cast<double>(found.response[v]) * timeline.unit_ns,
              bound.responses[v] * (1 + 1e-9) + timeline.unit_ns)
        << "seed " << seed << " node " << v;
  for (EdgeId e = 0; e < graph.edges().size(); ++e)
    ASSERT_LE(found.most[e], bound.buffers[e]) << "seed " << seed << " edge " << e;
  ASSERT_LE(
      static_cast<double>(longest_latency(graph, batches, timeline, found)) * timeline.unit_ns,
      bound.bound * (1 + 1e-9) + timeline.unit_ns)
      << "seed " << seed;
}

SyntheticRanges small_graphs() {
  SyntheticRanges ranges;
  ranges.least_nodes = 2;
  ranges.most_nodes = 12;
  ranges.least_period_ns = 1'000;
  ranges.most_period_ns = 3'000;
  ranges.least_initial_ns = 500;
  ranges.interpolates = 0.15;
  ranges.peeks = 0.2;
  return ranges;
}

TEST(Simulation, TwoThousandGraphsKeepTheirBoundsAndBuffers) {
  Random random(2);
  int held = 0;
  for (std::uint64_t seed = 0; held < 2000; ++seed) {
    GraphSpec spec = synthetic_graph(seed, small_graphs());
    for (Node& node : spec.nodes) node.cost.initial = 200 + 1500 * random.uniform();
    const Graph graph(spec);
    const Batches batches = draw_batches(random, graph);
    const double needed = utilization(tasks_of(graph, batches));
    const Machine machine{static_cast<std::uint32_t>(std::ceil(needed)), seed % 4 != 0};
    if (!unbounded(graph, batches, machine).empty()) continue;
    ++held;
    expect_kept(graph, batches, latency_of(graph, batches, machine),
                draw_options(random, machine, 0), seed);
  }
}

TEST(Simulation, LightlyLoadedGraphsKeepTheirBoundsAndBuffers) {
  Random random(6);
  int held = 0;
  for (std::uint64_t seed = 0; held < 500; ++seed) {
    GraphSpec spec = synthetic_graph(seed, small_graphs());
    for (Node& node : spec.nodes) node.cost = {5 + 200 * random.uniform(), {}};
    const Graph graph(spec);
    const Batches batches = draw_batches(random, graph);
    const Machine machine{1 + static_cast<std::uint32_t>(random.next() % 3), seed % 4 == 0};
    const std::vector<double> responses = light_load(tasks_of(graph, batches), machine);
    if (responses.empty()) continue;
    ++held;
    expect_kept(graph, batches, latency_of(graph, batches, responses),
                draw_options(random, machine, 0), seed);
  }
}

}  // namespace
}  // namespace carillon::dataflow
