// Included inside an instruction set's namespace (dsp/simd/*_begin.inl).

namespace {

template <typename F>
[[gnu::always_inline]] inline void each_pair(const float* a, const float* b, float* y,
                                             std::size_t floats, F&& f) {
  std::size_t i = 0;
  for (; i + kLanes <= floats; i += kLanes) store(y + i, f(load(a + i), load(b + i)));
  if (i == floats) return;
  const std::size_t bytes = (floats - i) * sizeof(float);
  float rest[2][kLanes] = {};
  std::memcpy(rest[0], a + i, bytes);
  std::memcpy(rest[1], b + i, bytes);
  store(rest[0], f(load(rest[0]), load(rest[1])));
  std::memcpy(y + i, rest[0], bytes);
}

void add(const float* a, const float* b, float* y, std::size_t floats) noexcept {
  each_pair(
      a, b, y, floats, [](Vf v, Vf w) __attribute__((always_inline)) { return v + w; });
}
void multiply(const float* a, const float* b, float* y, std::size_t floats) noexcept {
  each_pair(
      a, b, y, floats, [](Vf v, Vf w) __attribute__((always_inline)) { return v * w; });
}
void multiply_complex(const Complex* a, const Complex* b, Complex* y, std::size_t count) noexcept {
  each_pair(
      floats_of(a), floats_of(b), floats_of(y), 2 * count,
      [](Vf v, Vf w) __attribute__((always_inline)) { return product(v, w); });
}

}  // namespace

const CombineKernels combine_kernels{
    .add = add, .multiply = multiply, .multiply_complex = multiply_complex};
