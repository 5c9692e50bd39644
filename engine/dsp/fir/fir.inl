// Included inside an instruction set's namespace (dsp/simd/*_begin.inl).

namespace {

// Outputs of so many vectors at a time: sums, window and tap fill the registers.
template <bool kComplex>
constexpr std::uint32_t kVectors = CARILLON_SIMD_AVX512 ? 8
                                   : kComplex           ? 4
                                                        : 6;

// Floats in a row, `step` of them from one sample to the next. With real taps, or of complex ones
// `im` gets the sums by their imaginary parts as well.
//
// A vector that begins kLanes floats later serves the next vector of outputs with one tap, and this
// one with another: it is loaded once for both. N of them are a window that moves on.
template <std::uint32_t N, bool kComplex>
[[gnu::always_inline]] inline void sums(const float* x, const float* taps, std::size_t K,
                                        std::size_t step, Vf (&re)[N], Vf (&im)[N]) {
  for (std::uint32_t v = 0; v < N; ++v) re[v] = im[v] = Vf{};
  const std::size_t apart = kLanes / step;
  for (std::size_t first = 0; first < std::min(apart, K); ++first) {
    Vf window[N];
    const float* next = x + first * step;
    for (std::uint32_t v = 0; v + 1 < N; ++v, next += kLanes) window[v] = load(next);
    std::size_t i = first;
    const auto turn = [&](auto s) __attribute__((always_inline)) {
      if (i >= K) return false;
      window[(s + N - 1) % N] = load(next);
      const float* tap = taps + (K - 1 - i) * (kComplex ? 2 : 1);
      const Vf real = broadcast(tap[0]), imaginary = broadcast(kComplex ? tap[1] : 0.0F);
      unroll<N>([&](auto v) __attribute__((always_inline)) {
        re[v] += real * window[(s + v) % N];
        if (kComplex) im[v] += imaginary * window[(s + v) % N];
      });
      next += kLanes;
      i += apart;
      return true;
    };
    [&]<std::size_t... S>(std::index_sequence<S...>) __attribute__((always_inline)) {
      while ((turn(std::integral_constant<std::size_t, S>{}) && ...)) {
      }
    }
    (std::make_index_sequence<N>{});
  }
}

// By complex taps: the sums by their real parts, and j times those by the imaginary ones.
[[gnu::always_inline]] inline Vf joined(Vf re, Vf im) { return re + alternating() * swapped(im); }

template <std::uint32_t N, bool kComplex>
[[gnu::always_inline]] inline void filter_vectors(const float* x, const float* taps, std::size_t K,
                                                  std::size_t step, float* y) {
  Vf re[N], im[N];
  sums<N, kComplex>(x, taps, K, step, re, im);
  for (std::uint32_t v = 0; v < N; ++v)
    store(y + v * kLanes, kComplex ? joined(re[v], im[v]) : re[v]);
}

[[gnu::always_inline]] inline Vf load_first(const float* p, std::uint32_t count) {
#if CARILLON_SIMD_AVX512
  return reinterpret_cast<Vf>(_mm512_maskz_loadu_ps(static_cast<__mmask16>((1U << count) - 1), p));
#else
  Vi wanted;
  for (std::uint32_t i = 0; i < kLanes; ++i) wanted[i] = i < count ? -1 : 0;
  return reinterpret_cast<Vf>(_mm256_maskload_ps(p, reinterpret_cast<__m256i>(wanted)));
#endif
}

// What is left after whole vectors, in the same order.
template <bool kComplex>
void filter_rest(const float* x, const float* taps, std::size_t K, std::size_t step, float* y,
                 std::size_t floats) {
  const auto count = static_cast<std::uint32_t>(floats);
  Vf re{}, im{};
  const std::size_t apart = kLanes / step;
  for (std::size_t first = 0; first < std::min(apart, K); ++first)
    for (std::size_t i = first; i < K; i += apart) {
      const Vf sample = load_first(x + i * step, count);
      const float* tap = taps + (K - 1 - i) * (kComplex ? 2 : 1);
      re += tap[0] * sample;
      if (kComplex) im += tap[1] * sample;
    }
  float out[kLanes];
  store(out, kComplex ? joined(re, im) : re);
  std::memcpy(y, out, floats * sizeof(float));
}

template <bool kComplex>
void filter_all(const float* x, const float* taps, std::size_t K, std::size_t step, float* y,
                std::size_t floats) {
  constexpr std::uint32_t wide = kVectors<kComplex>;
  std::size_t i = 0;
  for (; i + wide * kLanes <= floats; i += wide * kLanes)
    filter_vectors<wide, kComplex>(x + i, taps, K, step, y + i);
  for (; i + kLanes <= floats; i += kLanes)
    filter_vectors<1, kComplex>(x + i, taps, K, step, y + i);
  if (i < floats) filter_rest<kComplex>(x + i, taps, K, step, y + i, floats - i);
}

// Decimating filters: products along the taps, several outputs at once, which share loads of taps.
constexpr std::uint32_t kOutputs = 4;

// Σ of a vector's lanes, of even and odd ones apart where samples are complex.
template <bool kPairs>
[[gnu::always_inline]] inline Complex sum_of_lanes(Vf v) {
  float lanes[kLanes];
  store(lanes, v);
  for (std::uint32_t half = kLanes / 2; half >= (kPairs ? 2 : 1); half /= 2)
    for (std::uint32_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return {lanes[0], kPairs ? lanes[1] : 0.0F};
}

template <std::uint32_t N, bool kPairs, bool kComplex>
[[gnu::always_inline]] inline void decimate_some(const Fir& fir, const float* x, float* y) {
  constexpr std::size_t each = kPairs ? 2 : 1;
  const std::size_t floats = fir.length() * each, apart = fir.decimation() * each;
  const float* taps = fir.taps();
  Vf re[N], im[N];
  for (std::uint32_t n = 0; n < N; ++n) re[n] = im[n] = Vf{};
  const auto add = [&](Vf tap, Vf other, auto&& sample) __attribute__((always_inline)) {
    for (std::uint32_t n = 0; n < N; ++n) {
      const Vf s = sample(n);
      re[n] += tap * s;
      if (kComplex) im[n] += other * s;
    }
  };
  std::size_t i = 0;
  for (; i + kLanes <= floats; i += kLanes)
    add(
        load(taps + i), kComplex ? load(taps + floats + i) : Vf{},
        [&](std::uint32_t n) __attribute__((always_inline)) { return load(x + n * apart + i); });
  if (const auto rest = static_cast<std::uint32_t>(floats - i); rest > 0)
    add(
        load_first(taps + i, rest), kComplex ? load_first(taps + floats + i, rest) : Vf{},
        [&](std::uint32_t n)
            __attribute__((always_inline)) { return load_first(x + n * apart + i, rest); });
  for (std::uint32_t n = 0; n < N; ++n) {
    const Complex sum = sum_of_lanes<kPairs>(re[n]);
    const Complex other = kComplex ? sum_of_lanes<kPairs>(im[n]) : Complex{};
    y[n * each] = sum.re - other.im;
    if (kPairs) y[n * each + 1] = sum.im + other.re;
  }
}

template <bool kPairs, bool kComplex>
void decimate(const Fir& fir, const float* x, float* y, std::size_t count) {
  constexpr std::size_t each = kPairs ? 2 : 1;
  const std::size_t apart = fir.decimation() * each;
  std::size_t n = 0;
  for (; n + kOutputs <= count; n += kOutputs)
    decimate_some<kOutputs, kPairs, kComplex>(fir, x + n * apart, y + n * each);
  for (; n < count; ++n) decimate_some<1, kPairs, kComplex>(fir, x + n * apart, y + n * each);
}

void filter(const Fir& fir, const float* x, float* y, std::size_t count) noexcept {
  const std::size_t K = fir.length(), each = fir.floats_a_sample();
  const bool complex = fir.kind() == FirKind::ComplexTaps;
  if (fir.decimation() == 1)
    return complex ? filter_all<true>(x, fir.taps(), K, each, y, count * each)
                   : filter_all<false>(x, fir.taps(), K, each, y, count * each);
  switch (fir.kind()) {
    case FirKind::Real: return decimate<false, false>(fir, x, y, count);
    case FirKind::RealTaps: return decimate<true, false>(fir, x, y, count);
    case FirKind::ComplexTaps: return decimate<true, true>(fir, x, y, count);
  }
}

}  // namespace

const FirKernels fir_kernels{.filter = filter};
