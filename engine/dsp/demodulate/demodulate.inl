// Included inside an instruction set's namespace (dsp/simd/*_begin.inl).

namespace {

// atan(t)/t over t², by interpolation in Chebyshev's points of [0, 1]: within 1e-8.
constexpr float kArctangent[] = {0.0027662835F, -0.015731249F, 0.042137624F,
                                 -0.074568548F, 0.10618371F,   -0.14197798F,
                                 0.19991872F,   -0.33333037F,  0.99999998F};

template <typename Mask>
[[gnu::always_inline]] inline Vf chosen(Mask where, Vf yes, Vf no) {
  return where ? yes : no;
}

[[gnu::always_inline]] inline Vf magnitude(Vf v) {
  return (Vf)((Vi)v & std::numeric_limits<std::int32_t>::max());
}

// The angle of each (re, im), 0 where both are.
[[gnu::always_inline]] inline Vf angle(Vf re, Vf im) {
  const Vf a = magnitude(re), b = magnitude(im);
  const auto steep = b > a;
  const Vf larger = chosen(steep, b, a), smaller = chosen(steep, a, b);
  const Vf t = smaller / chosen(larger > Vf{}, larger, broadcast(1.0F));
  const Vf square = t * t;
  Vf sum = broadcast(kArctangent[0]);
  for (std::size_t i = 1; i < std::size(kArctangent); ++i) sum = sum * square + kArctangent[i];
  Vf found = sum * t;
  found = chosen(steep, static_cast<float>(M_PI / 2) - found, found);
  found = chosen(re < Vf{}, static_cast<float>(M_PI) - found, found);
  return (Vf)((Vi)found | ((Vi)im & std::numeric_limits<std::int32_t>::min()));
}

// x[n + 1]·conj(x[n]) of kLanes samples, their parts apart.
[[gnu::always_inline]] inline Vf demodulated(const float* x, float gain) {
  const Vf low = load(x), high = load(x + kLanes);
  const Vf low_next = load(x + 2), high_next = load(x + 2 + kLanes);
  Vi even{}, odd{};
  for (std::uint32_t i = 0; i < kLanes; ++i) {
    even[i] = static_cast<std::int32_t>(2 * i);
    odd[i] = static_cast<std::int32_t>(2 * i + 1);
  }
  const Vf re = __builtin_shuffle(low, high, even), im = __builtin_shuffle(low, high, odd);
  const Vf re_next = __builtin_shuffle(low_next, high_next, even);
  const Vf im_next = __builtin_shuffle(low_next, high_next, odd);
  return gain * angle(re_next * re + im_next * im, im_next * re - re_next * im);
}

void quadrature(const Complex* x, float gain, float* y, std::size_t count) noexcept {
  const auto* from = reinterpret_cast<const float*>(x);
  std::size_t n = 0;
  for (; n + kLanes <= count; n += kLanes) store(y + n, demodulated(from + 2 * n, gain));
  if (n == count) return;
  float window[2 * kLanes + 2] = {}, rest[kLanes];
  std::memcpy(window, from + 2 * n, (2 * (count - n) + 2) * sizeof(float));
  store(rest, demodulated(window, gain));
  std::memcpy(y + n, rest, (count - n) * sizeof(float));
}

}  // namespace

const DemodulateKernels demodulate_kernels{.quadrature = quadrature};
