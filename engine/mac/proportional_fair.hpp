#pragma once

#include <vector>

#include "mac/policy.hpp"

namespace carillon::mac {

/// First who could have most for what he had: the users in the order of achievable rate over
/// average throughput, each as many resource blocks as he needs.
class ProportionalFair final : public Policy {
 public:
  explicit ProportionalFair(std::uint32_t users) : order_(users) {}

  void divide(std::span<const Demand> demands, std::uint32_t blocks,
              std::span<std::uint32_t> shares) noexcept override;

 private:
  std::vector<std::size_t> order_;  // of demands
};

}  // namespace carillon::mac
