// The instruction that products of 16-bit integers are made of. Included inside an instruction
// set's namespace, after its begin file.
namespace {

/// sum + a₀·b₀ + a₁·b₁ of each 32 bits' two integers, modulo 2³².
[[gnu::always_inline]] inline Vi add_pairs(Vi sum, Vi a, Vi b) {
#if CARILLON_SIMD_AVX512
  return reinterpret_cast<Vi>(_mm512_dpwssd_epi32(
      reinterpret_cast<__m512i>(sum), reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#else
  return sum + reinterpret_cast<Vi>(
                   _mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#endif
}

}  // namespace
