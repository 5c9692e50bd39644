// Tiles in half precision to and from native vectors of floats. Included inside an instruction
// set's namespace, after its begin file.

namespace {

/// Floats of the pairs in a tile.
inline constexpr std::uint32_t kTileFloats = 2 * kTileLanes;

/// kLanes / 2 pairs.
using HalfPairs [[gnu::vector_size(kLanes * 2)]] = std::int32_t;

/// As floats: re, im, re, im, …
[[gnu::always_inline]] inline Vf widened(HalfPairs halves) {
#if CARILLON_SIMD_AVX512
  return reinterpret_cast<Vf>(_mm512_maskz_cvtph_ps(0xFFFF, reinterpret_cast<__m256i>(halves)));
#else
  return reinterpret_cast<Vf>(_mm256_cvtph_ps(reinterpret_cast<__m128i>(halves)));
#endif
}
[[gnu::always_inline]] inline Vf load_pairs(const HalfComplex* at) {
  HalfPairs halves;
  std::memcpy(&halves, at, sizeof halves);
  return widened(halves);
}

/// Rounded to nearest (ties to even).
[[gnu::always_inline]] inline HalfPairs narrowed(Vf floats) {
#if CARILLON_SIMD_AVX512
  return reinterpret_cast<HalfPairs>(
      _mm512_maskz_cvtps_ph(0xFFFF, reinterpret_cast<__m512>(floats), _MM_FROUND_TO_NEAREST_INT));
#else
  return reinterpret_cast<HalfPairs>(
      _mm256_cvtps_ph(reinterpret_cast<__m256>(floats), _MM_FROUND_TO_NEAREST_INT));
#endif
}

/// One pair in all places.
[[gnu::always_inline]] inline Vf broadcast_pair(HalfComplex pair) {
  const auto bits = std::bit_cast<std::int32_t>(pair);
#if CARILLON_SIMD_AVX512
  return reinterpret_cast<Vf>(_mm512_maskz_cvtph_ps(0xFFFF, _mm256_set1_epi32(bits)));
#else
  return reinterpret_cast<Vf>(_mm256_cvtph_ps(_mm_set1_epi32(bits)));
#endif
}

/// Lanes of re and im as pairs, rounded to nearest (ties to even).
[[gnu::always_inline]] inline void store_pairs(HalfComplex* at, __m256 re, __m256 im) {
  const __m128i r = _mm256_cvtps_ph(re, _MM_FROUND_TO_NEAREST_INT);
  const __m128i i = _mm256_cvtps_ph(im, _MM_FROUND_TO_NEAREST_INT);
  auto* to = reinterpret_cast<__m128i*>(at);
  _mm_storeu_si128(to, _mm_unpacklo_epi16(r, i));
  _mm_storeu_si128(to + 1, _mm_unpackhi_epi16(r, i));
}
#if CARILLON_SIMD_AVX512
[[gnu::always_inline]] inline void store_pairs(HalfComplex* at, __m512 re, __m512 im) {
  constexpr __mmask16 all = 0xFFFF;
  const __m256i r = _mm512_maskz_cvtps_ph(all, re, _MM_FROUND_TO_NEAREST_INT);
  const __m256i i = _mm512_maskz_cvtps_ph(all, im, _MM_FROUND_TO_NEAREST_INT);
  const auto low = reinterpret_cast<Vi>(_mm512_maskz_cvtepu16_epi32(all, r));
  const auto high = reinterpret_cast<Vi>(_mm512_maskz_cvtepu16_epi32(all, i));
  const Vi pairs = low | high << 16;
  std::memcpy(at, &pairs, sizeof pairs);
}
#endif

}  // namespace
