// Included inside an instruction set's namespace (dsp/simd/*_begin.inl).
#include "dsp/simd/angle.inl"

namespace {

// y[n] = f(re, im), kLanes samples at a time.
template <typename F>
[[gnu::always_inline]] inline void each_sample(const Complex* x, float* y, std::size_t count,
                                               F&& f) {
  const float* from = floats_of(x);
  const auto made = [&](const float* p) __attribute__((always_inline)) {
    const Parts both = parts(load(p), load(p + kLanes));
    return f(both.re, both.im);
  };
  std::size_t n = 0;
  for (; n + kLanes <= count; n += kLanes) store(y + n, made(from + 2 * n));
  if (n == count) return;
  float window[2 * kLanes] = {}, rest[kLanes];
  std::memcpy(window, from + 2 * n, 2 * (count - n) * sizeof(float));
  store(rest, made(window));
  std::memcpy(y + n, rest, (count - n) * sizeof(float));
}

void real(const Complex* x, float* y, std::size_t count) noexcept {
  each_sample(
      x, y, count, [](Vf re, Vf) __attribute__((always_inline)) { return re; });
}
void imaginary(const Complex* x, float* y, std::size_t count) noexcept {
  each_sample(
      x, y, count, [](Vf, Vf im) __attribute__((always_inline)) { return im; });
}
void magnitude(const Complex* x, float* y, std::size_t count) noexcept {
  each_sample(
      x, y, count,
      [](Vf re, Vf im) __attribute__((always_inline)) { return square_root(re * re + im * im); });
}
void power(const Complex* x, float* y, std::size_t count) noexcept {
  each_sample(
      x, y, count, [](Vf re, Vf im) __attribute__((always_inline)) { return re * re + im * im; });
}
void phase(const Complex* x, float* y, std::size_t count) noexcept {
  each_sample(
      x, y, count, [](Vf re, Vf im) __attribute__((always_inline)) { return angle(re, im); });
}

void complex(const float* x, Complex* y, std::size_t count) noexcept {
  float* to = floats_of(y);
  std::size_t n = 0;
  for (; n + kLanes <= count; n += kLanes) {
    const Parts both{load(x + n), Vf{}};
    store(to + 2 * n, interleaved(both, 0));
    store(to + 2 * n + kLanes, interleaved(both, kLanes / 2));
  }
  if (n == count) return;
  float rest[kLanes] = {}, made[2 * kLanes];
  std::memcpy(rest, x + n, (count - n) * sizeof(float));
  store(made, interleaved({load(rest), Vf{}}, 0));
  store(made + kLanes, interleaved({load(rest), Vf{}}, kLanes / 2));
  std::memcpy(to + 2 * n, made, 2 * (count - n) * sizeof(float));
}

}  // namespace

const ConvertKernels convert_kernels{.real = real,
                                     .imaginary = imaginary,
                                     .magnitude = magnitude,
                                     .power = power,
                                     .phase = phase,
                                     .complex = complex};
