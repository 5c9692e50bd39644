// Included inside an instruction set's namespace (dsp/simd/*_begin.inl).

namespace {

// Registers: sums of kWide vectors of outputs, kTaps taps, a vector of samples. With complex taps
// each of them has two.
template <bool kComplex>
constexpr std::uint32_t kWide = (CARILLON_SIMD_AVX512 ? 16 : 8) / (kComplex ? 2 : 1);
template <bool kComplex>
constexpr std::uint32_t kTaps = CARILLON_SIMD_AVX512 || !kComplex ? 4 : 2;

template <std::uint32_t N>
struct Sums {
  Vf re[N] = {}, im[N] = {};  // by the taps' real parts and by their imaginary ones
};

// By complex taps: the sums by their real parts, and j times those by the imaginary ones.
[[gnu::always_inline]] inline Vf joined(Vf re, Vf im) { return re + alternating() * swapped(im); }

// `count` floats (0 < count < kLanes), and 0.
[[gnu::always_inline]] inline Vf load_first(const float* p, std::uint32_t count) {
#if CARILLON_SIMD_AVX512
  return reinterpret_cast<Vf>(_mm512_maskz_loadu_ps(static_cast<__mmask16>((1U << count) - 1), p));
#else
  Vi wanted{};
  for (std::uint32_t i = 0; i < kLanes; ++i) wanted[i] = i < count ? -1 : 0;
  return reinterpret_cast<Vf>(_mm256_maskload_ps(p, reinterpret_cast<__m256i>(wanted)));
#endif
}

// Adds T taps that are a vector of samples apart, `apart` taps from one to the next: a vector of
// samples that the second of them multiplies for some outputs is the one that the first of them
// multiplies for the next outputs, so that a load serves up to T products. `oldest`: the first
// output's sample for the last of these taps.
template <std::uint32_t N, std::uint32_t T, bool kComplex, typename Load>
[[gnu::always_inline]] inline void add_taps(const float* oldest, const float* taps,
                                            std::size_t apart, Load&& load_at, Sums<N>& sums) {
  Vf re[T], im[T];
  unroll<T>([&](auto t) __attribute__((always_inline)) {
    re[t] = broadcast(taps[t * apart * (kComplex ? 2 : 1)]);
    im[t] = broadcast(kComplex ? taps[t * apart * 2 + 1] : 0.0F);
  });
  unroll<N + T - 1>([&](auto j) __attribute__((always_inline)) {
    const Vf sample = loaded_once(load_at(oldest + j * kLanes));
    unroll<T>([&](auto i) __attribute__((always_inline)) {
      // The tap t meets output v in the vector v + T - 1 - t.
      constexpr std::size_t v = j - i, t = T - 1 - i;
      if constexpr (j >= i && v < N) {
        sums.re[v] += re[t] * sample;
        if constexpr (kComplex) sums.im[v] += im[t] * sample;
      }
    });
  });
}

// N vectors of outputs. The order of each output's sum does not depend on N.
template <std::uint32_t N, bool kComplex, typename Load>
[[gnu::always_inline]] inline Sums<N> sums_of(const float* x, const float* taps, std::size_t K,
                                              std::size_t step, Load&& load_at) {
  const std::size_t apart = kLanes / step;
  Sums<N> sums;
  for (std::size_t first = 0; first < std::min(apart, K); ++first) {
    std::size_t k = first;
    const auto add = [&]<std::uint32_t T>() __attribute__((always_inline)) {
      const std::size_t last = k + (T - 1) * apart;
      if (last >= K) return false;
      add_taps<N, T, kComplex>(x + (K - 1 - last) * step, taps + k * (kComplex ? 2 : 1), apart,
                               load_at, sums);
      k = last + apart;
      return true;
    };
    while (add.template operator()<kTaps<kComplex>>()) {
    }
    add.template operator()<2>();
    add.template operator()<1>();
  }
  return sums;
}

// Fewer outputs than a vector has.
template <bool kComplex>
void filter_few(const float* x, const float* taps, std::size_t K, std::size_t step, float* y,
                std::size_t floats) {
  const auto count = static_cast<std::uint32_t>(floats);
  const auto first = [=](const float* p) __attribute__((always_inline)) {
    return load_first(p, count);
  };
  const Sums<1> sums = sums_of<1, kComplex>(x, taps, K, step, first);
  float out[kLanes];
  store(out, kComplex ? joined(sums.re[0], sums.im[0]) : sums.re[0]);
  std::memcpy(y, out, floats * sizeof(float));
}

// Blocks of N vectors, or of fewer where there are not as many. The last one ends with the outputs:
// some may be computed twice.
template <std::uint32_t N, bool kComplex>
void filter_blocks(const float* x, const float* taps, std::size_t K, std::size_t step, float* y,
                   std::size_t floats) {
  constexpr std::size_t block = N * kLanes;
  if (floats < block) {
    if constexpr (N > 1) return filter_blocks<N / 2, kComplex>(x, taps, K, step, y, floats);
    if (floats > 0) filter_few<kComplex>(x, taps, K, step, y, floats);
    return;
  }
  for (std::size_t done = 0; done < floats; done += block) {
    const std::size_t i = std::min(done, floats - block);
    const Sums<N> sums = sums_of<N, kComplex>(x + i, taps, K, step, load);
    unroll<N>([&](auto v) __attribute__((always_inline)) {
      store(y + i + v * kLanes, kComplex ? joined(sums.re[v], sums.im[v]) : sums.re[v]);
    });
  }
}

// Decimating filters: products along the taps, for as many outputs at once as a vector has, which
// share loads of taps.
template <bool kPairs>
constexpr std::uint32_t kOutputs = kPairs ? kLanes / 2 : kLanes;

// The sums of each vector's lanes, of complex samples those of even and of odd ones: upper halves
// are added to lower ones, two vectors at a time, until one vector has all.
template <std::uint32_t N, bool kPairs>
[[gnu::always_inline]] inline Vf sums_of_lanes(const Vf (&v)[N]) {
  if constexpr (N == 1) {
    return v[0];
  } else {
    constexpr std::uint32_t half = N * (kPairs ? 2 : 1) / 2;
    Vi low{};
    for (std::uint32_t i = 0; i < kLanes; ++i)
      low[i] = static_cast<std::int32_t>(i / half * 2 * half + i % half);
    const Vi high = low + static_cast<std::int32_t>(half);
    Vf both[N / 2];
    for (std::uint32_t n = 0; n < N / 2; ++n)
      both[n] = __builtin_shuffle(v[2 * n], v[2 * n + 1], low) +
                __builtin_shuffle(v[2 * n], v[2 * n + 1], high);
    return sums_of_lanes<N / 2, kPairs>(both);
  }
}

// A vector of outputs, the first kCount of them each of its window.
template <bool kPairs, bool kComplex, std::uint32_t kCount, typename Window>
[[gnu::always_inline]] inline Vf decimated(const Fir& fir, Window&& window) {
  constexpr std::uint32_t N = kOutputs<kPairs>;
  const std::size_t floats = fir.length() * (kPairs ? 2 : 1);
  const float* taps = fir.taps();
  Vf re[N] = {}, im[N] = {};
  const auto add = [&](std::size_t i, auto&& load_at) __attribute__((always_inline)) {
    const Vf tap = loaded_once(load_at(taps + i));
    const Vf other = kComplex ? loaded_once(load_at(taps + floats + i)) : Vf{};
    unroll<kCount>([&](auto n) __attribute__((always_inline)) {
      const Vf sample = load_at(window(n) + i);
      re[n] += tap * sample;
      if constexpr (kComplex) im[n] += other * sample;
    });
  };
  std::size_t i = 0;
  for (; i + kLanes <= floats; i += kLanes) add(i, load);
  if (const auto rest = static_cast<std::uint32_t>(floats - i); rest > 0)
    add(
        i, [=](const float* p) __attribute__((always_inline)) { return load_first(p, rest); });
  const Vf sums = sums_of_lanes<N, kPairs>(re);
  return kComplex ? joined(sums, sums_of_lanes<N, kPairs>(im)) : sums;
}

// Fewer outputs than a vector has: one by one, or together, the last one then several times.
template <bool kPairs, bool kComplex>
void decimate_few(const Fir& fir, const float* x, float* y, std::size_t count) {
  constexpr std::size_t each = kPairs ? 2 : 1, N = kOutputs<kPairs>;
  const std::size_t apart = fir.decimation() * each;
  float out[kLanes];
  if (count > N / 2) {
    const auto window = [&](std::size_t n) { return x + std::min(n, count - 1) * apart; };
    store(out, decimated<kPairs, kComplex, N>(fir, window));
    std::memcpy(y, out, count * each * sizeof(float));
    return;
  }
  for (std::size_t n = 0; n < count; ++n) {
    const auto window = [&](std::size_t) { return x + n * apart; };
    store(out, decimated<kPairs, kComplex, 1>(fir, window));
    std::memcpy(y + n * each, out, each * sizeof(float));
  }
}

// The last vector is where it ends with the outputs: some may be computed twice.
template <bool kPairs, bool kComplex>
void decimate(const Fir& fir, const float* x, float* y, std::size_t count) {
  constexpr std::size_t each = kPairs ? 2 : 1, N = kOutputs<kPairs>;
  const std::size_t apart = fir.decimation() * each;
  if (count < N) return decimate_few<kPairs, kComplex>(fir, x, y, count);
  for (std::size_t done = 0; done < count; done += N) {
    const std::size_t first = std::min(done, count - N);
    const float* from = x + first * apart;
    const auto window = [=](std::size_t n) __attribute__((always_inline)) {
      return from + n * apart;
    };
    store(y + first * each, decimated<kPairs, kComplex, N>(fir, window));
  }
}

void filter(const Fir& fir, const float* x, float* y, std::size_t count) noexcept {
  const std::size_t K = fir.length(), each = fir.floats_a_sample();
  const bool complex = fir.kind() == FirKind::ComplexTaps;
  if (fir.decimation() == 1)
    return complex ? filter_blocks<kWide<true>, true>(x, fir.taps(), K, each, y, count * each)
                   : filter_blocks<kWide<false>, false>(x, fir.taps(), K, each, y, count * each);
  switch (fir.kind()) {
    case FirKind::Real: return decimate<false, false>(fir, x, y, count);
    case FirKind::RealTaps: return decimate<true, false>(fir, x, y, count);
    case FirKind::ComplexTaps: return decimate<true, true>(fir, x, y, count);
  }
}

}  // namespace

const FirKernels fir_kernels{.filter = filter};
