#include "mac/round_robin.hpp"

namespace carillon::mac {

void RoundRobin::divide(std::span<const Demand> demands, std::uint32_t blocks,
                        std::span<std::uint32_t> shares) noexcept {
  const std::size_t users = demands.size();
  const auto first = static_cast<std::size_t>(
      std::ranges::find_if(demands, [&](const Demand& d) { return d.user >= next_; }) -
      demands.begin());
  const auto turn = [&](std::size_t i) { return (first + i) % users; };
  std::ranges::fill(shares, 0U);
  std::uint32_t left = blocks, next = next_;
  for (std::size_t i = 0; i < users; ++i) {
    const Demand& each = demands[turn(i)];
    const std::uint32_t hand = std::min(each.least(blocks), each.needed(blocks));
    if (hand == 0 || hand > left) continue;
    shares[turn(i)] = hand;
    left -= hand;
    next = each.user + 1;
  }
  for (bool hungry = true; hungry && left > 0;) {
    hungry = false;
    for (std::size_t i = 0; i < users && left > 0; ++i) {
      const Demand& each = demands[turn(i)];
      std::uint32_t& share = shares[turn(i)];
      if (share == 0 || share >= each.needed(blocks)) continue;
      ++share;
      --left;
      next = each.user + 1;
      hungry = true;
    }
  }
  next_ = next;
  for (std::size_t i = 0; i < users; ++i)
    if (demands[turn(i)].waiting > 0 && shares[turn(i)] == 0) {
      next_ = demands[turn(i)].user;
      return;
    }
}

}  // namespace carillon::mac
