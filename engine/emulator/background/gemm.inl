// A block has 32 terms of its 64 rows of A and 64 columns of B in shared memory, 16 KB; a thread
// sums 8×4 products. A's terms lie term by term as B's do, so that both are read in quads.
#pragma once

#include "emulator/background/gemm.hpp"

namespace carillon::emulator {

inline constexpr std::uint32_t kGemmEdge = 64, kGemmTerms = 32, kGemmThreads = 128;
inline constexpr std::uint32_t kGemmRows = 8, kGemmColumns = 4;  // of a thread
inline constexpr std::uint32_t kGemmAcross = kGemmEdge / kGemmColumns;
static_assert(kGemmEdge / kGemmRows * kGemmAcross == kGemmThreads);

struct alignas(16) GemmQuad {
  float at[4];
};
struct GemmSums {
  float at[kGemmRows][kGemmColumns];
};

/// A phase: terms first… of the block's rows and columns.
template <typename Cta>
CARILLON_GPU void stage_gemm(Cta& cta, const GemmTask& task, std::uint32_t first) {
  float* const a = cta.template shared<float>();
  float* const b = a + kGemmTerms * kGemmEdge;
  cta.each(kGemmTerms * kGemmEdge / 4, [&](std::uint32_t i) {
    // Threads of a warp have rows next to each other, which go to different banks.
    const std::uint32_t row = i % kGemmEdge, term = i / kGemmEdge * 4;
    const std::size_t at = std::size_t{cta.y() * kGemmEdge + row} * task.k + first + term;
    const GemmQuad terms = *reinterpret_cast<const GemmQuad*>(task.a + at);
    CARILLON_UNROLL
    for (std::uint32_t n = 0; n < 4; ++n) a[(term + n) * kGemmEdge + row] = terms.at[n];

    const std::uint32_t column = i % kGemmAcross * 4, line = i / kGemmAcross;
    const std::size_t from = std::size_t{first + line} * task.n + cta.x() * kGemmEdge + column;
    *reinterpret_cast<GemmQuad*>(b + line * kGemmEdge + column) =
        *reinterpret_cast<const GemmQuad*>(task.b + from);
  });
}

/// A phase: the products of all terms that are in shared memory.
template <typename Cta>
CARILLON_GPU void add_gemm(Cta& cta, typename Cta::template Own<GemmSums>& own) {
  const float* const shared = cta.template shared<float>();
  cta.each_thread([&](std::uint32_t thread) {
    const float* a = shared + thread / kGemmAcross * kGemmRows;
    const float* b = shared + kGemmTerms * kGemmEdge + thread % kGemmAcross * kGemmColumns;
    GemmSums& sums = own[thread];
    for (std::uint32_t term = 0; term < kGemmTerms; ++term, a += kGemmEdge, b += kGemmEdge) {
      const GemmQuad low = *reinterpret_cast<const GemmQuad*>(a);
      const GemmQuad high = *reinterpret_cast<const GemmQuad*>(a + 4);
      const GemmQuad right = *reinterpret_cast<const GemmQuad*>(b);
      CARILLON_UNROLL
      for (std::uint32_t c = 0; c < kGemmColumns; ++c) {
        CARILLON_UNROLL
        for (std::uint32_t r = 0; r < 4; ++r) {
          sums.at[r][c] += low.at[r] * right.at[c];
          sums.at[4 + r][c] += high.at[r] * right.at[c];
        }
      }
    }
  });
}

/// Grid: 64 columns, 64 rows.
template <typename Cta>
CARILLON_GPU void gemm_block(Cta& cta, const GemmTask& task) {
  typename Cta::template Own<GemmSums> own(cta);
  cta.each_thread([&](std::uint32_t thread) { own[thread] = GemmSums{}; });
  for (std::uint32_t first = 0; first < task.k; first += kGemmTerms) {
    stage_gemm(cta, task, first);
    add_gemm(cta, own);
  }
  cta.each_thread([&](std::uint32_t thread) {
    const std::uint32_t row = cta.y() * kGemmEdge + thread / kGemmAcross * kGemmRows;
    const std::uint32_t column = cta.x() * kGemmEdge + thread % kGemmAcross * kGemmColumns;
    CARILLON_UNROLL
    for (std::uint32_t r = 0; r < kGemmRows; ++r) {
      GemmQuad sums;
      CARILLON_UNROLL
      for (std::uint32_t c = 0; c < kGemmColumns; ++c) sums.at[c] = own[thread].at[r][c];
      *reinterpret_cast<GemmQuad*>(task.c + std::size_t{row + r} * task.n + column) = sums;
    }
  });
}

}  // namespace carillon::emulator
