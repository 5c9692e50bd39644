#include "runtime/graph.hpp"

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "runtime/random_graph.hpp"
#include "support/test.hpp"

namespace carillon::runtime {
namespace {

TEST(Graph, CountsPredecessorsAndListsSuccessorsOnce) {
  GraphBuilder builder;
  for (int i = 0; i < 4; ++i) builder.add({.chunks = 1});
  builder.depend(0, 2);
  builder.depend(1, 2);
  builder.depend(0, 3);
  builder.depend(2, 3);
  builder.depend(2, 3);
  const GraphResult result = builder.build();
  ASSERT_TRUE(result.graph.has_value());
  const Graph& graph = *result.graph;
  EXPECT_EQ(graph[0].predecessors, 0);
  EXPECT_EQ(graph[2].predecessors, 2);
  EXPECT_EQ(graph[3].predecessors, 2);
  ASSERT_EQ(graph[0].successors.size(), 2U);
  EXPECT_EQ(graph[0].successors[0], 2);
  EXPECT_EQ(graph[0].successors[1], 3);
  EXPECT_EQ(graph[3].successors.size(), 0U);
}

std::vector<std::uint16_t> sources_of(const Graph& graph, std::uint16_t id) {
  return {graph[id].waits_for.begin(), graph[id].waits_for.end()};
}

using Ids = std::vector<std::uint16_t>;

TEST(Graph, AReaderWaitsForAllThatWroteBeforeIt) {
  constexpr Operand kMakes5 = {.buffer = 5, .write = true};
  const Operand in_place[] = {{.buffer = 5}, kMakes5};
  const Operand two[] = {{.buffer = 5}, {.buffer = 6}};
  const Operand one[] = {{.buffer = 5}};
  GraphBuilder builder;
  builder.add({.operands = {&kMakes5, 1}});
  builder.add({.operands = one});
  builder.add({.operands = in_place});
  builder.add({.operands = two});
  builder.add({.operands = {&kMakes5, 1}});
  const GraphResult result = builder.build();
  ASSERT_TRUE(result.graph.has_value());
  EXPECT_TRUE(sources_of(*result.graph, 0).empty());
  EXPECT_TRUE(sources_of(*result.graph, 1) == Ids({0}));
  EXPECT_TRUE(sources_of(*result.graph, 2) == Ids({0}));
  EXPECT_TRUE(sources_of(*result.graph, 3) == Ids({0, 2}));
  EXPECT_TRUE(sources_of(*result.graph, 4).empty());
}

TEST(Graph, NobodyWaitsForAnEarlierFrame) {
  const Operand writes[] = {{.buffer = 5, .write = true}};
  const Operand reads[] = {{.buffer = 5, .frame = -1}};
  GraphBuilder builder;
  builder.add({.operands = writes});
  builder.add({.operands = reads});
  const GraphResult result = builder.build();
  ASSERT_TRUE(result.graph.has_value());
  EXPECT_EQ((*result.graph)[1].predecessors, 0);
}

TEST(Graph, SourcesAndSuccessorsAreTheSameEdges) {
  std::mt19937 random(3);
  for (int i = 0; i < 100; ++i) {
    Graph original = random_graph(random, {});
    const Graph graph = std::move(original);
    std::set<std::pair<std::uint16_t, std::uint16_t>> forward, backward;
    for (std::uint16_t id = 0; id < graph.size(); ++id) {
      EXPECT_EQ(graph[id].waits_for.size(), graph[id].predecessors);
      EXPECT_TRUE(std::is_sorted(graph[id].waits_for.begin(), graph[id].waits_for.end()));
      for (const auto next : graph[id].successors) forward.emplace(id, next);
      for (const auto needed : graph[id].waits_for) backward.emplace(needed, id);
    }
    EXPECT_FALSE(forward.empty());
    EXPECT_TRUE(forward == backward);
  }
}

TEST(Graph, AnOperandAndADependencyMakeOneEdge) {
  const Operand writes[] = {{.buffer = 1, .write = true}};
  const Operand reads[] = {{.buffer = 1}, {.buffer = 1}};
  GraphBuilder builder;
  builder.add({.operands = writes});
  builder.add({.operands = reads});
  builder.depend(0, 1);
  const GraphResult result = builder.build();
  ASSERT_TRUE(result.graph.has_value());
  EXPECT_TRUE(sources_of(*result.graph, 1) == Ids({0}));
  EXPECT_EQ((*result.graph)[0].successors.size(), 1U);
}

TEST(Graph, OwnsItsOperandsAndMayBeMoved) {
  GraphBuilder builder;
  {
    const Operand operands[] = {{.buffer = 7, .frame = -1}, {.buffer = 8, .write = true}};
    builder.add({.operands = operands});
  }
  GraphResult result = builder.build();
  ASSERT_TRUE(result.graph.has_value());
  const Graph graph = std::move(*result.graph);
  ASSERT_EQ(graph[0].operands.size(), 2U);
  EXPECT_EQ(graph[0].operands[0].buffer, 7);
  EXPECT_EQ(graph[0].operands[0].frame, -1);
  EXPECT_TRUE(graph[0].operands[1].write);
}

TEST(Graph, RanksByDeadlineThenStepThenOrder) {
  GraphBuilder builder;
  builder.add({.step = 1, .deadline = 50});
  builder.add({.step = 0, .deadline = 50});
  builder.add({.step = 9, .deadline = 20});
  builder.add({.step = 0, .deadline = 50});
  const GraphResult result = builder.build();
  ASSERT_TRUE(result.graph.has_value());
  EXPECT_EQ(result.graph->rank(2), 0);
  EXPECT_EQ(result.graph->rank(1), 1);
  EXPECT_EQ(result.graph->rank(3), 2);
  EXPECT_EQ(result.graph->rank(0), 3);
}

TEST(Graph, TimersAreSortedAndOnlyFiniteOnes) {
  GraphBuilder builder;
  builder.add({.feed = Feed::Arrivals, .release = 10, .close = 30, .deadline = 90});
  builder.add({.drop_alone = true, .release = 20, .deadline = 25});
  const GraphResult result = builder.build();
  ASSERT_TRUE(result.graph.has_value());
  const auto timers = result.graph->timers();
  ASSERT_EQ(timers.size(), 3U);
  EXPECT_EQ(timers[0].offset, 10);
  EXPECT_EQ(timers[1].offset, 20);
  EXPECT_TRUE(timers[2].kind == Timer::Kind::Close);
  const auto drops = result.graph->drops();
  ASSERT_EQ(drops.size(), 1U);
  EXPECT_EQ(drops[0].offset, 25);
  EXPECT_TRUE(drops[0].kind == Timer::Kind::Deadline);
}

std::string error_of(const Instruction& instruction) {
  GraphBuilder builder;
  builder.add(instruction);
  return builder.build().error;
}

TEST(Graph, ErrorsSayWhatIsWrong) {
  EXPECT_EQ(GraphBuilder().build().error, "the graph has no instructions");
  EXPECT_NE(error_of({.chunks = 0}).find("0 chunks"), std::string::npos);
  EXPECT_NE(error_of({.chunks = 1U << 24}).find("chunks"), std::string::npos);
  EXPECT_NE(error_of({.feed = Feed::Arrivals, .chunks = 0x8000}).find("32768 chunks"),
            std::string::npos);
  EXPECT_NE(error_of({.release = 5, .deadline = 4}).find("deadline before release"),
            std::string::npos);
  EXPECT_NE(error_of({.close = 4}).find("fed by arrivals"), std::string::npos);
  EXPECT_NE(error_of({.drop_alone = true}).find("needs a deadline"), std::string::npos);

  GraphBuilder unknown;
  unknown.add({});
  unknown.depend(0, 1);
  EXPECT_NE(unknown.build().error.find("does not exist"), std::string::npos);
}

TEST(Graph, ACycleIsAnErrorThatNamesItsInstructions) {
  GraphBuilder builder;
  for (int i = 0; i < 4; ++i) builder.add({});
  builder.depend(0, 1);
  builder.depend(1, 2);
  builder.depend(2, 3);
  builder.depend(3, 1);
  EXPECT_EQ(builder.build().error, "these instructions wait for each other: 1, 2, 3");
}

}  // namespace
}  // namespace carillon::runtime
