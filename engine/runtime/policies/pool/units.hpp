// A frame's steps as units of work.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/graph.hpp"

namespace carillon::runtime {

/// The last step whose results several later steps read: the pilots and what they yield.
inline std::uint16_t last_shared_step(const Graph& graph) {
  std::uint16_t last = 0;
  for (std::uint16_t i = 0; i < graph.size(); ++i) {
    const std::uint16_t own = graph[i].step;
    std::uint16_t reader = own;
    for (const std::uint16_t next : graph[i].successors) {
      const std::uint16_t step = graph[next].step;
      if (step == own || step == reader) continue;
      if (reader != own) last = std::max(last, own);
      reader = step;
    }
  }
  return last;
}

/// One of several instructions of the same opcode and step: a part of what could be one.
inline bool is_part(const Graph& graph, std::uint16_t i) {
  const auto same = [&](std::size_t other) {
    return other < graph.size() &&
           graph[static_cast<std::uint16_t>(other)].opcode == graph[i].opcode &&
           graph[static_cast<std::uint16_t>(other)].step == graph[i].step;
  };
  return same(std::size_t{i} + 1) || (i > 0 && same(std::size_t{i} - 1));
}

}  // namespace carillon::runtime
