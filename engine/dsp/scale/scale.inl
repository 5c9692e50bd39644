// Included inside an instruction set's namespace (dsp/simd/*_begin.inl).

namespace {

void multiply(const float* x, float factor, float* y, std::size_t floats) noexcept {
  each_vector(
      x, y, floats, [&](Vf v, std::size_t) __attribute__((always_inline)) { return factor * v; });
}

void multiply_complex(const Complex* x, Complex factor, Complex* y, std::size_t count) noexcept {
  const Vf whole = repeated(factor);
  each_vector(
      floats_of(x), floats_of(y), 2 * count, [&](Vf v, std::size_t) __attribute__((always_inline)) {
        return product(whole, v);
      });
}

void add(const float* x, float what, float* y, std::size_t floats) noexcept {
  each_vector(
      x, y, floats, [&](Vf v, std::size_t) __attribute__((always_inline)) { return v + what; });
}

void add_complex(const Complex* x, Complex what, Complex* y, std::size_t count) noexcept {
  const Vf whole = repeated(what);
  each_vector(
      floats_of(x), floats_of(y),
      2 * count, [&](Vf v, std::size_t) __attribute__((always_inline)) { return v + whole; });
}

}  // namespace

const ScaleKernels scale_kernels{.multiply = multiply,
                                 .multiply_complex = multiply_complex,
                                 .add = add,
                                 .add_complex = add_complex};
