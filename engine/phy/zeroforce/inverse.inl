// The inverse of a Gram matrix of tiles plus a diagonal, in place: A → Cholesky factor L → L⁻¹ →
// L⁻ᴴL⁻¹. Only the lower triangle of A is read.

namespace {

// A block's accumulators, a column of its right factor and an entry of its left one fill the 32
// (AVX2: 16) registers without spilling.
inline constexpr std::uint32_t kRows = CARILLON_SIMD_AVX512 ? 4 : 2;
inline constexpr std::uint32_t kColumns = 2;

// A channel with less power is none; with more, the inverse leaves the range of a float.
inline constexpr float kLeastPower = 1e-30F, kMostPower = 1e30F;

struct Square {
  Tile* at;
  std::uint32_t size;
  std::size_t stride;  // odd, else a column would fall on few cache sets

  Tile& operator()(std::uint32_t i, std::uint32_t j) const { return at[i * stride + j]; }

  // Factors that start at (i, j): entries along the row and terms down the column, or the reverse.
  Factor<Tile> along_row(std::uint32_t i, std::uint32_t j) const {
    return {&(*this)(i, j), 1, stride};
  }
  Factor<Tile> down_column(std::uint32_t i, std::uint32_t j) const {
    return {&(*this)(i, j), stride, 1};
  }
};

/// Covers a lower triangle with blocks Op::run<rows, columns>(i, j, lane, arguments…), row block by
/// row block; those on the diagonal start at it.
template <typename Op, typename... Arguments>
[[gnu::always_inline]] inline void for_lower_blocks(std::uint32_t size,
                                                    const Arguments&... arguments) {
  for (std::uint32_t top = 0; top < size; top += kRows) {
    const std::uint32_t end = std::min(top + kRows, size);
    for (std::uint32_t j = 0; j < end; j += kColumns) {
      const std::uint32_t i = std::max(top, j);
      for (std::uint32_t lane = 0; lane < kTileLanes; lane += kLanes)
        with_size<Op, kRows, kColumns>(end - i, std::min(kColumns, end - j), i, j, lane,
                                       arguments...);
    }
  }
}

[[gnu::always_inline]] inline std::uint32_t count_lanes(Vi mask) {
#if CARILLON_SIMD_AVX512
  const int lanes = _mm512_movepi32_mask((__m512i)mask);
#else
  const int lanes = _mm256_movemask_ps((__m256)mask);
#endif
  return static_cast<std::uint32_t>(__builtin_popcount(static_cast<unsigned>(lanes)));
}

// What is on the diagonal of a Gram matrix and what is added to it.
struct Diagonal {
  Tile* at;     // [user] re: the user's power, 0 where it has no channel; im: loading
  float noise;  // added for all users

  Vf power(std::uint32_t user, std::uint32_t lane) const { return load(at[user].re + lane); }
  Vf loading(std::uint32_t user, std::uint32_t lane) const { return load(at[user].im + lane); }
  Vf added(std::uint32_t user, std::uint32_t lane) const { return loading(user, lane) + noise; }
};

// Fills the diagonal, loaded in the lanes of `loaded`. A user without a channel gets the identity's
// row and column, so that the others do not notice it. Returns the lanes with such a user.
Vi separate_lost(const Square& g, const Diagonal& diagonal, Vi loaded, std::uint32_t lane) {
  Vi any_lost = {};
  for (std::uint32_t k = 0; k < g.size; ++k) {
    const Vf power = load(g(k, k).re + lane);
    const Vi usable = (power > kLeastPower) & (power < kMostPower);
    const Vf known = (Vf)((Vi)power & usable);
    store(diagonal.at[k].re + lane, known);
    store(diagonal.at[k].im + lane, (Vf)((Vi)(known * kLoading) & loaded));
    any_lost |= ~usable;
  }
  if (count_lanes(any_lost) == 0) return any_lost;
  for (std::uint32_t k = 0; k < g.size; ++k) {
    const Vf power = diagonal.power(k, lane);
    const Vi usable = power > 0;
    const auto keep = [&](Tile& entry) {
      const ComplexVf was = load(entry, lane);
      store(entry, lane, {(Vf)((Vi)was.re & usable), (Vf)((Vi)was.im & usable)});
    };
    for (std::uint32_t i = 0; i < k; ++i) keep(g(k, i));
    for (std::uint32_t i = k + 1; i < g.size; ++i) keep(g(i, k));
    store(g(k, k).re + lane, usable ? power : broadcast(1));
  }
  return any_lost;
}

// Rows i…i+J-1 of column j of the factor.
struct CholeskyRun {
  template <std::uint32_t, std::uint32_t J>
  static void run(const Square& a, std::uint32_t i, std::uint32_t j, Vf inverse,
                  std::uint32_t lane) {
    Block<1, J> block;
    block.template add<true>(a.down_column(j, 0), a.down_column(i, 0), j, lane);
#pragma GCC unroll 4
    for (std::uint32_t r = 0; r < J; ++r) {
      const ComplexVf was = load(a(i + r, j), lane), sum = block.sum[0][r][0];
      store(a(i + r, j), lane, {(was.re - sum.re) * inverse, (was.im - sum.im) * inverse});
    }
  }
};

// A + diagonal → L, with 1/L(j, j) on the diagonal. Pivots that rounding makes smaller than they
// can be in a loaded matrix are raised; in one without loading that amplifies beyond the limit.
void cholesky(const Square& a, const Diagonal& diagonal, std::uint32_t lane) {
  for (std::uint32_t j = 0; j < a.size; ++j) {
    Block<1, 1> explained;
    explained.add<true>(a.down_column(j, 0), a.down_column(j, 0), j, lane);
    const Vf whole = load(a(j, j).re + lane) + diagonal.added(j, lane);
    const Vf pivot = whole - explained.sum[0][0][0].re, least = whole * (kLoading / 2);
    const Vf inverse = 1 / square_root(pivot > least ? pivot : least);
    for (std::uint32_t i = j + 1; i < a.size; i += kRows)
      with_size<CholeskyRun, 1, kRows>(1, std::min(kRows, a.size - i), a, i, j, inverse, lane);
    store(a(j, j), lane, {inverse, Vf{}});
  }
}

// Entries (i, j…j+J-1) of X = L⁻¹: -Σ L(i, p) X(p, j) / L(i, i), j ≤ p < i.
struct InvertRun {
  template <std::uint32_t, std::uint32_t J>
  static void run(const Square& a, std::uint32_t i, std::uint32_t j, Vf inverse,
                  std::uint32_t lane) {
    Block<1, J> block;
    block.template add<false>(a.down_column(i, j), a.along_row(j, j), i - j, lane);
#pragma GCC unroll 4
    for (std::uint32_t c = 0; c < J; ++c) {
      const ComplexVf sum = block.sum[0][c][0];
      store(a(i, j + c), lane, {-inverse * sum.re, -inverse * sum.im});
    }
  }
};

// L → L⁻¹: row i of L is needed for row i of the inverse only. Leaves zeros above the diagonal as
// far as the next step's blocks reach.
void invert_factor(const Square& a, std::uint32_t lane) {
  for (std::uint32_t i = 0; i < a.size; ++i) {
    const Vf inverse = load(a(i, i).re + lane);
    for (std::uint32_t j = 0; j <= i; j += kRows)
      with_size<InvertRun, 1, kRows>(1, std::min(kRows, a.size - j), a, i, j, inverse, lane);
    store(a(i, i), lane, {inverse, Vf{}});
  }
}

// Entries of XᴴX and, mirrored, of the upper triangle: rows p ≥ i of X are all that they and later
// blocks need.
struct SquareBlock {
  template <std::uint32_t I, std::uint32_t J>
  static void run(std::uint32_t i, std::uint32_t j, std::uint32_t lane, const Square& x) {
    Block<I, J> block;
    block.template add<true>(x.along_row(i, i), x.along_row(i, j), x.size - i, lane);
#pragma GCC unroll 4
    for (std::uint32_t r = 0; r < I; ++r)
#pragma GCC unroll 4
      for (std::uint32_t c = 0; c < J; ++c) {
        const ComplexVf sum = block.sum[r][c][0];
        store(x(j + c, i + r), lane, {sum.re, -sum.im});
        store(x(i + r, j + c), lane, sum);
      }
  }
};

// The lanes where some user's noise is amplified beyond the limit: entry (k, k) of the inverse
// times that of the matrix, which is 1 where k is orthogonal to all others.
Vi inseparable(const Square& p, const Diagonal& diagonal, std::uint32_t lane) {
  Vi separable = ~Vi{};
  for (std::uint32_t k = 0; k < p.size; ++k)
    separable &=
        load(p(k, k).re + lane) * (diagonal.power(k, lane) + diagonal.noise) < 1 / kLoading;
  return ~separable;
}

}  // namespace
