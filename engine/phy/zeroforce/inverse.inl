// The regularised inverse of a Hermitian matrix of tiles, in place: A → Cholesky factor L → L⁻¹ →
// L⁻ᴴL⁻¹. Only the lower triangle of A is read.

namespace {

// A block's accumulators, a column of its right factor and an entry of its left one fill the 32
// (AVX2: 16) registers without spilling.
inline constexpr std::uint32_t kRows = CARILLON_SIMD_AVX512 ? 4 : 2;
inline constexpr std::uint32_t kColumns = 2;

// A user that keeps a smaller share of its power than this outside the span of the users before it
// (-51 dB, about what rounding leaves of a zero at 256 antennas) is given that share.
inline constexpr float kLeastPivot = 0x1p-17F;
// Below this a channel has no power at all.
inline constexpr float kNoPower = 1e-30F;

[[gnu::always_inline]] inline Vf square_root(Vf v) {
#if CARILLON_SIMD_AVX512
  return reinterpret_cast<Vf>(_mm512_maskz_sqrt_ps(0xFFFF, reinterpret_cast<__m512>(v)));
#else
  return reinterpret_cast<Vf>(_mm256_sqrt_ps(reinterpret_cast<__m256>(v)));
#endif
}

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

// What regularisation did to the lanes of a vector.
struct Regularised {
  Vi raised = {};   // a pivot was raised
  Vi flagged = {};  // that, or a user without a channel
};

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

// A + diagonal·I → L, with 1/L(j, j) on the diagonal. loading[j].re: what else was added there.
Regularised cholesky(const Square& a, float diagonal, Tile* loading, std::uint32_t lane) {
  Regularised result;
  for (std::uint32_t j = 0; j < a.size; ++j) {
    Block<1, 1> explained;
    explained.add<true>(a.down_column(j, 0), a.down_column(j, 0), j, lane);
    const Vf power = load(a(j, j).re + lane), whole = power + diagonal;
    const Vf pivot = whole - explained.sum[0][0][0].re;
    const Vf least = whole > kNoPower ? whole * kLeastPivot : broadcast(1);
    const Vi low = ~(pivot > least);
    const Vf chosen = low ? least : pivot;
    result.raised |= low;
    result.flagged |= low | (power <= kNoPower);
    store(loading[j].re + lane, chosen - pivot);

    const Vf inverse = 1 / square_root(chosen);
    for (std::uint32_t i = j + 1; i < a.size; i += kRows)
      with_size<CholeskyRun, 1, kRows>(1, std::min(kRows, a.size - i), a, i, j, inverse, lane);
    store(a(j, j), lane, {inverse, Vf{}});
  }
  return result;
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

}  // namespace
