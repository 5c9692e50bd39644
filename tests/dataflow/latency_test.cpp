#include "dataflow/latency.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "nbfm.hpp"

namespace carillon::dataflow {
namespace {

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// I = 100, Δ = 1, period 300: two samples a job, then six.
TEST(Latency, UtilizationOfThePublishedExample) {
  const Cost cost{100, {{1, 1}}};
  EXPECT_NEAR(cost.of(2) / 300, 0.340, 0.0005);
  EXPECT_NEAR(cost.of(6) / 900, 0.118, 0.0005);
}

struct Row {
  std::uint64_t source, rest;
  double utilization, devi_anderson_us, compliant_us;
};

// The narrowband FM receiver on two cores: uniform batches of 2 and 5, rate-exploiting ones of 1, 5
// and a millisecond.
TEST(Latency, BoundsOfTheCaseStudy) {
  const Graph graph(nbfm());
  const Machine two{2, true};
  for (const Row row :
       {Row{2, 2, 1.40, 333, 314}, Row{5, 1, 1.78, 200, 182}, Row{5, 5, 0.56, 783, 660},
        Row{25, 5, 0.36, 867, 249}, Row{240, 48, 0.04, 8035, 1153}}) {
    Batches batches(7, row.rest);
    batches[0] = row.source;
    EXPECT_EQ(unbounded(graph, batches, two), "");
    const std::vector<Task> tasks = tasks_of(graph, batches);
    const Latency both = latency_of(graph, batches, two);
    EXPECT_NEAR(both.utilization, row.utilization, 0.005);
    EXPECT_NEAR(latency_of(graph, batches, devi_anderson(tasks, two)).bound / 1e3,
                row.devi_anderson_us, 1);
    EXPECT_NEAR(latency_of(graph, batches, compliant_vector(tasks, 2)).bound / 1e3,
                row.compliant_us, 1);
    EXPECT_LE(both.bound / 1e3, row.compliant_us + 1);
    const std::uint64_t samples = samples_to_first_output(graph, batches);
    EXPECT_EQ(samples, std::max(row.source, 5 * row.rest));
    EXPECT_NEAR(both.filling, static_cast<double>(samples - 1) * graph.period(0), 1e-6);
    EXPECT_NEAR(both.responding, sum(both.responses), 1e-6);
    EXPECT_EQ(both.critical.size(), 7U);
  }
  EXPECT_EQ(unbounded(graph, Batches(7, 1), two),
            "node rotator needs 1.27 cores in batches of 1, and a node runs on one at a time");
  EXPECT_EQ(unbounded(graph, {5, 1, 1, 1, 1, 1, 1}, {1, true}),
            "all nodes need 1.78 cores, and there are 1");
}

// By hand: three nodes, two cores, all costs 1 and periods 2, so that Λ = 1.
TEST(Latency, ResponseBoundsByHand) {
  const std::vector<Task> tasks(3, Task{2, 1});
  EXPECT_EQ(devi_anderson(tasks, {2, true}), std::vector<double>(3, 3.0));  // x = (1 - 1)/2
  // Uninterrupted, on two cores: x = (1 + 1 - 1)/(2 - 0.5).
  for (const double bound : devi_anderson(tasks, {2, false}))
    EXPECT_NEAR(bound, 3 + 1 / 1.5, 1e-12);
  // S = 1 each; one line 1 - 1 - 0.25 + 0.5 s; 2 s = 3 - 0.25 + 0.5 s.
  for (const double bound : compliant_vector(tasks, 2)) EXPECT_NEAR(bound, 2.75 / 1.5 + 0.5, 1e-12);
  // The priority point 2 - 1/2 is the same for all, so that nothing changes.
  EXPECT_EQ(compliant_vector(tasks, 2, PriorityPoint::Fair), compliant_vector(tasks, 2));
}

TEST(Latency, FairPriorityPointsHelpTheCostly) {
  const std::vector<Task> tasks{{10, 8}, {10, 1}, {10, 1}};
  EXPECT_LT(compliant_vector(tasks, 2, PriorityPoint::Fair)[0], compliant_vector(tasks, 2)[0]);
}

// 3 samples a job before 5 a job: samples 3, 4 and 5 leave the first node together at 5 periods,
// but the second reads 5 with its second job, which begins at 11.
TEST(Latency, JobsThatDoNotAlignWaitLongerThanTheFirst) {
  GraphSpec spec = nbfm();
  const Graph graph(spec);
  Batches batches(7, 1);
  batches[0] = 3;
  const Latency found = latency_of(graph, batches, Machine{2, true});
  EXPECT_EQ(samples_to_first_output(graph, batches), 6U);
  EXPECT_NEAR(found.filling / graph.period(0), 6, 1e-9);
}

TEST(Latency, SamplesThatBecomeSeveralLeaveOneByOne) {
  const Graph graph({{{"a", {1, {}}, {1000, 1}}, {"b", {1, {}}, {}}}, {{0, 1, 10, 1, 1}}});
  const Latency found = latency_of(graph, {1, 1}, Machine{1, true});
  EXPECT_NEAR(found.spreading, 9 * graph.period(1), 1e-6);
}

}  // namespace
}  // namespace carillon::dataflow
