// What the benchmarks of the antenna-array stages share: shapes, arrays, the fastest of several
// rounds, this core's measured peak, and rows as a table or, with --json, one object per line.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>

#include "base/aligned.hpp"
#include "base/isa.hpp"
#include "phy/zeroforce/zeroforce.hpp"

namespace carillon::bench {

/// The fastest of rounds that together take about a quarter of a second. (A thread's CPU clock
/// would not count what else a busy machine does, but is too coarse for rounds this short.)
template <typename Work>
double best_ns(Work&& work) {
  using Clock = std::chrono::steady_clock;
  const auto timed = [&](int calls) {
    const auto start = Clock::now();
    for (int call = 0; call < calls; ++call) work();
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / calls;
  };
  timed(1);
  const int calls = 1 + static_cast<int>(20'000 / timed(1));
  double best = 1e30, total = 0;
  while (total < 2.5e8) {
    const double ns = timed(calls);
    best = std::min(best, ns);
    total += ns * calls;
  }
  return best;
}

// Twelve independent multiply-adds keep both pipes of any x86 core busy (latency 4, two a cycle).
[[gnu::target("avx2,fma"), gnu::noinline]] inline void fused_avx2(int rounds) {
  __m256 sum[12] = {};
  const __m256 factor = _mm256_set1_ps(0.5F);
  for (; rounds > 0; --rounds)
#pragma GCC unroll 12
    for (auto& s : sum) {
      s = _mm256_fmadd_ps(s, factor, factor);
      asm volatile("" : "+x"(s));
    }
}
[[gnu::target("avx512f"), gnu::noinline]] inline void fused_avx512(int rounds) {
  __m512 sum[12] = {};
  const __m512 factor = _mm512_set1_ps(0.5F);
  for (; rounds > 0; --rounds)
#pragma GCC unroll 12
    for (auto& s : sum) {
      s = _mm512_fmadd_ps(s, factor, factor);
      asm volatile("" : "+v"(s));
    }
}

/// fp32 GFLOP/s of one core in multiply-adds that never wait for memory.
inline double peak_gflops(Isa isa) {
  constexpr int kRounds = 2000;
  const bool wide = isa != Isa::Avx2;
  const double ns = best_ns([&] { wide ? fused_avx512(kRounds) : fused_avx2(kRounds); });
  return kRounds * 12.0 * (wide ? 16 : 8) * 2 / ns;
}

/// Rows of one instruction set.
class Report {
 public:
  Report(int argc, char** argv) : json_(argc > 1 && std::strcmp(argv[1], "--json") == 0) {}

  /// Measures the core's peak in this instruction set, for the rows that follow.
  void begin(Isa isa) {
    isa_ = to_string(isa);
    peak_ = peak_gflops(isa);
  }
  void add_peak() { add("peak", 1 / peak_, "operation", 1); }

  /// `operations` of arithmetic were done in `ns`; 0: it only moves data.
  void add(const std::string& kernel, double ns, const char* per, double operations) {
    const double gflops = operations / ns;
    const std::string rate = operations > 0 ? std::to_string(gflops) : "null";
    if (json_)
      std::printf(
          "{\"kernel\": \"%s\", \"isa\": \"%s\", \"ns\": %.4g, \"per\": \"%s\", "
          "\"gflops\": %s, \"mbps\": null}\n",
          kernel.c_str(), isa_.c_str(), ns, per, rate.c_str());
    else
      std::printf("%-24s %-10s %10.4g ns per %-10s %7.1f GFLOP/s %4.0f %% of peak\n",
                  kernel.c_str(), isa_.c_str(), ns, per, gflops, 100 * gflops / peak_);
  }

 private:
  bool json_;
  std::string isa_;
  double peak_ = 0;
};

inline constexpr phy::ArrayShape kShapes[] = {
    {8, 8, 9}, {16, 8, 17}, {64, 16, 65}, {128, 32, 129}, {256, 128, 257}};

inline std::string name_of(const char* kernel, phy::ArrayShape shape) {
  return std::string(kernel) + " " + std::to_string(shape.antennas) + "x" +
         std::to_string(shape.users);
}

inline AlignedArray<phy::Tile> random_tiles(std::size_t count) {
  AlignedArray<phy::Tile> tiles(count);
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  for (auto& tile : tiles)
    for (std::uint32_t i = 0; i < phy::kTileLanes; ++i) {
      tile.re[i] = normal(generator);
      tile.im[i] = normal(generator);
    }
  return tiles;
}

}  // namespace carillon::bench
