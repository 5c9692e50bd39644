#include "mac/proportional_fair.hpp"

#include <numeric>
#include <utility>

namespace carillon::mac {
namespace {

double metric(const Demand& demand) {
  return demand.bits_per_block / std::max(demand.average, 1e-9);
}

}  // namespace

void ProportionalFair::divide(std::span<const Demand> demands, std::uint32_t blocks,
                              std::span<std::uint32_t> shares) noexcept {
  const auto order = std::span(order_).first(demands.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t d) { return std::pair(-metric(demands[d]), d); });
  std::ranges::fill(shares, 0U);
  std::uint32_t left = blocks;
  for (const std::size_t d : order) {
    const std::uint32_t share = std::min(demands[d].needed(blocks), left);
    if (share == 0 || share < demands[d].least(blocks)) continue;
    shares[d] = share;
    left -= share;
  }
}

}  // namespace carillon::mac
