// What blocks with feedback do with NaN and infinity, which would stay in their state for good.
#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>

#include "dataflow/blocks/block.hpp"

namespace carillon::dataflow {

/// Takes what is not finite as 0, and counts it. One thread at a time asks for samples; the figure
/// may be read meanwhile.
class Finite {
 public:
  float operator()(float x) noexcept {
    if (std::isfinite(x)) [[likely]]
      return x;
    replaced_.store(replaced_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return 0;
  }
  Figure figure() const {
    return {"replaced", "numbers", static_cast<double>(replaced_.load(std::memory_order_relaxed))};
  }

 private:
  std::atomic<std::uint64_t> replaced_{0};
};

}  // namespace carillon::dataflow
