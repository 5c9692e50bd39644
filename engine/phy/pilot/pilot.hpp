// Zadoff–Chu base sequences: unit modulus, constant in time and frequency (TS 38.211, 5.2.2.1).
#pragma once

#include <cstdint>
#include <vector>

#include "phy/tile.hpp"

namespace carillon::phy {

/// r(n) = x_q(n mod N) for n < length, x_q(m) = exp(-jπ·q·m(m+1)/N), with q = root and N the
/// largest prime ≤ length (the standard's lengths, multiples of 12, are never prime). length ≥ 3
/// and root not a multiple of N, else throws std::invalid_argument.
std::vector<Complex> zadoff_chu(std::uint32_t length, std::uint32_t root);

/// The standard's root q of group u = 0…29 and base sequence v = 0, 1 for sequences of this length.
std::uint32_t zadoff_chu_root(std::uint32_t length, std::uint32_t u, std::uint32_t v);

}  // namespace carillon::phy
