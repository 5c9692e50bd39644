#include "support/peaks.hpp"

#include <immintrin.h>

#include <algorithm>
#include <map>

#include "base/aligned.hpp"
#include "base/tick.hpp"
#include "support/bench.hpp"

namespace carillon::bench {
namespace {

constexpr int kRounds = 2000;
// Enough independent chains to fill every pipe of any x86 core: latency 4, two a cycle, spared.
constexpr int kChains = 12;

[[gnu::target("avx2,fma"), gnu::noinline]] void fused_avx2() {
  __m256 sum[kChains] = {};
  const __m256 factor = _mm256_set1_ps(0.5F);
  for (int round = 0; round < kRounds; ++round)
#pragma GCC unroll 12
    for (auto& s : sum) {
      s = _mm256_fmadd_ps(s, factor, factor);
      asm volatile("" : "+x"(s));
    }
}

[[gnu::target("avx512f"), gnu::noinline]] void fused_avx512() {
  __m512 sum[kChains] = {};
  const __m512 factor = _mm512_set1_ps(0.5F);
  for (int round = 0; round < kRounds; ++round)
#pragma GCC unroll 12
    for (auto& s : sum) {
      s = _mm512_fmadd_ps(s, factor, factor);
      asm volatile("" : "+v"(s));
    }
}

[[gnu::target("avx2"), gnu::noinline]] void bytes_avx2() {
  __m256i value[kChains] = {};
  const __m256i other = _mm256_set1_epi8(3);
  for (int round = 0; round < kRounds; ++round)
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) {
      value[i] = i % 2 == 0 ? _mm256_adds_epi8(value[i], other) : _mm256_add_epi8(value[i], other);
      asm volatile("" : "+x"(value[i]));
    }
}

[[gnu::target("avx512bw"), gnu::noinline]] void bytes_avx512() {
  __m512i value[kChains] = {};
  const __m512i other = _mm512_set1_epi8(3);
  for (int round = 0; round < kRounds; ++round)
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) {
      value[i] = i % 2 == 0 ? _mm512_adds_epi8(value[i], other) : _mm512_add_epi8(value[i], other);
      asm volatile("" : "+v"(value[i]));
    }
}

[[gnu::target("avx2"), gnu::noinline]] void read_all(const char* from, std::size_t bytes) {
  __m256i sum[4] = {};
  for (std::size_t i = 0; i < bytes; i += 128)
#pragma GCC unroll 4
    for (std::size_t k = 0; k < 4; ++k)
      sum[k] = _mm256_xor_si256(
          sum[k], _mm256_load_si256(reinterpret_cast<const __m256i*>(from + i + 32 * k)));
  asm volatile("" : : "x"(sum[0]), "x"(sum[1]), "x"(sum[2]), "x"(sum[3]));
}

template <typename Call>
double best_ns(Call&& call, Tick budget) {
  double best = 1e30;
  const Tick end = now() + budget;
  do {
    const Tick start = now();
    call();
    best = std::min(best, static_cast<double>(now() - start));
  } while (now() < end);
  return best;
}

template <typename Measure>
double once(std::map<Isa, double>& known, Isa isa, Measure&& measure) {
  const auto found = known.find(isa);
  return found != known.end() ? found->second : known[isa] = measure();
}

}  // namespace

double peak_fp32(Isa isa) {
  static std::map<Isa, double> known;
  return once(known, isa, [&] {
    const bool wide = isa != Isa::Avx2;
    const double ns = best_ns([&] { wide ? fused_avx512() : fused_avx2(); }, 300 * kMillisecond);
    return kRounds * kChains * (wide ? 16 : 8) * 2 / ns;
  });
}

double peak_int8(Isa isa) {
  static std::map<Isa, double> known;
  return once(known, isa, [&] {
    const bool wide = isa != Isa::Avx2;
    const double ns = best_ns([&] { wide ? bytes_avx512() : bytes_avx2(); }, 300 * kMillisecond);
    return kRounds * kChains * (wide ? 64 : 32) / ns;
  });
}

double peak_memory() {
  static const double gbytes = [] {
    AlignedArray<char> array(std::size_t{256} << 20);
    std::fill(array.begin(), array.end(), char{1});
    const double ns = best_ns([&] { read_all(array.data(), array.size()); }, 500 * kMillisecond);
    return static_cast<double>(array.size()) / ns;
  }();
  return gbytes;
}

namespace {

void run(Bench& bench) {
  const auto row = [&](const Case& c, auto&& peak) {
    if (!bench.begin(c)) return;
    const double ns = 1 / peak();
    bench.report(c, {ns, ns});
  };
  for (const Isa isa : bench.isas()) {
    const std::string name(to_string(isa));
    row({.kernel = "peak", .shape = "fp32", .isa = name, .per = "operation", .work = {.flops = 1}},
        [&] { return peak_fp32(isa); });
    row({.kernel = "peak",
         .shape = "int8",
         .isa = name,
         .per = "operation",
         .work = {.int8_ops = 1}},
        [&] { return peak_int8(isa); });
  }
  row({.kernel = "peak", .shape = "memory", .per = "byte", .work = {.bytes = 1}}, peak_memory);
}

const Group group("peaks", run);

}  // namespace
}  // namespace carillon::bench
