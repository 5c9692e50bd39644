// Vectors of the native width. Included inside an instruction set's namespace and target pragma;
// no include guard: each set has its own. Everything here and in kernels built on it is internal to
// the translation unit, so that no symbol compiled for one set can be linked into another.

namespace {

/// f(0), f(1), … f(N - 1), the numbers known when it is compiled.
template <std::uint32_t N, typename F>
[[gnu::always_inline]] inline void unroll(F&& f) {
  [&]<std::size_t... J>(std::index_sequence<J...>) __attribute__((always_inline)) {
    (f(std::integral_constant<std::size_t, J>{}), ...);
  }
  (std::make_index_sequence<N>{});
}

/// Floats in a native vector: a tile of `phy` is kTileLanes / kLanes of them.
inline constexpr std::uint32_t kLanes = CARILLON_SIMD_AVX512 ? 16 : 8;

using Vf [[gnu::vector_size(kLanes * 4)]] = float;
using Vi [[gnu::vector_size(kLanes * 4)]] = std::int32_t;

[[gnu::always_inline]] inline Vf load(const float* p) {
  Vf v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
[[gnu::always_inline]] inline void store(float* p, Vf v) { std::memcpy(p, &v, sizeof v); }
[[gnu::always_inline]] inline Vf broadcast(float x) { return x - Vf{}; }
/// One load for all uses of v, where GCC would make one for each.
template <typename V>
[[gnu::always_inline]] inline V loaded_once(V v) {
  asm("" : "+v"(v));
  return v;
}
[[gnu::always_inline]] inline Vf square_root(Vf v) {
#if CARILLON_SIMD_AVX512
  return reinterpret_cast<Vf>(_mm512_maskz_sqrt_ps(0xFFFF, reinterpret_cast<__m512>(v)));
#else
  return reinterpret_cast<Vf>(_mm256_sqrt_ps(reinterpret_cast<__m256>(v)));
#endif
}

}  // namespace
