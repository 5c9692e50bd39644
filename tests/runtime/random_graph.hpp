// Random task graphs for the runtime's tests: every shape a frame could have, and some it could
// not.
#pragma once

#include <random>
#include <utility>
#include <vector>

#include "runtime/graph.hpp"

namespace carillon::runtime {

struct GraphShape {
  std::uint32_t instructions = 30;
  std::uint32_t max_chunks = 20;
  std::uint32_t opcodes = 4;
  double arrivals = 0.2;  ///< share of the instructions that are fed from outside
  double drop_alone = 0;  ///< share of all instructions
  Tick close = kNever;    ///< of every instruction fed from outside
  Tick deadline = kNever;
};

inline Graph random_graph(std::mt19937& random, const GraphShape& shape) {
  const auto below = [&](std::uint32_t n) {
    return std::uniform_int_distribution<std::uint32_t>(0, n - 1)(random);
  };
  const auto chance = [&](double p) { return std::bernoulli_distribution(p)(random); };
  GraphBuilder builder;
  std::vector<std::pair<std::uint16_t, std::uint16_t>> edges;
  for (std::uint32_t i = 0; i < shape.instructions; ++i) {
    const auto id = static_cast<std::uint16_t>(i);
    const std::uint32_t before = i < 3 ? 0 : below(4);
    for (std::uint32_t e = 0; e < before; ++e) {
      edges.emplace_back(static_cast<std::uint16_t>(below(i)), id);
    }
    const bool fed = chance(shape.arrivals);
    const bool alone = shape.deadline != kNever && chance(shape.drop_alone);
    builder.add({.opcode = static_cast<std::uint16_t>(below(shape.opcodes)),
                 .step = static_cast<std::uint16_t>(below(14)),
                 .feed = fed ? Feed::Arrivals : Feed::Commits,
                 .notify = chance(0.3),
                 .drop_alone = alone,
                 .chunks = 1 + below(shape.max_chunks),
                 .close = fed ? shape.close : kNever,
                 .deadline = alone ? shape.deadline / 2 : shape.deadline});
  }
  for (const auto& [from, to] : edges) builder.depend(from, to);
  return std::move(*builder.build().graph);
}

inline std::vector<std::vector<std::uint16_t>> predecessors_of(const Graph& graph) {
  std::vector<std::vector<std::uint16_t>> lists(graph.size());
  for (std::uint16_t i = 0; i < graph.size(); ++i) {
    for (const std::uint16_t next : graph[i].successors) lists[next].push_back(i);
  }
  return lists;
}

}  // namespace carillon::runtime
