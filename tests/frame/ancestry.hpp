// What waits for what in a graph.
#pragma once

#include <set>
#include <vector>

#include "runtime/graph.hpp"

namespace carillon::test {

/// The graph with everything that an instruction waits for, directly or not.
class Ancestry {
 public:
  explicit Ancestry(const runtime::Graph& graph) : before_(graph.size()) {
    std::vector<std::uint16_t> waiting(graph.size()), order;
    for (std::uint16_t i = 0; i < graph.size(); ++i)
      for (const auto next : graph[i].successors) ++waiting[next];
    for (std::uint16_t i = 0; i < graph.size(); ++i) {
      counted_ = counted_ && waiting[i] == graph[i].predecessors;
      if (waiting[i] == 0) order.push_back(i);
    }
    for (std::size_t n = 0; n < order.size(); ++n)
      for (const auto next : graph[order[n]].successors) {
        before_[next].insert(order[n]);
        before_[next].insert(before_[order[n]].begin(), before_[order[n]].end());
        if (--waiting[next] == 0) order.push_back(next);
      }
    acyclic_ = order.size() == graph.size();
  }

  bool acyclic() const { return acyclic_; }
  bool counted() const { return counted_; }
  bool before(std::uint16_t a, std::uint16_t b) const { return before_[b].contains(a); }

 private:
  std::vector<std::set<std::uint16_t>> before_;
  bool acyclic_ = false, counted_ = true;
};

}  // namespace carillon::test
