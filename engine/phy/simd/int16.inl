// Sums of complex products of 16-bit integers, of which each factor of a sum has a scale of its own
// (block floating point): instructions that multiply pairs of them and add both products do twice
// the work of a multiply-add in single precision. Included inside an instruction set's namespace,
// after product.inl.
#include "phy/simd/int16_pairs.inl"

namespace {

#if CARILLON_SIMD_AVX512
[[gnu::always_inline]] inline Vi rounded(Vf v) {
  return reinterpret_cast<Vi>(_mm512_maskz_cvtps_epi32(0xFFFF, reinterpret_cast<__m512>(v)));
}
#else
[[gnu::always_inline]] inline Vi rounded(Vf v) {
  return reinterpret_cast<Vi>(_mm256_cvtps_epi32(reinterpret_cast<__m256>(v)));
}
#endif

/// The low halves of both.
[[gnu::always_inline]] inline Vi paired(Vi low, Vi high) { return (low & 0xFFFF) | high << 16; }

/// What brings lanes of `terms` tiles, `stride` apart, to kInt16Norm, each lane for itself; below
/// 1e-36 their energy counts as none.
class Int16Scale {
  static constexpr std::uint32_t kChains = 4;  // that do not wait for each other

 public:
  Vf factor, scale;  // to integers and back

  [[gnu::always_inline]] Int16Scale(const Tile* from, std::size_t stride, std::uint32_t terms,
                                    std::uint32_t lane) {
    ComplexVf sums[kChains] = {};
    const auto add = [&](ComplexVf & sum, std::uint32_t n) __attribute__((always_inline)) {
      const ComplexVf x = load(from[n * stride], lane);
      sum.re = sum.re + x.re * x.re;
      sum.im = sum.im + x.im * x.im;
    };
    std::uint32_t n = 0;
    for (; n + kChains <= terms; n += kChains)
#pragma GCC unroll 4
      for (std::uint32_t i = 0; i < kChains; ++i) add(sums[i], n + i);
    for (; n < terms; ++n) add(sums[0], n);
    const auto of = [&](std::uint32_t i) { return sums[i].re + sums[i].im; };
    const Vf energy = (of(0) + of(1)) + (of(2) + of(3));
    const Vf least = broadcast(1e-36F);
    const Vf norm = square_root(energy);
    factor = energy > least ? kInt16Norm / norm : Vf{};
    scale = energy > least ? norm * (1 / kInt16Norm) : Vf{};
  }
};

template <typename Lanes>
[[gnu::always_inline]] inline Vi load(const Int16Tile& tile, std::uint32_t lane,
                                      const Lanes& lanes) {
  return lanes.template pick<Vi>(tile.at, lane);
}
[[gnu::always_inline]] inline Vi load(Int16Complex scalar, std::uint32_t, Own) {
  return std::bit_cast<std::int32_t>(scalar) - Vi{};
}

/// The factors that all sums share, as (re, -im) and as (im, re): with (wr, wi) one product of
/// pairs is the real part of a complex product, the other one its imaginary part.
struct Int16Factors {
  static constexpr std::uint32_t kMost = 256;
  struct Forms {
    Vi real, imaginary;
  };
  Forms at[kMost];
  Vf scale;

  [[gnu::always_inline]] Int16Factors(const Tile* from, std::uint32_t terms, std::uint32_t lane) {
    const Int16Scale common(from, 1, terms, lane);
    scale = common.scale;
    for (std::uint32_t n = 0; n < terms; ++n) {
      const ComplexVf x = load(from[n], lane);
      const Vi re = rounded(x.re * common.factor), im = rounded(x.im * common.factor);
      at[n] = {paired(re, -im), paired(im, re)};
    }
  }
};

struct Int16Rows {
  template <std::uint32_t I, std::uint32_t, typename T, typename Lanes>
  static void run(std::uint32_t first, Factor<T> w, const Lanes& of_w, const Int16Factors& in,
                  std::uint32_t terms, const float* scale, std::uint32_t lane, Tile* out) {
    w.at += first * w.across;
    Vi re[I] = {}, im[I] = {};
    for (std::uint32_t n = 0; n < terms; ++n, w.at += w.along) {
      const Int16Factors::Forms forms = in.at[n];
#pragma GCC unroll 8
      for (std::uint32_t i = 0; i < I; ++i) {
        const Vi l = load(w.at[i * w.across], lane, of_w);
        re[i] = add_pairs(re[i], l, forms.real);
        im[i] = add_pairs(im[i], l, forms.imaginary);
      }
    }
#pragma GCC unroll 8
    for (std::uint32_t i = 0; i < I; ++i) {
      const Vf of_row = std::is_same_v<T, Int16Tile>
                            ? of_w.template pick<Vf>(scale + (first + i) * kTileLanes, lane)
                            : broadcast(scale[first + i]);
      const Vf both = of_row * in.scale;
      store(out[first + i], lane,
            {__builtin_convertvector(re[i], Vf) * both, __builtin_convertvector(im[i], Vf) * both});
    }
  }
};

/// out[i] = scale(i) · Σ w(i, n)·in[n] for i < entries, n < terms. scale is [entry] of scalars, and
/// [entry][16] of tiles.
template <typename T, typename Lanes>
void int16_product(Factor<T> w, const Lanes& of_w, const float* scale, std::uint32_t entries,
                   std::uint32_t terms, const Tile* in, Tile* out) {
  constexpr std::uint32_t kEntries = CARILLON_SIMD_AVX512 ? 8 : 4;
  for (std::uint32_t lane = 0; lane < kTileLanes; lane += kLanes) {
    const Int16Factors factors(in, terms, lane);
    for (std::uint32_t i = 0; i < entries; i += kEntries)
      with_size<Int16Rows, kEntries, 1>(std::min(kEntries, entries - i), 1, i, w, of_w, factors,
                                        terms, scale, lane, out);
  }
}

}  // namespace
