// The cooperative part of crc/cuda.hpp.
#pragma once

#include "phy/crc/cuda.hpp"

namespace carillon::phy::cuda {

/// Parity bits of `messages` messages at once. word_at(message, n) as crc_of_chunk() wants it;
/// wanted(message): whether it is worth the work. Leaves the register of message m in
/// sums[m * how.chunks], of `messages` * how.chunks words in shared memory.
template <typename Cta, typename Wanted, typename WordAt>
CARILLON_GPU void crc_registers(Cta& cta, const CrcChunks& how, std::uint32_t messages,
                                std::uint32_t* sums, Wanted&& wanted, WordAt&& word_at) {
  cta.each(messages * how.chunks, [&](std::uint32_t i) {
    const std::uint32_t message = i / how.chunks, chunk = i % how.chunks;
    if (wanted(message))
      sums[i] = crc_of_chunk(how, chunk, [&](std::uint32_t n) { return word_at(message, n); });
  });
  for (std::uint32_t left = how.chunks; left > 1; left = simt::divide_up(left, 2)) {
    const std::uint32_t upper = simt::divide_up(left, 2), half = left / 2;
    cta.each(messages * half, [&](std::uint32_t i) {
      std::uint32_t* const own = sums + i / half * how.chunks + i % half;
      *own ^= own[upper];
    });
  }
}

}  // namespace carillon::phy::cuda
