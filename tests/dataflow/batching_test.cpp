#include "dataflow/batching.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "dataflow/synthetic.hpp"
#include "nbfm.hpp"

namespace carillon::dataflow {
namespace {

TEST(Batching, UniformIsTheSameEverywhere) { EXPECT_EQ(uniform(Graph(nbfm()), 4), Batches(7, 4)); }

// Only the rotator lies before the drop; what follows keeps its rate.
TEST(Batching, RatesAreExploitedUpToTheDrop) {
  const Graph graph(nbfm());
  EXPECT_EQ(rate_exploiting(graph, 1), (Batches{5, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(rate_exploiting(graph, 48), (Batches{240, 48, 48, 48, 48, 48, 48}));
  EXPECT_EQ(samples_to_first_output(graph, rate_exploiting(graph, 1)),
            samples_to_first_output(graph, uniform(graph, 1)));
}

// By hand: a → b (4 samples) → c (3), and a → d (2), joined with c's rate 1/12.
TEST(Batching, EveryPathBeforeAJoinIsBatchedUpToIt) {
  GraphSpec spec;
  for (const char* name : {"a", "b", "c", "d"}) spec.nodes.push_back({name, {100, {{1, 1}}}, {}});
  spec.nodes[0].rate = {1000, 1};
  spec.edges = {{0, 1, 1, 4, 4}, {1, 2, 1, 3, 3}, {0, 3, 1, 2, 2}, {3, 2, 1, 6, 6}};
  const Graph graph(spec);
  EXPECT_EQ(samples_to_first_output(graph, uniform(graph, 1)), 12U);
  // d feeds c, which reads 6 of it; b three; a is read in jobs of 12 by both.
  EXPECT_EQ(rate_exploiting(graph, 1), (Batches{12, 3, 1, 6}));
}

// A sink at a's own rate is not delayed for the sake of another one.
TEST(Batching, TheFirstOutputOfNoSinkIsDelayed) {
  GraphSpec spec;
  for (const char* name : {"a", "b", "fast"}) spec.nodes.push_back({name, {100, {{1, 1}}}, {}});
  spec.nodes[0].rate = {1000, 1};
  spec.edges = {{0, 1, 1, 4, 4}, {0, 2, 1, 1, 1}};
  const Graph graph(spec);
  EXPECT_EQ(rate_exploiting(graph, 1)[0], 1U);
}

TEST(Batching, ExploitedRatesNeverDelayTheFirstOutput) {
  SyntheticRanges ranges;
  ranges.interpolates = 0.1;
  ranges.peeks = 0.1;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Graph graph(synthetic_graph(seed, ranges));
    const Batches batches = rate_exploiting(graph, 1);
    EXPECT_EQ(samples_to_first_output(graph, batches),
              samples_to_first_output(graph, uniform(graph, 1)))
        << seed;
    EXPECT_LE(utilization(tasks_of(graph, batches)),
              utilization(tasks_of(graph, uniform(graph, 1))) + 1e-12);
  }
}

TEST(Batching, CandidatesAreAllIfThereAreFew) {
  const Graph graph(nbfm());
  const Candidates few = candidates_within(graph, 200e3);
  ASSERT_EQ(few[0].size(), 48U);  // 4.17 µs each
  EXPECT_EQ(few[0].back(), 48U);
  EXPECT_EQ(few[1].size(), 9U);  // 20.8 µs each
}

TEST(Batching, ManyCandidatesShareTheirPeriods) {
  const Graph graph(nbfm());
  const Candidates many = candidates_within(graph, 5e6);
  for (NodeId v = 0; v < graph.size(); ++v) {
    EXPECT_LE(many[v].size(), 65U);
    EXPECT_LE(static_cast<double>(many[v].back()) * graph.period(v), 5e6 * (1 + 1e-9));
  }
  // Those of the slow nodes are all shared by the fast one, which also has shorter ones.
  for (const std::uint64_t b : many[1])
    EXPECT_TRUE(std::ranges::binary_search(many[0], 5 * b)) << b;
  EXPECT_EQ(many[0].front(), 1U);
  EXPECT_GT(many[0].size(), many[1].size());
}

TEST(Batching, CandidatesAroundAPeriodAreDense) {
  const Graph graph(nbfm());
  const Candidates many = candidates_within(graph, 50e6, 64, 5e6);
  std::uint64_t near = 0;  // 228 to 252 samples of 20.8 µs
  for (std::uint64_t b = 229; b <= 251; ++b) near += std::ranges::binary_search(many[1], b);
  EXPECT_EQ(near, 23U);
}

}  // namespace
}  // namespace carillon::dataflow
