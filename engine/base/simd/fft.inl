// Fourier transforms in vectors of L numbers (L = 8 or 16), by the tables of base/fft.hpp. Included
// inside an instruction set's namespace.
//
// Frequencies count from the first, u = 0, which is bin -s, so that subcarriers fall on tiles
// wherever their band begins. With N = L·M samples n = M·a + r and u = L·t + i,
//
//   X(u) = Σ_n x(n) W_N^(n(u-s)) = Σ_r W_M^(rt) · W_N^(r(i-s)) · Σ_a W_L^(a(i-s)) x(M·a + r):
//
// 1. lane pass: a transform of length L over vectors whose lanes are neighbouring r (no shuffles),
//    its output rotated by s mod L, a twiddle that carries the rest of the shift and all scaling,
//    and a transposition of L×L numbers: now each row r holds lanes i;
// 2. row passes: a transform of length M over rows, the lanes independent, decimated in frequency
//    and in place; the last one stores row t where the caller wants it.
//
// The inverse runs the same passes from the other end with re and im exchanged.
#include "base/simd/transpose.inl"

namespace {

template <std::uint32_t L>
struct Cx {
  typename Simd<L>::F re, im;

  [[gnu::always_inline]] friend Cx operator+(Cx a, Cx b) { return {a.re + b.re, a.im + b.im}; }
  [[gnu::always_inline]] friend Cx operator-(Cx a, Cx b) { return {a.re - b.re, a.im - b.im}; }
};

template <std::uint32_t L>
[[gnu::always_inline]] inline Cx<L> times_minus_j(Cx<L> a) {
  return {a.im, -a.re};
}

// W is a vector or a scalar, for which the compiler broadcasts.
template <std::uint32_t L, typename W>
[[gnu::always_inline]] inline Cx<L> times(Cx<L> a, W re, W im) {
  return {a.re * re - a.im * im, a.re * im + a.im * re};
}

inline constexpr float kHalfRoot = 0.70710678118654752440F;   // cos(π/4)
inline constexpr float kCosEighth = 0.92387953251128675613F;  // cos(π/8)
inline constexpr float kSinEighth = 0.38268343236508977173F;  // sin(π/8)

// W_8 and W_8^3, W_8^k = exp(-j2πk/8)
template <std::uint32_t L>
[[gnu::always_inline]] inline Cx<L> times_w8(Cx<L> a) {
  return {(a.re + a.im) * kHalfRoot, (a.im - a.re) * kHalfRoot};
}
template <std::uint32_t L>
[[gnu::always_inline]] inline Cx<L> times_w8_3(Cx<L> a) {
  return {(a.im - a.re) * kHalfRoot, (a.re + a.im) * -kHalfRoot};
}

template <std::uint32_t L>
[[gnu::always_inline]] inline void dft4(Cx<L>& a, Cx<L>& b, Cx<L>& c, Cx<L>& d) {
  const Cx<L> ac = a + c, bd = b + d, a_c = a - c, b_d = times_minus_j(b - d);
  a = ac + bd;
  b = a_c + b_d;
  c = ac - bd;
  d = a_c - b_d;
}

// Discrete Fourier transforms of R vectors in natural order.
template <std::uint32_t L>
[[gnu::always_inline]] inline void dft(Cx<L> (&x)[4]) {
  dft4(x[0], x[1], x[2], x[3]);
}

template <std::uint32_t L>
[[gnu::always_inline]] inline void dft(Cx<L> (&x)[8]) {
  dft4(x[0], x[2], x[4], x[6]);
  dft4(x[1], x[3], x[5], x[7]);
  const Cx<L> odd[4] = {x[1], times_w8(x[3]), times_minus_j(x[5]), times_w8_3(x[7])};
  const Cx<L> even[4] = {x[0], x[2], x[4], x[6]};
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    x[k] = even[k] + odd[k];
    x[k + 4] = even[k] - odd[k];
  }
}

template <std::uint32_t L>
[[gnu::always_inline]] inline void dft(Cx<L> (&x)[16]) {
#pragma GCC unroll 4
  for (int b = 0; b < 4; ++b) dft4(x[b], x[b + 4], x[b + 8], x[b + 12]);
  // x[b + 4k] is now frequency k of the quarter n ≡ b (mod 4) and gets W_16^(bk).
  x[5] = times(x[5], kCosEighth, -kSinEighth);
  x[6] = times_w8(x[6]);
  x[7] = times(x[7], kSinEighth, -kCosEighth);
  x[9] = times_w8(x[9]);
  x[10] = times_minus_j(x[10]);
  x[11] = times_w8_3(x[11]);
  x[13] = times(x[13], kSinEighth, -kCosEighth);
  x[14] = times_w8_3(x[14]);
  x[15] = times(x[15], -kCosEighth, kSinEighth);
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) dft4(x[4 * k], x[4 * k + 1], x[4 * k + 2], x[4 * k + 3]);
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k)
#pragma GCC unroll 4
    for (int b = k + 1; b < 4; ++b) std::swap(x[4 * k + b], x[4 * b + k]);
}

/// One pass of radix R over blocks of `length` rows: load(place) gives a row, store(place, row)
/// takes it. The last pass (length == R) has no twiddles.
template <std::uint32_t L, std::uint32_t R, bool kLast, typename Load, typename Store>
[[gnu::always_inline]] inline void row_pass(const FftTables& tables, std::size_t pass,
                                            std::uint32_t length, Load load, Store store) {
  const std::uint32_t distance = kLast ? 1 : length / R;
  const float* w = tables.twiddles[pass].data();
  for (std::uint32_t p = 0; p < distance; ++p, w += 2 * (R - 1)) {
    for (std::uint32_t first = p; first < tables.rows; first += kLast ? R : length) {
      Cx<L> x[R];
#pragma GCC unroll 16
      for (std::uint32_t i = 0; i < R; ++i) x[i] = load(first + i * distance);
      dft(x);
      if constexpr (!kLast) {
#pragma GCC unroll 16
        for (std::uint32_t j = 1; j < R; ++j) x[j] = times(x[j], w[2 * j - 2], w[2 * j - 1]);
      }
#pragma GCC unroll 16
      for (std::uint32_t j = 0; j < R; ++j) store(first + j * distance, x[j]);
    }
  }
}

/// Rows in the work buffer: re and im vectors of each in turn.
template <std::uint32_t L>
struct WorkRows {
  float* base;
  [[gnu::always_inline]] Cx<L> operator()(std::uint32_t place) const {
    const float* p = base + std::size_t{place} * 2 * L;
    return {Simd<L>::load(p), Simd<L>::load(p + L)};
  }
  [[gnu::always_inline]] void operator()(std::uint32_t place, Cx<L> x) const {
    float* p = base + std::size_t{place} * 2 * L;
    Simd<L>::store(p, x.re);
    Simd<L>::store(p + L, x.im);
  }
};

/// The row passes, the first of them reading by `load`, the last one writing by `store`.
template <std::uint32_t L, typename Load, typename Store>
inline void transform_rows(const FftTables& tables, float* work, Load load, Store store) {
  const WorkRows<L> rows{work};
  const auto run = [&]<bool kLast>(std::size_t pass, std::uint32_t length, auto from, auto to) {
    if (tables.radices[pass] == 8)
      row_pass<L, 8, kLast>(tables, pass, length, from, to);
    else
      row_pass<L, 4, kLast>(tables, pass, length, from, to);
  };
  std::uint32_t length = tables.rows;
  if (tables.radices[1] == 0) return run.template operator()<true>(0, length, load, store);
  run.template operator()<false>(0, length, load, rows);
  length /= tables.radices[0];
  std::size_t pass = 1;
  for (; length > tables.radices[pass]; length /= tables.radices[pass++])
    run.template operator()<false>(pass, length, rows, rows);
  run.template operator()<true>(pass, length, rows, store);
}

/// The lane pass: load(n) gives samples n … n + L - 1, rows come out. meanwhile(): for each block
/// of L rows, after its loads.
template <std::uint32_t L, typename Load, typename Meanwhile>
[[gnu::always_inline]] inline void samples_to_rows(const FftTables& tables, float* work, Load load,
                                                   Meanwhile meanwhile) {
  alignas(64) float block[L][2][L];
  const float* w = tables.lane_twiddles.data();
  for (std::uint32_t r = 0; r < tables.rows; r += L, w += 2 * L * L) {
    Cx<L> x[L];
#pragma GCC unroll 16
    for (std::uint32_t a = 0; a < L; ++a) x[a] = load(std::size_t{tables.rows} * a + r);
    meanwhile();
    dft(x);
#pragma GCC unroll 16
    for (std::uint32_t a = 0; a < L; ++a) {
      const std::uint32_t lane = (a + tables.rotation) % L;
      const float* twiddle = w + std::size_t{lane} * 2 * L;
      const Cx<L> y = times(x[a], Simd<L>::load(twiddle), Simd<L>::load(twiddle + L));
      Simd<L>::store(block[lane][0], y.re);
      Simd<L>::store(block[lane][1], y.im);
    }
    for (std::uint32_t part = 0; part < 2; ++part)
      transpose<L>(
          [&](int i) { return block[i][part]; },
          [&](int i) { return work + (r + static_cast<std::uint32_t>(i)) * 2 * L + part * L; });
  }
}

/// The same from the other end: rows in the order in which transform_rows() leaves them in the work
/// buffer become samples, for store(n, samples). With re and im exchanged before and after, the
/// transform is an inverse one.
template <std::uint32_t L, typename Store, typename Meanwhile>
[[gnu::always_inline]] inline void rows_to_samples(const FftTables& tables, const float* work,
                                                   Store store, Meanwhile meanwhile) {
  alignas(64) float block[L][2][L];
  const std::uint16_t* place = tables.place_of.data();
  const float* w = tables.lane_twiddles.data();
  for (std::uint32_t r = 0; r < tables.rows; r += L, w += 2 * L * L) {
    for (std::uint32_t part = 0; part < 2; ++part)
      transpose<L>(
          [&](int i) {
            return work + std::size_t{place[r + static_cast<std::uint32_t>(i)]} * 2 * L + part * L;
          },
          [&](int i) { return block[i][part]; });
    Cx<L> x[L];
#pragma GCC unroll 16
    for (std::uint32_t a = 0; a < L; ++a) {
      const std::uint32_t lane = (a + tables.rotation) % L;
      const float* twiddle = w + std::size_t{lane} * 2 * L;
      x[a] = times(Cx<L>{Simd<L>::load(block[lane][0]), Simd<L>::load(block[lane][1])},
                   Simd<L>::load(twiddle), Simd<L>::load(twiddle + L));
    }
    meanwhile();
    dft(x);
#pragma GCC unroll 16
    for (std::uint32_t a = 0; a < L; ++a) store(std::size_t{tables.rows} * a + r, x[a]);
  }
}

}  // namespace
