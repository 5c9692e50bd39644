// W·y from operands in half precision. A pair (re, im) of w meets y's real part twice, (yr, yr),
// and its imaginary part twice, (yi, yi): two multiply-adds for each vector of w, and no shuffles
// but those that double y's parts, once for all users. Without arithmetic in half precision, pairs
// are widened as they are loaded.
#include "phy/simd/half.inl"

namespace {

inline constexpr std::uint32_t kMostAntennas = 256;

/// Elements Pick(0), Pick(1), … of v.
template <auto Pick, typename V>
[[gnu::always_inline]] inline V picked(V v) {
  return [&]<int... k>(std::integer_sequence<int, k...>) __attribute__((always_inline)) {
    return __builtin_shufflevector(v, v, Pick(k)...);
  }
  (std::make_integer_sequence<int, sizeof v / sizeof v[0]>());
}
inline constexpr auto kRealTwice = [](int k) { return k / 2 * 2; };
inline constexpr auto kImaginaryTwice = [](int k) { return k / 2 * 2 + 1; };
inline constexpr auto kExchanged = [](int k) { return k ^ 1; };
inline constexpr auto kSeparated = [](int k) {
  constexpr int half = kLanes / 2;
  return k % half * 2 + k / half;
};

/// Pairs of a vector that is computed with, and the lanes they have.
inline constexpr std::uint32_t kPairs = CARILLON_SIMD_FP16 ? kTileLanes : kLanes / 2;
using HalfOwn = OwnLanes<kPairs>;

#if CARILLON_SIMD_FP16

using Pairs [[gnu::vector_size(64)]] = _Float16;
using Words [[gnu::vector_size(64)]] = std::int16_t;
/// Antennas that are summed before single precision takes over. Each addition rounds to 11 bits of
/// all that has been summed, strong users' parts included: chains of 16 antennas, two of which are
/// joined, lose little more than the rounding of w and y costs.
inline constexpr std::uint32_t kHalfTerms = 32, kChains = 2;
inline constexpr std::uint32_t kParts = 1, kUsersAtOnce = 4;

template <typename Lanes>
[[gnu::always_inline]] inline Pairs part_of(const HalfTile& tile, std::uint32_t,
                                            const Lanes& lanes) {
  return loaded_once(lanes.template pick<Pairs>(tile.at, 0));
}
[[gnu::always_inline]] inline Pairs part_of(HalfComplex scalar, std::uint32_t, HalfOwn) {
  return (Pairs)(std::bit_cast<std::int32_t>(scalar) - Vi{});
}
template <auto Pick>
[[gnu::always_inline]] inline Pairs doubled(Pairs v) {
  return (Pairs)picked<Pick>((Words)v);
}

// sum + a * b, rounded once. In half precision two roundings are no longer the defined sum, and
// whether the compiler joins them depends on how it is called (with sanitizers it does not).
[[gnu::always_inline]] inline Pairs multiplied_on(Pairs sum, Pairs a, Pairs b) {
  return (Pairs)_mm512_fmadd_ph((__m512h)a, (__m512h)b, (__m512h)sum);
}

// (re - im of `turned`, im + re of `turned`). Rotating words needs no shuffle.
[[gnu::always_inline]] inline Pairs joined(Pairs straight, Pairs turned) {
  using Unsigned [[gnu::vector_size(64)]] = std::uint32_t;
  const auto bits = (Unsigned)turned;
  const auto other = (__m512h)(bits << 16 | bits >> 16);
  const auto one = (__m512h)(0x3C003C00 - Vi{});
  return (Pairs)_mm512_fmaddsub_ph((__m512h)straight, one, other);
}

/// Sums of pairs in single precision.
struct WideSums {
  Vf sum[2] = {};

  [[gnu::always_inline]] void add(Pairs v) {
    HalfTile half;
    std::memcpy(&half, &v, sizeof half);
    asm("" : "+m"(half));  // from a register, one half would have to be extracted first
    sum[0] = sum[0] + load_pairs(half.at);
    sum[1] = sum[1] + load_pairs(half.at + kLanes / 2);
  }
};

#else

using Pairs = Vf;
inline constexpr std::uint32_t kHalfTerms = kMostAntennas, kChains = 1;
inline constexpr std::uint32_t kParts = kTileFloats / kLanes;  // vectors of pairs in a tile
inline constexpr std::uint32_t kUsersAtOnce = CARILLON_SIMD_AVX512 ? 8 : 6;

template <typename Lanes>
[[gnu::always_inline]] inline Pairs part_of(const HalfTile& tile, std::uint32_t part,
                                            const Lanes& lanes) {
  return widened(lanes.template pick<HalfPairs>(tile.at, part * kPairs));
}
[[gnu::always_inline]] inline Pairs part_of(HalfComplex scalar, std::uint32_t, HalfOwn) {
  return broadcast_pair(scalar);
}
template <auto Pick>
[[gnu::always_inline]] inline Pairs doubled(Pairs v) {
  return picked<Pick>(v);
}

[[gnu::always_inline]] inline Pairs multiplied_on(Pairs sum, Pairs a, Pairs b) {
  return sum + a * b;
}

[[gnu::always_inline]] inline Pairs joined(Pairs straight, Pairs turned) {
  const Pairs other = picked<kExchanged>(turned);
#if CARILLON_SIMD_AVX512
  return (Pairs)_mm512_maskz_fmaddsub_ps(0xFFFF, (__m512)straight, (__m512)broadcast(1),
                                         (__m512)other);
#else
  return (Pairs)_mm256_addsub_ps((__m256)straight, (__m256)other);
#endif
}

struct WideSums {
  Vf sum[1] = {};

  [[gnu::always_inline]] void add(Pairs v) { sum[0] = sum[0] + v; }
};

#endif

/// A part of the received tiles with the real, or the imaginary, ones in both places.
struct Doubled {
  Pairs real[kMostAntennas], imaginary[kMostAntennas];
};

// The sum of the pairs in `part` of `terms` antennas for I users.
template <std::uint32_t I, typename T, typename Lanes>
[[gnu::always_inline]] inline void add_products(const T* w, const Lanes& of_w, std::size_t stride,
                                                const Pairs* real, const Pairs* imaginary,
                                                std::uint32_t terms, std::uint32_t part,
                                                WideSums (&sums)[I]) {
  Pairs straight[kChains][I] = {}, turned[kChains][I] = {};
  const auto add = [&](std::uint32_t chain, std::uint32_t n) __attribute__((always_inline)) {
#pragma GCC unroll 8
    for (std::uint32_t i = 0; i < I; ++i) {
      const Pairs factor = part_of(w[i * stride + n], part, of_w);
      straight[chain][i] = multiplied_on(straight[chain][i], factor, real[n]);
      turned[chain][i] = multiplied_on(turned[chain][i], factor, imaginary[n]);
    }
  };
  std::uint32_t n = 0;
  for (; n + kChains <= terms; n += kChains)
#pragma GCC unroll 2
    for (std::uint32_t chain = 0; chain < kChains; ++chain) add(chain, n + chain);
  if (n < terms) add(0, n);
#pragma GCC unroll 8
  for (std::uint32_t i = 0; i < I; ++i) {
    if constexpr (kChains == 2) {
      straight[0][i] = straight[0][i] + straight[1][i];
      turned[0][i] = turned[0][i] + turned[1][i];
    }
    sums[i].add(joined(straight[0][i], turned[0][i]));
  }
}

struct HalfProductRows {
  template <std::uint32_t I, std::uint32_t, typename T, typename Lanes>
  static void run(ArrayShape shape, const T* w, const Lanes& of_w, const float* scale,
                  const Doubled& y, std::uint32_t part, Tile* s) {
    WideSums sums[I];
    for (std::uint32_t first = 0; first < shape.antennas; first += kHalfTerms)
      add_products(w + first, of_w, shape.antenna_stride, y.real + first, y.imaginary + first,
                   std::min(kHalfTerms, shape.antennas - first), part, sums);
    constexpr std::uint32_t pairs = kLanes / 2, vectors = sizeof sums[0].sum / sizeof(Vf);
    for (std::uint32_t i = 0; i < I; ++i)
      for (std::uint32_t v = 0; v < vectors; ++v) {
        const Vf scaled = sums[i].sum[v] * scale[i];
        const Vf parts = picked<kSeparated>(scaled);
        const std::uint32_t lane = (part * vectors + v) * pairs;
        std::memcpy(s[i].re + lane, &parts, sizeof parts / 2);
        std::memcpy(s[i].im + lane, reinterpret_cast<const float*>(&parts) + pairs,
                    sizeof parts / 2);
      }
  }
};

template <typename T, typename Lanes>
void product_of_halves(ArrayShape shape, const T* w, const Lanes& of_w, const float* scale,
                       const HalfTile* y, Tile* s) {
  for (std::uint32_t part = 0; part < kParts; ++part) {
    Doubled both;
    for (std::uint32_t a = 0; a < shape.antennas; ++a) {
      const Pairs received = part_of(y[a], part, HalfOwn{});
      both.real[a] = doubled<kRealTwice>(received);
      both.imaginary[a] = doubled<kImaginaryTwice>(received);
    }
    for (std::uint32_t k = 0; k < shape.users; k += kUsersAtOnce)
      with_size<HalfProductRows, kUsersAtOnce, 1>(std::min(kUsersAtOnce, shape.users - k), 1, shape,
                                                  w + std::size_t{k} * shape.antenna_stride, of_w,
                                                  scale + k, both, part, s + k);
  }
}

}  // namespace
