// Included inside an instruction set's namespace (dsp/simd/*_begin.inl).
#include "dsp/simd/angle.inl"

namespace {

// x[n + 1]·conj(x[n]) of kLanes samples, their parts apart.
[[gnu::always_inline]] inline Vf demodulated(const float* x, float gain) {
  const Parts now = parts(load(x), load(x + kLanes));
  const Parts next = parts(load(x + 2), load(x + 2 + kLanes));
  return gain * angle(next.re * now.re + next.im * now.im, next.im * now.re - next.re * now.im);
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
