#pragma once

#include "mac/policy.hpp"

namespace carillon::mac {

/// Deals resource blocks like cards, one to each user in turn, until all have what they need or
/// none are left; the next slot begins where this one ended, or with the first one for whom it was
/// too small.
class RoundRobin final : public Policy {
 public:
  void divide(std::span<const Demand> demands, std::uint32_t blocks,
              std::span<std::uint32_t> shares) noexcept override;

 private:
  std::uint32_t next_ = 0;  // user
};

}  // namespace carillon::mac
