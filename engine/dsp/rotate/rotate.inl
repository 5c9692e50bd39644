// Included inside an instruction set's namespace (dsp/simd/*_begin.inl).

namespace {

[[gnu::always_inline]] inline Complex turned(std::uint64_t phase) {
  const double angle = 0x1p-63 * M_PI * static_cast<double>(static_cast<std::int64_t>(phase));
  return {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
}

// Samples that share a sine and a cosine of double precision.
void rotate_block(Complex first, const Complex* factors, const Complex* x, Complex* y,
                  std::size_t count) {
  Vf base{};
  for (std::uint32_t i = 0; i < kLanes; ++i) base[i] = i % 2 == 0 ? first.re : first.im;
  const auto* from = reinterpret_cast<const float*>(x);
  const auto* by = reinterpret_cast<const float*>(factors);
  auto* to = reinterpret_cast<float*>(y);
  const std::size_t floats = 2 * count;
  std::size_t i = 0;
  for (; i + kLanes <= floats; i += kLanes)
    store(to + i, product(product(base, load(by + i)), load(from + i)));
  if (i == floats) return;
  float rest[kLanes] = {};
  std::memcpy(rest, from + i, (floats - i) * sizeof(float));
  store(rest, product(product(base, load(by + i)), load(rest)));
  std::memcpy(to + i, rest, (floats - i) * sizeof(float));
}

void rotate(Rotation* rotation, const Complex* x, Complex* y, std::size_t count) noexcept {
  for (std::size_t done = 0; done < count; done += Rotation::kBlock) {
    const std::size_t now = std::min(Rotation::kBlock, count - done);
    rotate_block(turned(rotation->phase), rotation->factors, x + done, y + done, now);
    rotation->phase += rotation->step * now;
  }
}

}  // namespace

const RotateKernels rotate_kernels{.rotate = rotate};
