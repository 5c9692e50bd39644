#include "base/noise.hpp"

#include <immintrin.h>

#include <cstring>

#include "base/random.hpp"

namespace carillon {
namespace {

constexpr std::uint64_t kSeedStream = 0x6e6f697365;  // "noise"
constexpr std::size_t kAtOnce = 16;                  // numbers that one step makes

}  // namespace

Noise::Noise(std::uint64_t seed, std::uint64_t stream) {
  Random random(seed ^ mix_seed(kSeedStream), stream);
  for (auto& word : state_)
    for (auto& lane : word) lane = static_cast<std::uint32_t>(random.next() >> 32);
}

// AVX2 for all: what is made does not depend on the instruction set then, and the multiply-adds are
// written out, so that it does not depend on the compiler's choice of them either. Nothing of the
// standard library is instantiated in here, lest another file run it where AVX2 is not expected.
#pragma GCC push_options
#pragma GCC target("avx2,fma")
namespace {

using Words [[gnu::vector_size(32)]] = std::uint32_t;

struct Lanes {
  Words s[4];

  template <int kBits>
  [[gnu::always_inline]] static Words rotate(Words x) {
    return x << kBits | x >> (32 - kBits);
  }
  [[gnu::always_inline]] Words next() {
    const Words result = rotate<7>(s[0] + s[3]) + s[0];
    const Words t = s[1] << 9;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate<11>(s[3]);
    return result;
  }
};

[[gnu::always_inline]] inline __m256 all(float x) { return _mm256_set1_ps(x); }

/// c[0] + c[1]·x + c[2]·x² + …
template <std::size_t N>
[[gnu::always_inline]] inline __m256 polynomial(const float (&c)[N], __m256 x) {
  __m256 sum = all(c[N - 1]);
#pragma GCC unroll 8
  for (std::size_t i = 2; i <= N; ++i) sum = _mm256_fmadd_ps(sum, x, all(c[N - i]));
  return sum;
}

// Minimax polynomials, of relative errors 1.7e-7, 3e-9 and 3e-8.
constexpr float kLog[] = {-1.99999988F, 1.00000727F,  -0.666701198F, 0.499398172F,
                          -0.39800331F, 0.345016629F, -0.324451506F, 0.202137679F};
constexpr float kSine[] = {0.999999997F, -0.166666507F, 0.00833203688F, -0.00019504022F};
constexpr float kCosine[] = {0.999999972F, -0.499998567F, 0.0416550269F, -0.00135859085F};
constexpr float kLog2Doubled = 1.38629436F;
constexpr float kQuarterTurn = 0x1p-31F * 0.785398163F;  // π/4 of a full-scale integer
constexpr std::int32_t kRootHalf = 0x3f3504f3;           // as a float's bits

/// sqrt(-2 ln u), u = |bits| / 2^31 as of a signed integer.
[[gnu::always_inline]] inline __m256 radius(Words bits) {
  const __m256 sign = all(-0.0F);
  // Zero stands for the half step that it covers on either side.
  const __m256 x =
      _mm256_max_ps(_mm256_andnot_ps(sign, _mm256_cvtepi32_ps(__m256i(bits))), all(0.5F));
  // x = 2^e·m, sqrt(1/2) ≤ m < sqrt(2)
  const __m256i exponent =
      _mm256_srai_epi32(_mm256_sub_epi32(_mm256_castps_si256(x), _mm256_set1_epi32(kRootHalf)), 23);
  const __m256i mantissa =
      _mm256_sub_epi32(_mm256_castps_si256(x), _mm256_slli_epi32(exponent, 23));
  const __m256 f = _mm256_sub_ps(_mm256_castsi256_ps(mantissa), all(1));
  const __m256 steps = _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_set1_epi32(31), exponent));
  return _mm256_sqrt_ps(
      _mm256_fmadd_ps(f, polynomial(kLog, f), _mm256_mul_ps(steps, all(kLog2Doubled))));
}

struct Pair {
  __m256 x, y;
};

/// The point of the unit circle in a direction: two bits choose the quarter, thirty the angle in
/// it.
[[gnu::always_inline]] inline Pair direction(Words bits) {
  const __m256 t = _mm256_mul_ps(_mm256_cvtepi32_ps(__m256i(bits << 2)), all(kQuarterTurn));
  const __m256 square = _mm256_mul_ps(t, t);
  const __m256 side = _mm256_and_ps(__m256(bits), all(-0.0F));
  const __m256 cosine = _mm256_xor_ps(polynomial(kCosine, square), side);
  const __m256 sine = _mm256_mul_ps(polynomial(kSine, square), t);
  const __m256 turned = __m256(bits << 1);
  return {_mm256_blendv_ps(cosine, sine, turned), _mm256_blendv_ps(sine, cosine, turned)};
}

// Box and Muller's method.
[[gnu::always_inline]] inline Pair normal(Lanes& lanes) {
  const __m256 r = radius(lanes.next());
  const Pair p = direction(lanes.next());
  return {_mm256_mul_ps(p.x, r), _mm256_mul_ps(p.y, r)};
}

[[gnu::always_inline]] inline __m256i with_noise(const std::int16_t* from, __m256 noise,
                                                 __m256 amplitude) {
  __m128i packed;
  std::memcpy(&packed, from, sizeof packed);
  const __m256 value = _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(packed));
  return _mm256_cvtps_epi32(_mm256_fmadd_ps(noise, amplitude, value));
}

// Nothing saturates.
[[gnu::always_inline]] inline std::size_t add_to(float* numbers, float amplitude, Lanes& lanes) {
  const Pair n = normal(lanes);
  const __m256 x = _mm256_fmadd_ps(n.x, all(amplitude), _mm256_loadu_ps(numbers));
  const __m256 y = _mm256_fmadd_ps(n.y, all(amplitude), _mm256_loadu_ps(numbers + 8));
  _mm256_storeu_ps(numbers, x);
  _mm256_storeu_ps(numbers + 8, y);
  return 0;
}

// Returns how many were saturated.
[[gnu::always_inline]] inline std::size_t add_to(std::int16_t* numbers, float amplitude,
                                                 Lanes& lanes) {
  const Pair n = normal(lanes);
  const __m256i x = with_noise(numbers, n.x, all(amplitude));
  const __m256i y = with_noise(numbers + 8, n.y, all(amplitude));
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packs_epi32(x, y), 0xd8);
  std::memcpy(numbers, &packed, sizeof packed);
  const __m256i kept_x = _mm256_cvtepi16_epi32(_mm256_castsi256_si128(packed));
  const __m256i kept_y = _mm256_cvtepi16_epi32(_mm256_extracti128_si256(packed, 1));
  const __m256i same =
      _mm256_packs_epi32(_mm256_cmpeq_epi32(x, kept_x), _mm256_cmpeq_epi32(y, kept_y));
  const auto differ = ~static_cast<std::uint32_t>(_mm256_movemask_epi8(same));
  return static_cast<std::size_t>(__builtin_popcount(differ)) / 2;
}

/// Returns the sum of what add_to() returns.
template <typename Number>
std::size_t add_to_all(Number* numbers, std::size_t count, float amplitude, void* state) {
  Lanes lanes;
  std::memcpy(&lanes, state, sizeof lanes);
  std::size_t saturated = 0;
  for (; count >= kAtOnce; count -= kAtOnce, numbers += kAtOnce)
    saturated += add_to(numbers, amplitude, lanes);
  if (count != 0) {
    Number rest[kAtOnce]{};
    std::memcpy(rest, numbers, count * sizeof *numbers);
    saturated += add_to(rest, amplitude, lanes);
    std::memcpy(numbers, rest, count * sizeof *numbers);
  }
  std::memcpy(state, &lanes, sizeof lanes);
  return saturated;
}

}  // namespace
#pragma GCC pop_options

void Noise::add(std::span<float> numbers, float amplitude) {
  add_to_all(numbers.data(), numbers.size(), amplitude, state_);
}

std::size_t Noise::add(std::span<std::int16_t> numbers, float amplitude) {
  return add_to_all(numbers.data(), numbers.size(), amplitude, state_);
}

}  // namespace carillon
