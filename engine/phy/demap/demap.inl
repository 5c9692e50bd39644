// Included inside an instruction set's namespace (phy/simd/*_begin.inl).

namespace {

#if CARILLON_SIMD_AVX512
// With all lanes: GCC 12 warns of the undefined source of the unmasked forms.
[[gnu::always_inline]] inline Vf round_down(Vf x) { return _mm512_floor_ps(x); }
[[gnu::always_inline]] inline Vf smaller(Vf a, Vf b) { return _mm512_maskz_min_ps(0xFFFF, a, b); }
[[gnu::always_inline]] inline Vf larger(Vf a, Vf b) { return _mm512_maskz_max_ps(0xFFFF, a, b); }
#else
[[gnu::always_inline]] inline Vf round_down(Vf x) { return _mm256_floor_ps(x); }
[[gnu::always_inline]] inline Vf smaller(Vf a, Vf b) { return _mm256_min_ps(a, b); }
[[gnu::always_inline]] inline Vf larger(Vf a, Vf b) { return _mm256_max_ps(a, b); }
#endif

inline float sum(Vf x) {
  float lanes[kLanes];
  store(lanes, x);
  for (std::uint32_t width = kLanes / 2; width > 0; width /= 2)
    for (std::uint32_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  return lanes[0];
}

inline constexpr std::uint32_t kVectors = kTileLanes / kLanes;
inline constexpr std::int32_t kSignBit = std::numeric_limits<std::int32_t>::min();

[[gnu::always_inline]] inline Vf magnitude(Vf x) { return (Vf)((Vi)x & ~kSignBit); }
[[gnu::always_inline]] inline Vf with_sign_of(Vf x, Vf sign) {
  return (Vf)((Vi)x ^ ((Vi)sign & kSignBit));
}

// kLevels bits for each component.
template <int kLevels>
inline constexpr float kAmplitude = half_distance(static_cast<Modulation>(2 * kLevels));

// The points of one component in units of the amplitude are ±1, ±3, … ±(2 kMost + 1): which pair of
// them lies nearest to magnitude x.
template <int kMost>
[[gnu::always_inline]] inline Vf nearest_pair(Vf x) {
  return smaller(round_down(x * 0.5F), broadcast(kMost));
}

// The sixteen soft bits of a plane, rounded and saturated.
[[gnu::always_inline]] inline void store_soft(std::int8_t* plane, const Vf (&llr)[kVectors]) {
  const auto rounded = [](Vf x) {
    const Vf in_range = larger(smaller(x, broadcast(kLlrLimit)), broadcast(-kLlrLimit));
#if CARILLON_SIMD_AVX512
    return _mm512_maskz_cvtps_epi32(0xFFFF, in_range);
#else
    const __m256i wide = _mm256_cvtps_epi32(in_range);
    return _mm_packs_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
#endif
  };
#if CARILLON_SIMD_AVX512
  const __m128i soft = _mm512_maskz_cvtepi32_epi8(0xFFFF, rounded(llr[0]));
#else
  const __m128i soft = _mm_packs_epi16(rounded(llr[0]), rounded(llr[1]));
#endif
  _mm_storeu_si128(reinterpret_cast<__m128i*>(plane), soft);
}

// Exact max-log LLRs. With x in units of the amplitude a, and points at ±1, ±3, …, the nearest
// point of the other sign is at 1 and that of the same sign at 2m + 1, so the sign bit's LLR is
// ((|x| + 1)² - (|x| - 2m - 1)²) a²/σ² = 4 (m + 1) (|x| - m) a²/σ². The next bit says on which side
// of the middle point |x| lies: the same constellation, half as large, around it.
template <int kLevels>
void demap_levels(const Tile& s, const float* noise, std::int8_t (*planes)[16]) {
  constexpr float a = kAmplitude<kLevels>;
  Vf x[2][kVectors], scale[kVectors];
  for (std::uint32_t v = 0; v < kVectors; ++v) {
    const Vf variance = larger(load(noise + v * kLanes), broadcast(1e-30F));
    scale[v] = broadcast(kLlrScale * 4 * a * a) / variance;
    x[0][v] = load(s.re + v * kLanes) * (1 / a);
    x[1][v] = load(s.im + v * kLanes) * (1 / a);
  }
  const auto level = [&]<int kLevel>() __attribute__((always_inline)) {
    constexpr int kHalf = 1 << (kLevels - 1 - kLevel);
    for (int component = 0; component < 2; ++component) {
      Vf llr[kVectors];
      for (std::uint32_t v = 0; v < kVectors; ++v) {
        Vf& point = x[component][v];
        const Vf size = magnitude(point);
        if constexpr (kHalf == 1) {
          llr[v] = point * scale[v];
        } else {
          const Vf m = nearest_pair<kHalf - 1>(size);
          llr[v] = with_sign_of((m + 1.0F) * (size - m) * scale[v], point);
        }
        point = static_cast<float>(kHalf) - size;
      }
      store_soft(planes[2 * kLevel + component], llr);
    }
  };
  [&]<int... kLevel>(std::integer_sequence<int, kLevel...>) __attribute__((always_inline)) {
    (level.template operator()<kLevel>(), ...);
  }
  (std::make_integer_sequence<int, kLevels>{});
}

void demap(Modulation modulation, const Tile& s, const float* noise,
           std::int8_t (*planes)[16]) noexcept {
  switch (modulation) {
    case Modulation::Qpsk: return demap_levels<1>(s, noise, planes);
    case Modulation::Qam16: return demap_levels<2>(s, noise, planes);
    case Modulation::Qam64: return demap_levels<3>(s, noise, planes);
    case Modulation::Qam256: return demap_levels<4>(s, noise, planes);
  }
}

template <int kLevels>
float error_power_levels(const Tile& s, std::uint32_t mask) {
  constexpr float a = kAmplitude<kLevels>;
  Vf total{};
  for (std::uint32_t v = 0; v < kVectors; ++v) {
    Vf lanes{};
    for (const float* part : {s.re, s.im}) {
      const Vf size = magnitude(load(part + v * kLanes)) * (1 / a);
      const Vf error = size - (2.0F * nearest_pair<(1 << (kLevels - 1)) - 1>(size) + 1.0F);
      lanes += error * error;
    }
    Vi wanted;
    for (std::uint32_t i = 0; i < kLanes; ++i) wanted[i] = 1 << (v * kLanes + i);
    total += (Vf)((Vi)lanes & (((static_cast<std::int32_t>(mask) & wanted)) != 0));
  }
  return sum(total) * (a * a);
}

float error_power(Modulation modulation, const Tile& s, std::uint32_t mask) noexcept {
  switch (modulation) {
    case Modulation::Qpsk: return error_power_levels<1>(s, mask);
    case Modulation::Qam16: return error_power_levels<2>(s, mask);
    case Modulation::Qam64: return error_power_levels<3>(s, mask);
    case Modulation::Qam256: return error_power_levels<4>(s, mask);
  }
  return 0;
}

// Negated where the lane's bit is set.
[[gnu::always_inline]] inline __m128i flip(__m128i soft, std::uint16_t signs) {
#if CARILLON_SIMD_AVX512
  return _mm_mask_sub_epi8(soft, signs, _mm_setzero_si128(), soft);
#else
  const __m128i byte_of = _mm_set_epi8(1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0);
  const __m128i bit_of = _mm_set1_epi64x(static_cast<long long>(0x8040201008040201));
  const __m128i spread = _mm_shuffle_epi8(_mm_cvtsi32_si128(signs), byte_of);
  const __m128i set = _mm_cmpeq_epi8(_mm_and_si128(spread, bit_of), bit_of);
  return _mm_sub_epi8(_mm_xor_si128(soft, set), set);
#endif
}

// Lanes [first, first + count) to `place`, and nothing else.
[[gnu::always_inline]] inline void store_lanes(std::int8_t* place, __m128i soft,
                                               std::uint32_t first, std::uint32_t count) {
#if CARILLON_SIMD_AVX512
  const auto lanes = static_cast<__mmask16>(((1U << count) - 1) << first);
  _mm_mask_storeu_epi8(place - first, lanes, soft);
#else
  if (count == kTileLanes) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(place), soft);
  } else {
    std::int8_t all[kTileLanes];
    std::memcpy(all, &soft, sizeof all);
    std::memcpy(place, all + first, count);
  }
#endif
}

void store_planes(const SoftMap& map, std::uint32_t re, std::uint32_t first, std::uint32_t count,
                  const std::int8_t (*planes)[16], const std::uint16_t* signs,
                  std::int8_t* soft) noexcept {
  std::uint32_t e = re;
  for (std::uint32_t i = 0; i < map.bits; ++i, e += map.plane_stride) {
    const __m128i plane =
        flip(_mm_loadu_si128(reinterpret_cast<const __m128i*>(planes[i])), signs[i]);
    if (!map.direct) {
      store_lanes(soft + e, plane, first, count);
      continue;
    }
    for (std::uint32_t p = 0; p < map.piece_count; ++p) {
      const SoftPiece& piece = map.pieces[p];
      const std::uint32_t begin = std::max(e, piece.e);
      const std::uint32_t end = std::min(e + count, piece.e + piece.count);
      if (begin >= end) continue;
      store_lanes(soft + piece.d + (begin - piece.e), plane, first + (begin - e), end - begin);
      if (end == e + count) break;
    }
  }
}

// place += from, kept within ±kLlrLimit.
[[gnu::always_inline]] inline void add_soft(std::int8_t* place, const std::int8_t* from,
                                            std::uint32_t count) {
  constexpr int kLimit = static_cast<int>(kLlrLimit);
  std::uint32_t i = 0;
  for (; i + 32 <= count; i += 32) {
    auto* const to = reinterpret_cast<__m256i*>(place + i);
    const __m256i sum = _mm256_adds_epi8(
        _mm256_loadu_si256(to), _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i)));
    _mm256_storeu_si256(to, _mm256_max_epi8(sum, _mm256_set1_epi8(-kLimit)));
  }
  for (; i < count; ++i)
    place[i] = static_cast<std::int8_t>(std::clamp(place[i] + from[i], -kLimit, kLimit));
}

void recover(const SoftMap& map, const std::int8_t* e, std::int8_t* d) noexcept {
  std::memset(d, 0, map.Ncb);
  for (std::uint32_t lap = 0; lap < map.E; lap += map.lap)
    for (std::uint32_t p = 0; p < map.piece_count; ++p) {
      const SoftPiece& piece = map.pieces[p];
      if (lap + piece.e >= map.E) break;
      add_soft(d + piece.d, e + lap + piece.e, std::min(piece.count, map.E - lap - piece.e));
    }
}

}  // namespace

const DemapKernels demap_kernels{
    .demap = demap, .store = store_planes, .recover = recover, .error_power = error_power};
