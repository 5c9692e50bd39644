// Vectors of int8 LLRs and the few operations a decoder makes of them.

namespace {

inline constexpr std::uint32_t kByteLanes = CARILLON_SIMD_AVX512 ? 64 : 32;
using Vb [[gnu::vector_size(kByteLanes)]] = signed char;
using Signs = std::conditional_t<kByteLanes == 64, std::uint64_t, std::uint32_t>;

[[gnu::always_inline]] inline Vb load_bytes(const std::int8_t* p) {
  Vb v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
[[gnu::always_inline]] inline void store_bytes(std::int8_t* p, Vb v) {
  std::memcpy(p, &v, sizeof v);
}
[[gnu::always_inline]] inline Vb broadcast_byte(int x) {
  return static_cast<signed char>(x) - Vb{};
}

#if CARILLON_SIMD_AVX512

[[gnu::always_inline]] inline __m512i raw(Vb v) { return reinterpret_cast<__m512i>(v); }
[[gnu::always_inline]] inline Vb bytes(__m512i v) { return reinterpret_cast<Vb>(v); }

[[gnu::always_inline]] inline Vb add_saturated(Vb a, Vb b) {
  return bytes(_mm512_adds_epi8(raw(a), raw(b)));
}
[[gnu::always_inline]] inline Vb subtract_saturated(Vb a, Vb b) {
  return bytes(_mm512_subs_epi8(raw(a), raw(b)));
}
[[gnu::always_inline]] inline Vb subtract_to_zero(Vb a, Vb b) {
  return bytes(_mm512_subs_epu8(raw(a), raw(b)));
}
[[gnu::always_inline]] inline Vb add_counts(Vb a, Vb b) {
  return bytes(_mm512_adds_epu8(raw(a), raw(b)));
}
[[gnu::always_inline]] inline Vb smaller(Vb a, Vb b) {
  return bytes(_mm512_min_epu8(raw(a), raw(b)));
}
[[gnu::always_inline]] inline Vb larger(Vb a, Vb b) {
  return bytes(_mm512_max_epu8(raw(a), raw(b)));
}
[[gnu::always_inline]] inline Vb larger_signed(Vb a, Vb b) {
  return bytes(_mm512_max_epi8(raw(a), raw(b)));
}
// By a test: vpmovb2m would need the port that minima and saturating additions keep busy.
[[gnu::always_inline]] inline Signs signs(Vb v) {
  return _mm512_test_epi8_mask(raw(v), _mm512_set1_epi8(-128));
}
// Counts, one higher where v is negative.
[[gnu::always_inline]] inline Vb count_negative(Vb counts, Vb v) {
  return bytes(_mm512_mask_add_epi8(raw(counts), signs(v), raw(counts), _mm512_set1_epi8(1)));
}
// v negated where `where` is negative.
[[gnu::always_inline]] inline Vb negated(Vb v, Vb where) {
  return bytes(_mm512_mask_sub_epi8(raw(v), signs(where), __m512i{}, raw(v)));
}
[[gnu::always_inline]] inline Vb magnitude(Vb v) { return bytes(_mm512_abs_epi8(raw(v))); }
// a == b ? yes : no
[[gnu::always_inline]] inline Vb choose_equal(Vb a, Vb b, Vb yes, Vb no) {
  return bytes(_mm512_mask_mov_epi8(raw(no), _mm512_cmpeq_epi8_mask(raw(a), raw(b)), raw(yes)));
}
// Bytes of a and b in turn, of the first and of the second half of each 16.
[[gnu::always_inline]] inline Vb zip_low(Vb a, Vb b) {
  return bytes(_mm512_unpacklo_epi8(raw(a), raw(b)));
}
[[gnu::always_inline]] inline Vb zip_high(Vb a, Vb b) {
  return bytes(_mm512_unpackhi_epi8(raw(a), raw(b)));
}

#else

[[gnu::always_inline]] inline __m256i raw(Vb v) { return reinterpret_cast<__m256i>(v); }
[[gnu::always_inline]] inline Vb bytes(__m256i v) { return reinterpret_cast<Vb>(v); }

[[gnu::always_inline]] inline Vb add_saturated(Vb a, Vb b) {
  return bytes(_mm256_adds_epi8(raw(a), raw(b)));
}
[[gnu::always_inline]] inline Vb subtract_saturated(Vb a, Vb b) {
  return bytes(_mm256_subs_epi8(raw(a), raw(b)));
}
[[gnu::always_inline]] inline Vb subtract_to_zero(Vb a, Vb b) {
  return bytes(_mm256_subs_epu8(raw(a), raw(b)));
}
[[gnu::always_inline]] inline Vb add_counts(Vb a, Vb b) {
  return bytes(_mm256_adds_epu8(raw(a), raw(b)));
}
[[gnu::always_inline]] inline Vb smaller(Vb a, Vb b) {
  return bytes(_mm256_min_epu8(raw(a), raw(b)));
}
[[gnu::always_inline]] inline Vb larger(Vb a, Vb b) {
  return bytes(_mm256_max_epu8(raw(a), raw(b)));
}
[[gnu::always_inline]] inline Vb larger_signed(Vb a, Vb b) {
  return bytes(_mm256_max_epi8(raw(a), raw(b)));
}
[[gnu::always_inline]] inline Signs signs(Vb v) {
  return static_cast<Signs>(_mm256_movemask_epi8(raw(v)));
}
[[gnu::always_inline]] inline Vb count_negative(Vb counts, Vb v) { return counts - (v < Vb{}); }
// v negated where `where` is negative: vpsignb makes zero of v where `where` is zero, so a one is
// set there.
[[gnu::always_inline]] inline Vb negated(Vb v, Vb where) {
  return bytes(_mm256_sign_epi8(raw(v), raw(where | broadcast_byte(1))));
}
[[gnu::always_inline]] inline Vb magnitude(Vb v) { return bytes(_mm256_abs_epi8(raw(v))); }
[[gnu::always_inline]] inline Vb choose_equal(Vb a, Vb b, Vb yes, Vb no) {
  return bytes(_mm256_blendv_epi8(raw(no), raw(yes), raw(Vb(a == b))));
}
[[gnu::always_inline]] inline Vb zip_low(Vb a, Vb b) {
  return bytes(_mm256_unpacklo_epi8(raw(a), raw(b)));
}
[[gnu::always_inline]] inline Vb zip_high(Vb a, Vb b) {
  return bytes(_mm256_unpackhi_epi8(raw(a), raw(b)));
}

#endif

// Of `count` soft bits, those that are weak and not 0, on top of `before`; more than kMostWeak need
// not be counted.
inline std::uint32_t count_weak(const std::int8_t* soft, std::uint32_t count,
                                std::uint32_t before) {
  using Unsigned [[gnu::vector_size(kByteLanes)]] = unsigned char;
  for (std::uint32_t i = 0; i < count && before <= kMostWeak; i += kByteLanes) {
    Vb v = {};
    std::memcpy(&v, soft + i, std::min(kByteLanes, count - i));
    const auto less_one = reinterpret_cast<Unsigned>(magnitude(v)) - 1;  // of 0: the most
    before +=
        static_cast<std::uint32_t>(std::popcount(signs(reinterpret_cast<Vb>(less_one < kWeak))));
  }
  return before;
}

}  // namespace
