// Graphs that run: whatever the threads and batches, each node reads and writes what a serial
// execution has it read and write.
#include "dataflow/executor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/random.hpp"
#include "support/watched.hpp"

namespace carillon::dataflow {
namespace {

constexpr std::uint32_t kModulus = 4093;

Ports ports_of(const Graph& graph, NodeId node) {
  Ports ports;
  for (const EdgeId id : graph.inputs(node))
    ports.inputs.push_back(
        {Items::Real, graph.edges()[id].threshold, graph.edges()[id].consume, (3 * id + node) % 5});
  if (!graph.is_sink(node))
    ports.output = {Items::Real, graph.edges()[graph.outputs(node).front()].produce};
  return ports;
}

// Whole numbers that depend on everything that a node has read before: one whose jobs overlapped,
// changed places or read another window would give others.
class Mixer final : public Block {
 public:
  Mixer(const Graph& graph, NodeId node) : Block(ports_of(graph, node)) {
    for (const EdgeId id : graph.inputs(node)) edges_.push_back(graph.edges()[id]);
    if (!graph.is_sink(node)) produce_ = graph.edges()[graph.outputs(node).front()].produce;
  }
  void execute(const float* const* in, float* out, std::size_t count) noexcept override {
    for (std::size_t n = 0; n < count; ++n) {
      for (std::size_t i = 0; i < edges_.size(); ++i)
        for (std::size_t k = 0; k < ports().inputs[i].history + edges_[i].threshold; ++k)
          mix(static_cast<std::uint32_t>(in[i][n * edges_[i].consume + k]));
      mix(1);
      for (std::size_t k = 0; k < produce_; ++k)
        out[n * produce_ + k] = static_cast<float>((state + k) % kModulus);
    }
    executions += count;
  }

  std::uint32_t state = 1;
  std::uint64_t executions = 0;

 private:
  void mix(std::uint32_t value) { state = (state * 31 + value) % kModulus; }

  std::vector<Edge> edges_;
  std::size_t produce_ = 0;
};

std::vector<std::unique_ptr<Mixer>> mixers(const Graph& graph) {
  std::vector<std::unique_ptr<Mixer>> blocks;
  for (NodeId node = 0; node < graph.size(); ++node)
    blocks.push_back(std::make_unique<Mixer>(graph, node));
  return blocks;
}

std::vector<Block*> pointers(const std::vector<std::unique_ptr<Mixer>>& blocks) {
  std::vector<Block*> found;
  for (const auto& block : blocks) found.push_back(block.get());
  return found;
}

// One execution after the other, node by node, over everything that the sources give.
void run_serially(const Graph& graph, std::vector<std::unique_ptr<Mixer>>& blocks,
                  std::uint64_t executions) {
  std::vector<std::vector<float>> written(graph.size());
  for (const NodeId node : graph.order()) {
    std::uint64_t count = executions;
    for (const EdgeId id : graph.inputs(node)) {
      const Edge& edge = graph.edges()[id];
      const std::uint64_t there = written[edge.from].size();
      const std::uint64_t possible =
          there < edge.threshold ? 0 : (there - edge.threshold) / edge.consume + 1;
      count = id == graph.inputs(node).front() ? possible : std::min(count, possible);
    }
    std::vector<std::vector<float>> before;  // what it reads, behind zeros
    for (std::size_t i = 0; i < graph.inputs(node).size(); ++i) {
      const auto& from = written[graph.edges()[graph.inputs(node)[i]].from];
      before.emplace_back(blocks[node]->ports().inputs[i].history);
      before[i].insert(before[i].end(), from.begin(), from.end());
    }
    written[node].resize(blocks[node]->writes(count));
    for (std::uint64_t n = 0; n < count; ++n) {
      std::vector<const float*> in;
      for (std::size_t i = 0; i < before.size(); ++i)
        in.push_back(before[i].data() + n * blocks[node]->ports().inputs[i].consume);
      blocks[node]->execute(in.data(), written[node].data() + blocks[node]->writes(n), 1);
    }
  }
}

void work(Executor& executor, unsigned threads) {
  std::vector<std::thread> workers;
  for (unsigned w = 0; w < threads; ++w) workers.emplace_back(&Executor::work, &executor, w);
  for (auto& worker : workers) worker.join();
}

// A tree with fan-out, some of whose nodes read a second input of the same rate.
Graph draw(Random& random) {
  const auto below = [&](std::uint64_t most) { return random.next() % most; };
  GraphSpec spec;
  const std::uint64_t count = 2 + below(9);
  std::vector<std::uint64_t> produce;
  std::vector<double> rates;
  for (NodeId node = 0; node < count; ++node) {
    spec.nodes.push_back({std::string("n").append(std::to_string(node)), {}, {}});
    produce.push_back(1 + below(3));
    if (node == 0) {
      spec.nodes[0].rate = {1'000'000, 1};
      rates.push_back(1e6);
      continue;
    }
    const auto from = static_cast<NodeId>(below(node));
    const std::uint64_t consume = 1 + below(4);
    spec.edges.push_back({from, node, produce[from], consume + below(5), consume});
    rates.push_back(rates[from] * static_cast<double>(produce[from]) /
                    static_cast<double>(consume));
    for (NodeId other = 0; other < node; ++other) {
      const double fits = rates[other] * static_cast<double>(produce[other]) / rates[node];
      const auto whole = static_cast<std::uint64_t>(fits + 0.5);
      if (other == from || below(3) != 0 || whole == 0 ||
          std::abs(fits - static_cast<double>(whole)) > 1e-9)
        continue;
      spec.edges.push_back({other, node, produce[other], whole + below(5), whole});
      break;
    }
  }
  return Graph(spec);
}

TEST(Executor, NodesReadAndWriteWhatTheyDoSerially) {
  Random random(1, 0);
  for (unsigned which = 0; which < 200; ++which) {
    const Graph graph = draw(random);
    Batches batches;
    for (NodeId node = 0; node < graph.size(); ++node) batches.push_back(1 + random.next() % 9);
    const std::uint64_t executions = 500 + random.next() % 1500;
    if (test::left_out(which)) continue;
    auto expected = mixers(graph), blocks = mixers(graph);
    run_serially(graph, expected, executions);
    ExecutorOptions options{.paced = false, .workers = 3, .worker_for_each = which % 4 == 3};
    options.executions.assign(graph.size(), executions);
    Executor executor(graph, batches, pointers(blocks), options);
    work(executor, options.worker_for_each ? graph.size() : 1 + which % 3);
    for (NodeId node = 0; node < graph.size(); ++node) {
      EXPECT_EQ(executor.account(node).executions, blocks[node]->executions);
      // What nobody reads any more ends early: behind a join whose other input is over.
      EXPECT_LE(blocks[node]->executions, expected[node]->executions) << which << ' ' << node;
      if (!graph.is_sink(node)) continue;
      EXPECT_EQ(blocks[node]->executions, expected[node]->executions) << which << ' ' << node;
      EXPECT_EQ(blocks[node]->state, expected[node]->state) << which << ' ' << node;
    }
  }
}

Graph chain(std::uint64_t rate) {
  return Graph({{{"source", {}, {rate, 1}}, {"middle", {}, {}}, {"sink", {}, {}}},
                {{0, 1, 1, 5, 5}, {1, 2, 1, 1, 1}}});
}

TEST(Executor, SaysWhatWasLeftAndInHowManyJobs) {
  const Graph graph = chain(1000);
  auto blocks = mixers(graph);
  Executor executor(graph, {10, 4, 1}, pointers(blocks),
                    {.paced = false, .executions = {1203, 0, 0}, .workers = 2});
  work(executor, 2);
  EXPECT_EQ(executor.account(0).jobs, 121U);
  EXPECT_EQ(executor.account(1).executions, 240U);
  EXPECT_EQ(executor.account(1).jobs, 60U);
  EXPECT_EQ(executor.account(2).jobs, 240U);
  EXPECT_EQ(executor.left(0), 3U);
  EXPECT_EQ(executor.left(1), 0U);
}

// A source's job has all its samples before it is released, and the middle one's five jobs of it.
TEST(Executor, IsNoFasterThanItsSources) {
  const Graph graph = chain(1'000'000);
  auto blocks = mixers(graph);
  Executor executor(graph, {100, 10, 1}, pointers(blocks),
                    {.paced = true, .executions = {20'000, 0, 0}, .workers = 2});
  const Tick begun = now();
  work(executor, 2);
  EXPECT_GE(now() - begun, 20 * kMillisecond);
  EXPECT_EQ(executor.account(2).executions, 4000U);
  // The first sample waits for 99 others.
  EXPECT_GE(executor.account(2).longest_latency, 99 * kMicrosecond);
}

// Stops its executor in its hundredth execution.
class Stopping final : public Block {
 public:
  explicit Stopping(Mixer& mixer) : Block(mixer.ports()), mixer_(mixer) {}
  void execute(const float* const* in, float* out, std::size_t count) noexcept override {
    mixer_.execute(in, out, count);
    if (mixer_.executions >= 100) executor->stop();
  }

  Executor* executor = nullptr;

 private:
  Mixer& mixer_;
};

TEST(Executor, EndsWhenItIsStopped) {
  const Graph graph = chain(1'000'000);
  for (const bool paced : {true, false}) {
    auto blocks = mixers(graph);
    Stopping sink(*blocks[2]);
    std::vector<Block*> all = pointers(blocks);
    all[2] = &sink;
    Executor executor(graph, {10, 1, 1}, all, {.paced = paced});
    sink.executor = &executor;
    executor.work();
    const std::uint64_t given = executor.account(0).executions;
    EXPECT_GE(given, 500U);
    EXPECT_EQ(executor.account(1).executions, given / 5);
    EXPECT_EQ(executor.account(2).executions, given / 5);
    EXPECT_EQ(executor.left(0), given % 5);
  }
}

TEST(Executor, RefusesBlocksThatAreNotWhatTheGraphSays) {
  const Graph graph = chain(1000),
              other({{{"source", {}, {1000, 1}}, {"sink", {}, {}}}, {{0, 1, 1, 3, 3}}});
  auto blocks = mixers(graph), wrong = mixers(other);
  const std::vector<Block*> mixed{blocks[0].get(), wrong[1].get(), blocks[2].get()};
  EXPECT_THROW(Executor(graph, {1, 1, 1}, mixed, {}), std::invalid_argument);
}

}  // namespace
}  // namespace carillon::dataflow
