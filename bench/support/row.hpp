// One measured case as it is printed: for people, or as a line of JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/bench.hpp"

namespace carillon::bench {

class Row {
 public:
  Row(std::string_view group, const Case& c, const Sample& sample);

  /// What a peer took for a call; a recorded one's sample is not read.
  void add(const Rival& rival, const Sample& sample);
  void add(const FrameCost& frame) { frame_ = &frame; }

  void print_text() const;
  void print_json() const;

 private:
  struct Standing {
    const Rival& rival;
    double ns, median_ns;  // of an item
  };

  double ratio(const Standing& standing) const { return standing.median_ns / median_ns_; }

  std::string group_;
  const Case& case_;
  double ns_, median_ns_;  // of an item
  Bound arithmetic_, bound_;
  std::vector<Standing> standings_;
  const FrameCost* frame_ = nullptr;
};

}  // namespace carillon::bench
