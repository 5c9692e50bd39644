// Combiners in half precision.
#include "phy/simd/half.inl"

namespace {

// The power of two that brings `largest` to ¼…½; 1 for a row of zeros.
float row_factor(float largest) {
  return largest > 0 ? std::ldexp(1.0F, -2 - std::ilogb(largest)) : 1;
}

[[gnu::always_inline]] inline Vf larger_magnitude(Vf largest, Vf v) {
  const Vf magnitude = (Vf)((Vi)v & 0x7fffffff);
  return largest > magnitude ? largest : magnitude;
}

[[gnu::always_inline]] inline float largest_of(Vf v) {
  float largest = v[0];
  for (std::uint32_t i = 1; i < kLanes; ++i) largest = std::max(largest, v[i]);
  return largest;
}

void halve(ArrayShape shape, const Tile* w, HalfTile* half, float* scale) noexcept {
  for (std::uint32_t user = 0; user < shape.users; ++user) {
    const std::size_t row = std::size_t{user} * shape.antenna_stride;
    Vf largest{};
    for (std::size_t at = row; at < row + shape.antennas; ++at)
      for (std::uint32_t lane = 0; lane < kTileLanes; lane += kLanes) {
        largest = larger_magnitude(largest, load(w[at].re + lane));
        largest = larger_magnitude(largest, load(w[at].im + lane));
      }
    const float factor = row_factor(largest_of(largest));
    scale[user] = 1 / (factor * kHalfScale);
    for (std::size_t at = row; at < row + shape.antennas; ++at)
      for (std::uint32_t lane = 0; lane < kTileLanes; lane += kLanes) {
        const ComplexVf x = load(w[at], lane);
        store_pairs(half[at].at + lane, x.re * factor, x.im * factor);
      }
  }
}

// As halve, of pairs of floats in a row; a rest shorter than a vector is padded with zeros.
void halve_scalar(ArrayShape shape, const Complex* w, HalfComplex* half, float* scale) noexcept {
  constexpr std::uint32_t kPairs = kLanes / 2;
  for (std::uint32_t user = 0; user < shape.users; ++user) {
    const std::size_t row = std::size_t{user} * shape.antenna_stride;
    const auto pairs_from = [&](std::uint32_t a) {
      Vf pairs{};
      if (a + kPairs <= shape.antennas)
        std::memcpy(&pairs, w + row + a, sizeof pairs);
      else
        std::memcpy(&pairs, w + row + a, (shape.antennas - a) * sizeof *w);
      return pairs;
    };
    Vf largest{};
    for (std::uint32_t a = 0; a < shape.antennas; a += kPairs)
      largest = larger_magnitude(largest, pairs_from(a));
    const float factor = row_factor(largest_of(largest));
    scale[user] = 1 / (factor * kHalfScale);
    for (std::uint32_t a = 0; a < shape.antennas; a += kPairs) {
      fetch_to_store(half + row + shape.antenna_stride + a, sizeof(HalfPairs));  // the next user's
      const HalfPairs halves = narrowed(pairs_from(a) * factor);
      if (a + kPairs <= shape.antennas)
        std::memcpy(half + row + a, &halves, sizeof halves);
      else
        std::memcpy(half + row + a, &halves, (shape.antennas - a) * sizeof *half);
    }
  }
}

}  // namespace
