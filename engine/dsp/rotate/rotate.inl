// Included inside an instruction set's namespace (dsp/simd/*_begin.inl).

namespace {

void rotate(Rotation* rotation, const Complex* x, Complex* y, std::size_t count) noexcept {
  const float* factors = floats_of(rotation->factors);
  for (std::size_t done = 0; done < count; done += Rotation::kBlock) {
    const std::size_t now = std::min(Rotation::kBlock, count - done);
    const Vf first = repeated(turned(rotation->phase));
    each_vector(
        floats_of(x + done), floats_of(y + done),
        2 * now, [&](Vf v, std::size_t i) __attribute__((always_inline)) {
          return product(product(first, load(factors + i)), v);
        });
    rotation->phase += rotation->step * now;
  }
}

}  // namespace

const RotateKernels rotate_kernels{.rotate = rotate};
