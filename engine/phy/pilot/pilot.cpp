#include "phy/pilot/pilot.hpp"

#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>

namespace carillon::phy {
namespace {

bool is_prime(std::uint32_t n) {
  for (std::uint32_t d = 2; d * d <= n; ++d)
    if (n % d == 0) return false;
  return n >= 2;
}

std::uint32_t period_of(std::uint32_t length) {
  if (length < 3)
    throw std::invalid_argument("a Zadoff-Chu sequence of length " + std::to_string(length) +
                                " does not exist: 3 or more");
  while (!is_prime(length)) --length;
  return length;
}

}  // namespace

std::vector<Complex> zadoff_chu(std::uint32_t length, std::uint32_t root) {
  const std::uint64_t period = period_of(length);
  if (root % period == 0)
    throw std::invalid_argument("root " + std::to_string(root) + " is a multiple of " +
                                std::to_string(period) + ", the period of the sequence");
  std::vector<Complex> sequence(length);
  for (std::uint32_t n = 0; n < length; ++n) {
    const std::uint64_t m = n % period;
    // m(m+1) is even: the phase is a whole number of turns / period, exact before it is rounded.
    const std::uint64_t turns = m * (m + 1) / 2 % period * (root % period) % period;
    const double angle =
        -2 * std::numbers::pi * static_cast<double>(turns) / static_cast<double>(period);
    sequence[n] = {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
  }
  return sequence;
}

std::uint32_t zadoff_chu_root(std::uint32_t length, std::uint32_t u, std::uint32_t v) {
  // q = ⌊q̄ + 1/2⌋ + v·(-1)^⌊2q̄⌋ with q̄ = N(u+1)/31, in whole 62nds and 31sts
  const std::uint32_t scaled = period_of(length) * (u + 1);
  const std::uint32_t nearest = (2 * scaled + 31) / 62;
  return 2 * scaled / 31 % 2 == 0 ? nearest + v : nearest - v;
}

}  // namespace carillon::phy
