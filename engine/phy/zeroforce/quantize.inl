// Combiners and precoders in 16-bit integers.
#include "phy/simd/int16.inl"

namespace {

// `terms` entries of w, `stride` apart, times their common factor; scale is a tile's 16.
[[gnu::always_inline]] inline void quantize_sum(const Tile* w, std::size_t stride,
                                                std::uint32_t terms, Int16Tile* integers,
                                                float* scale) {
  for (std::uint32_t lane = 0; lane < kTileLanes; lane += kLanes) {
    const Int16Scale common(w, stride, terms, lane);
    store(scale + lane, common.scale);
    for (std::size_t n = 0; n < terms; ++n) {
      const ComplexVf x = load(w[n * stride], lane);
      const Vi pairs = paired(rounded(x.re * common.factor), rounded(x.im * common.factor));
      std::memcpy(integers[n * stride].at + lane, &pairs, sizeof pairs);
    }
  }
}

void quantize_rows(ArrayShape shape, const Tile* w, Int16Tile* integers, float* scale) noexcept {
  for (std::size_t user = 0; user < shape.users; ++user) {
    const std::size_t row = user * shape.antenna_stride;
    quantize_sum(w + row, 1, shape.antennas, integers + row, scale + user * kTileLanes);
  }
}

void quantize_columns(ArrayShape shape, const Tile* w, Int16Tile* integers, float* scale) noexcept {
  for (std::size_t a = 0; a < shape.antennas; ++a)
    quantize_sum(w + a, shape.antenna_stride, shape.users, integers + a, scale + a * kTileLanes);
}

// rows[lane]: that lane of up to kLanes tiles, `stride` apart; the last one's where there are
// fewer.
[[gnu::always_inline]] inline void lanes_to_rows(const Int16Tile* from, std::size_t stride,
                                                 std::uint32_t count,
                                                 float (&rows)[kTileLanes][kLanes]) {
  for (std::uint32_t lane = 0; lane < kTileLanes; lane += kLanes)
    transpose<kLanes>(
        [&](int i) {
          const auto n = std::min(static_cast<std::uint32_t>(i), count - 1);
          return reinterpret_cast<const float*>(from[n * stride].at + lane);
        },
        [&](int i) { return rows[lane + static_cast<std::uint32_t>(i)]; });
}

// As expand_scalars, a pair being one number.
void expand_int16(ArrayShape shape, std::uint32_t tiles, const Int16Tile* w_groups, Int16Complex* w,
                  std::size_t w_stride) noexcept {
  alignas(64) float rows[kTileLanes][kLanes];
  for (std::uint32_t user = 0; user < shape.users; ++user) {
    const std::size_t row = std::size_t{user} * shape.antenna_stride;
    for (std::uint32_t a = 0; a < shape.antennas; a += kLanes) {
      const std::uint32_t count = std::min(kLanes, shape.antennas - a);
      lanes_to_rows(w_groups + row + a, 1, count, rows);
      for (std::uint32_t t = 0; t < tiles; ++t) {
        Int16Complex* to = w + t * w_stride + row + a;
        fetch_to_store(to + shape.antenna_stride, sizeof rows[t]);  // the next user's
        if (count == kLanes)
          std::memcpy(to, rows[t], sizeof rows[t]);
        else
          std::memcpy(to, rows[t], count * sizeof *to);
      }
    }
  }
}

}  // namespace
