// Included inside an instruction set's namespace (dsp/simd/*_begin.inl).

namespace {

// Whole vectors, then what is left through a vector of its own.
template <typename F>
[[gnu::always_inline]] inline void each_vector(const float* x, float* y, std::size_t floats,
                                               F&& f) {
  std::size_t i = 0;
  for (; i + kLanes <= floats; i += kLanes) store(y + i, f(load(x + i)));
  if (i == floats) return;
  float rest[kLanes] = {};
  std::memcpy(rest, x + i, (floats - i) * sizeof(float));
  store(rest, f(load(rest)));
  std::memcpy(y + i, rest, (floats - i) * sizeof(float));
}

[[gnu::always_inline]] inline Vf repeated(Complex value) {
  Vf both{};
  for (std::uint32_t i = 0; i < kLanes; ++i) both[i] = i % 2 == 0 ? value.re : value.im;
  return both;
}

const float* floats_of(const Complex* x) { return reinterpret_cast<const float*>(x); }
float* floats_of(Complex* x) { return reinterpret_cast<float*>(x); }

void multiply(const float* x, float factor, float* y, std::size_t floats) noexcept {
  each_vector(
      x, y, floats, [&](Vf v) __attribute__((always_inline)) { return factor * v; });
}

void multiply_complex(const Complex* x, Complex factor, Complex* y, std::size_t count) noexcept {
  const Vf whole = repeated(factor);
  each_vector(
      floats_of(x), floats_of(y),
      2 * count, [&](Vf v) __attribute__((always_inline)) { return product(whole, v); });
}

void add(const float* x, float what, float* y, std::size_t floats) noexcept {
  each_vector(
      x, y, floats, [&](Vf v) __attribute__((always_inline)) { return v + what; });
}

void add_complex(const Complex* x, Complex what, Complex* y, std::size_t count) noexcept {
  const Vf whole = repeated(what);
  each_vector(
      floats_of(x), floats_of(y),
      2 * count, [&](Vf v) __attribute__((always_inline)) { return v + whole; });
}

}  // namespace

const ScaleKernels scale_kernels{.multiply = multiply,
                                 .multiply_complex = multiply_complex,
                                 .add = add,
                                 .add_complex = add_complex};
