#include "dataflow/graph.hpp"

#include <gtest/gtest.h>

#include "nbfm.hpp"

namespace carillon::dataflow {
namespace {

GraphSpec chain(std::vector<Edge> edges, Ratio rate = {1, 1}) {
  GraphSpec spec;
  for (std::size_t v = 0; v <= edges.size(); ++v)
    spec.nodes.push_back({"n" + std::to_string(v), {}, {}});
  spec.nodes[0].rate = rate;
  spec.edges = std::move(edges);
  return spec;
}

void expect_problem(const GraphSpec& spec, NodeId node, EdgeId edge, const std::string& words) {
  const auto problems = Graph::problems(spec);
  ASSERT_FALSE(problems.empty()) << words;
  EXPECT_EQ(problems[0].node, node);
  EXPECT_EQ(problems[0].edge, edge);
  EXPECT_NE(problems[0].message.find(words), std::string::npos) << problems[0].message;
  EXPECT_THROW(Graph{spec}, std::invalid_argument);
}

// "τ1 = (5, 5), τ2 = (5, 5), τ3 = (50, 50)": what follows a consumer of ten runs at a tenth.
TEST(Graph, RatesOfThePublishedExample) {
  const Graph graph(chain({{0, 1, 1, 1, 1}, {1, 2, 1, 10, 10}}, {200'000, 1}));
  EXPECT_DOUBLE_EQ(graph.period(0), 5000);
  EXPECT_DOUBLE_EQ(graph.period(1), 5000);
  EXPECT_DOUBLE_EQ(graph.period(2), 50000);
}

// Goddard's (x, y): from a source of (1, 3), 4 produced and 7 consumed make (4, 21).
TEST(Graph, ExecutionsByGoddard) {
  GraphSpec spec = chain({{0, 2, 4, 9, 7}, {1, 2, 12, 7, 7}}, {2, 1});
  spec.nodes[1].rate = {2, 3};
  spec.edges[0] = {0, 2, 4, 9, 7};
  spec.edges[1] = {1, 2, 12, 7, 7};
  const Graph graph(spec);
  EXPECT_EQ(graph.ticks(), (Ratio{2, 1}));
  EXPECT_EQ(graph.execution(0).y, 1U);
  EXPECT_EQ(graph.execution(1).y, 3U);
  EXPECT_EQ(graph.execution(2).x, 12U);  // lcm(7·1/gcd(4, 7), 7·3/gcd(12, 7)) = 21 ticks
  EXPECT_EQ(graph.execution(2).y, 21U);
  EXPECT_EQ(graph.rate(2), (Ratio{8, 7}));
}

TEST(Graph, JoinsWhoseRatesAgree) {
  const Graph graph({{{"a", {}, {6, 1}}, {"b", {}, {}}, {"c", {}, {}}, {"d", {}, {}}},
                     {{0, 1, 1, 2, 2}, {0, 2, 1, 3, 3}, {1, 3, 2, 3, 3}, {2, 3, 1, 1, 1}}});
  EXPECT_EQ(graph.rate(3), (Ratio{2, 1}));
  EXPECT_EQ(graph.order().back(), 3U);
  EXPECT_EQ(graph.inputs(3).size(), 2U);
  EXPECT_EQ(graph.outputs(0).size(), 2U);
}

TEST(Graph, NamesWhatIsWrong) {
  expect_problem({}, kNone, kNone, "no nodes");
  expect_problem(chain({{0, 1, 1, 2, 3}}), kNone, 0, "more than the 2 of its threshold");
  expect_problem(chain({{0, 1, 0, 1, 1}}), kNone, 0, "produce");
  expect_problem(chain({{0, 1, 1, 1, 0}}), kNone, 0, "consume");
  expect_problem(chain({{0, 7, 1, 1, 1}}), kNone, 0, "no node");
  expect_problem(chain({{0, 1, 1, 1, 1}}, {0, 1}), 0, kNone, "neither an input nor a rate");
  GraphSpec spec = chain({{0, 1, 1, 1, 1}});
  spec.nodes[1].rate = {5, 1};
  expect_problem(spec, 1, kNone, "a rate is a source's");
  spec = chain({{0, 1, 1, 1, 1}, {1, 2, 1, 1, 1}, {2, 3, 1, 1, 1}});
  spec.edges.push_back({2, 1, 1, 1, 1});
  expect_problem(spec, 1, kNone, "cycle");
  spec = chain({{0, 1, 1, 1, 1}, {1, 2, 1, 1, 1}});
  spec.edges.push_back({0, 2, 1, 2, 2});
  expect_problem(spec, kNone, 2, "n2 would execute 1/2 times a second, and 1 through n1 -> n2");
  spec = chain({{0, 1, 1, 1, 1}});
  spec.nodes[1].cost.initial = -1;
  expect_problem(spec, 1, kNone, "initial cost");
  spec.nodes[1].cost = {0, {{1, 1}, {1, 2}}};
  expect_problem(spec, 1, kNone, "ascend");
}

TEST(Graph, RefusesRatesBeyond64Bits) {
  const std::uint64_t large = std::uint64_t{1} << 40;
  expect_problem(chain({{0, 1, large, 1, 1}, {1, 2, large, 1, 1}}), kNone, 1, "64 bits");
  GraphSpec spec = chain({{0, 1, 1, 1, 1}});
  spec.nodes.push_back({"other", {}, {(std::uint64_t{1} << 40) - 1, 1}});
  spec.nodes[0].rate = {(std::uint64_t{1} << 40) + 1, 1};
  expect_problem(spec, 2, kNone, "multiple");
}

TEST(Graph, TakesAHundredThousandNodes) {
  std::vector<Edge> edges;
  for (NodeId v = 0; v < 100'000; ++v) edges.push_back({v, v + 1, 1, 1, 1});
  const Graph graph(chain(std::move(edges)));
  EXPECT_EQ(graph.rate(100'000), (Ratio{1, 1}));
}

TEST(Graph, CostsAreInitialAndMarginal) {
  const Cost cost{100, {{1, 1}, {4, 3}}};
  EXPECT_EQ(cost.of(0), 100);
  EXPECT_EQ(cost.of(1), 101);
  EXPECT_EQ(cost.of(3), 103);
  EXPECT_EQ(cost.of(5), 109);
}

}  // namespace
}  // namespace carillon::dataflow
