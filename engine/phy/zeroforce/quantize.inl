// Combiners in 16-bit integers.
#include "phy/simd/int16.inl"

namespace {

void quantize(ArrayShape shape, const Tile* w, Int16Tile* integers, float* scale) noexcept {
  for (std::uint32_t user = 0; user < shape.users; ++user) {
    const std::size_t row = std::size_t{user} * shape.antenna_stride;
    for (std::uint32_t lane = 0; lane < kTileLanes; lane += kLanes) {
      const Int16Scale common(w + row, shape.antennas, lane);
      store(scale + user * kTileLanes + lane, common.scale);
      for (std::size_t at = row; at < row + shape.antennas; ++at) {
        const ComplexVf x = load(w[at], lane);
        const Vi pairs = paired(rounded(x.re * common.factor), rounded(x.im * common.factor));
        std::memcpy(integers[at].at + lane, &pairs, sizeof pairs);
      }
    }
  }
}

// As expand_scalars, a pair being one number.
void expand_int16(ArrayShape shape, std::uint32_t tiles, const Int16Tile* w_groups,
                  const float* scale_groups, Int16Complex* w, std::size_t w_stride, float* scale,
                  const float* pn_groups, float* post_noise) noexcept {
  alignas(64) float rows[kTileLanes][kLanes];
  for (std::uint32_t user = 0; user < shape.users; ++user) {
    const std::size_t row = std::size_t{user} * shape.antenna_stride;
    for (std::uint32_t a = 0; a < shape.antennas; a += kLanes) {
      const std::uint32_t count = std::min(kLanes, shape.antennas - a);
      for (std::uint32_t lane = 0; lane < kTileLanes; lane += kLanes)
        transpose<kLanes>(
            [&](int i) {
              const auto from = std::min(static_cast<std::uint32_t>(i), count - 1);
              return reinterpret_cast<const float*>(w_groups[row + a + from].at + lane);
            },
            [&](int i) { return rows[lane + static_cast<std::uint32_t>(i)]; });
      for (std::uint32_t t = 0; t < tiles; ++t) {
        Int16Complex* to = w + t * w_stride + row + a;
        fetch_to_store(to + shape.antenna_stride, sizeof rows[t]);  // the next user's
        if (count == kLanes)
          std::memcpy(to, rows[t], sizeof rows[t]);
        else
          std::memcpy(to, rows[t], count * sizeof *to);
      }
    }
    for (std::uint32_t t = 0; t < tiles; ++t)
      scale[std::size_t{t} * shape.users + user] = scale_groups[user * kTileLanes + t];
    spread_noise(shape, tiles, user, pn_groups, post_noise);
  }
}

}  // namespace
