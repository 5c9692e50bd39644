// Decoding where bits are either right or unknown, bit by bit: a parity check that lacks one bit
// gives it.
#pragma once

#include <cstdint>
#include <vector>

#include "phy/ldpc/base_graph.hpp"

namespace carillon::test {

/// Whether all information bits of a code block follow from those of its N coded bits (d order)
/// that were received and from the fillers, which are known.
inline bool peeling_solves(phy::LdpcCode code, std::uint32_t fillers,
                           const std::vector<bool>& received) {
  const phy::BaseGraph graph = phy::base_graph(code);
  const std::uint32_t z = code.lifting, k = code.info_bits();
  std::vector<bool> known(2 * z);  // the first two columns are never sent
  known.insert(known.end(), received.begin(), received.end());
  for (std::uint32_t n = k - fillers; n < k; ++n) known[n] = true;
  for (bool more = true; more;) {
    more = false;
    for (std::uint32_t check = 0; check < graph.rows * z; ++check) {
      const std::uint32_t row = check / z;
      std::uint32_t lacks = 0, lacked = 0;
      for (std::uint32_t e = graph.row_begin[row]; e < graph.row_begin[row + 1]; ++e) {
        const std::uint32_t bit = graph.column[e] * z + (check % z + graph.shift[e]) % z;
        if (known[bit]) continue;
        ++lacks;
        lacked = bit;
      }
      if (lacks != 1) continue;
      known[lacked] = more = true;
    }
  }
  for (std::uint32_t n = 0; n < k; ++n)
    if (!known[n]) return false;
  return true;
}

}  // namespace carillon::test
