// Blocks of sums of complex products over tiles, all accumulators in registers: every matrix
// operation of the antenna array is this one loop with other strides. Included inside an
// instruction set's namespace, after its begin file.

#include "phy/simd/lanes.inl"

namespace {

/// Native vectors in a tile.
inline constexpr std::uint32_t kTileVectors = kTileLanes / kLanes;

struct ComplexVf {
  Vf re, im;
};

[[gnu::always_inline]] inline ComplexVf load(const Tile& tile, std::uint32_t lane) {
  return {load(tile.re + lane), load(tile.im + lane)};
}
[[gnu::always_inline]] inline void store(Tile& tile, std::uint32_t lane, ComplexVf v) {
  store(tile.re + lane, v.re);
  store(tile.im + lane, v.im);
}

using Own = OwnLanes<kLanes>;
template <typename Lanes>
[[gnu::always_inline]] inline ComplexVf load(const Tile& tile, std::uint32_t lane,
                                             const Lanes& lanes) {
  return {lanes.template pick<Vf>(tile.re, lane), lanes.template pick<Vf>(tile.im, lane)};
}

// A scalar is the same in all lanes.
[[gnu::always_inline]] inline ComplexVf load(Complex scalar, std::uint32_t) {
  return {broadcast(scalar.re), broadcast(scalar.im)};
}
[[gnu::always_inline]] inline ComplexVf load(Complex scalar, std::uint32_t lane, Own) {
  return load(scalar, lane);
}

#if CARILLON_SIMD_AVX512
[[gnu::always_inline]] inline ComplexVf loaded_once(ComplexVf v) {
  asm("" : "+v"(v.re), "+v"(v.im));  // side by side: one by one is slower from the L2 cache
  return v;
}
#else  // registers are too few
[[gnu::always_inline]] inline ComplexVf loaded_once(ComplexVf v) { return v; }
#endif

/// One factor of a sum of products: distances between neighbouring entries of the block and between
/// neighbouring terms of the sum. T is Tile or Complex. matrix_vector() takes it by reference: by
/// value GCC stores its words and copies them in vectors, which waits for the stores.
/// int16_product() is not faster for that.
template <typename T>
struct Factor {
  const T* at;
  std::size_t across, along;
};

/// A block of I×J sums, V vectors of lanes each.
template <std::uint32_t I, std::uint32_t J, std::uint32_t V = 1>
struct Block {
  ComplexVf sum[I][J][V] = {};

  /// sum[i][j] += Σ left[i]·right[j], or conj(left[i])·right[j], over `terms` terms.
  template <bool kConjugate, typename T = Tile, typename Lanes = Own>
  [[gnu::always_inline]] void add(Factor<T> left, Factor<Tile> right, std::uint32_t terms,
                                  std::uint32_t lane, const Lanes& of_left = {}) {
    for (; terms != 0; --terms, left.at += left.along, right.at += right.along) {
      ComplexVf r[J][V];
#pragma GCC unroll 8
      for (std::uint32_t j = 0; j < J; ++j)
#pragma GCC unroll 2
        for (std::uint32_t v = 0; v < V; ++v)
          r[j][v] = load(right.at[j * right.across], lane + v * kLanes);
#pragma GCC unroll 8
      for (std::uint32_t i = 0; i < I; ++i)
#pragma GCC unroll 2
        for (std::uint32_t v = 0; v < V; ++v) {
          const ComplexVf l =
              loaded_once(load(left.at[i * left.across], lane + v * kLanes, of_left));
          const Vf turned = kConjugate ? -l.im : l.im;
#pragma GCC unroll 8
          for (std::uint32_t j = 0; j < J; ++j) {
            ComplexVf& to = sum[i][j][v];
            to.re = to.re + l.re * r[j][v].re - turned * r[j][v].im;
            to.im = to.im + l.re * r[j][v].im + turned * r[j][v].re;
          }
        }
    }
  }
};

/// Calls Op::run<rows, columns>(arguments…) for rows ≤ I, columns ≤ J known only at run time.
template <typename Op, std::uint32_t I, std::uint32_t J, typename... Arguments>
[[gnu::always_inline]] inline void with_size(std::uint32_t rows, std::uint32_t columns,
                                             const Arguments&... arguments) {
  if constexpr (I > 1)
    if (rows < I) return with_size<Op, I - 1, J>(rows, columns, arguments...);
  if constexpr (J > 1)
    if (columns < J) return with_size<Op, I, J - 1>(rows, columns, arguments...);
  Op::template run<I, J>(arguments...);
}

struct ProductRows {
  template <std::uint32_t I, std::uint32_t, typename T, typename Lanes>
  static void run(std::uint32_t first, const Factor<T>& w, const Lanes& of_w, std::uint32_t terms,
                  const Tile* in, Tile* out) {
    const Factor<T> rows = {w.at + first * w.across, w.across, w.along};
    Block<I, 1, kTileVectors> block;
    block.template add<false>(rows, {in, 0, 1}, terms, 0, of_w);
#pragma GCC unroll 8
    for (std::uint32_t i = 0; i < I; ++i)
#pragma GCC unroll 2
      for (std::uint32_t v = 0; v < kTileVectors; ++v)
        store(out[first + i], v * kLanes, block.sum[i][0][v]);
  }
};

/// out[i] = Σ w(i, n)·in[n] for i < entries, n < terms. Every w is used once per call, so that its
/// way from the cache is the bound; several entries at a time share each load of `in` and hide each
/// other's latency.
template <typename T, typename Lanes>
void matrix_vector(const Factor<T>& w, const Lanes& of_w, std::uint32_t entries,
                   std::uint32_t terms, const Tile* in, Tile* out) {
  // In AVX2 three entries of a tile fill all registers, and spill in groups; scalars need more.
  constexpr std::uint32_t kEntries = CARILLON_SIMD_AVX512 ? 8 : (std::is_same_v<T, Tile> ? 3 : 2);
  for (std::uint32_t i = 0; i < entries; i += kEntries)
    with_size<ProductRows, kEntries, 1>(std::min(kEntries, entries - i), 1, i, w, of_w, terms, in,
                                        out);
}

// The sums of I terms, after those before them if there are more.
struct ProductTerms {
  template <std::uint32_t I, std::uint32_t, typename T, typename Lanes>
  static void run(const T* w, const Lanes& of_w, std::size_t stride, std::uint32_t entries,
                  bool more, const Tile* in, Tile* out) {
    ComplexVf factor[I][kTileVectors];
#pragma GCC unroll 8
    for (std::uint32_t i = 0; i < I; ++i)
#pragma GCC unroll 2
      for (std::uint32_t v = 0; v < kTileVectors; ++v) factor[i][v] = load(in[i], v * kLanes);
    for (std::uint32_t j = 0; j < entries; ++j) {
      ComplexVf sum[kTileVectors] = {};
#pragma GCC unroll 2
      for (std::uint32_t v = 0; v < kTileVectors; ++v) {
        if (more) sum[v] = load(out[j], v * kLanes);
#pragma GCC unroll 8
        for (std::uint32_t i = 0; i < I; ++i) {
          const ComplexVf l = load(w[i * stride + j], v * kLanes, of_w), r = factor[i][v];
          sum[v].re = sum[v].re + l.re * r.re - l.im * r.im;
          sum[v].im = sum[v].im + l.re * r.im + l.im * r.re;
        }
        store(out[j], v * kLanes, sum[v]);
      }
    }
  }
};

/// out[j] = Σ w(n, j)·in[n] for j < entries, n < terms, where each term's w(n, ·) are neighbours:
/// some terms stay in registers while their rows pass by, so that w is read in order.
template <typename T, typename Lanes>
void vector_matrix(const T* w, const Lanes& of_w, std::size_t stride, std::uint32_t entries,
                   std::uint32_t terms, const Tile* in, Tile* out) {
  constexpr std::uint32_t kTerms = CARILLON_SIMD_AVX512 ? 8 : 3;
  for (std::uint32_t n = 0; n < terms;) {
    const std::uint32_t left = terms - n, rounds = (left + kTerms - 1) / kTerms;
    const std::uint32_t now = (left + rounds - 1) / rounds;
    with_size<ProductTerms, kTerms, 1>(now, 1, w + n * stride, of_w, stride, entries, n > 0, in + n,
                                       out);
    n += now;
  }
}

}  // namespace
