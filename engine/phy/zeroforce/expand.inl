// From lanes that are groups of subcarriers back to subcarriers.
#include "base/simd/transpose.inl"

namespace {

void spread_groups(LaneGroups of, std::uint32_t rows, const float* groups, float* lanes) noexcept {
  const GroupLanes<kLanes> grouped(of);
  for (std::uint32_t i = 0; i < rows * kTileLanes; i += kTileLanes)
    for (std::uint32_t lane = 0; lane < kTileLanes; lane += kLanes)
      store(lanes + i + lane, grouped.pick<Vf>(groups + i, lane));
}

// Sixteen groups' lanes become rows of antennas, re and im in turn. The padding stays as it is.
void expand_scalars(ArrayShape shape, std::uint32_t tiles, const Tile* w_groups, Complex* w,
                    std::size_t w_stride) noexcept {
  constexpr auto pairs_low = [](int k) { return k / 2 + k % 2 * static_cast<int>(kLanes); };
  constexpr auto pairs_high = [](int k) {
    return (k + static_cast<int>(kLanes)) / 2 + k % 2 * static_cast<int>(kLanes);
  };
  alignas(64) float re[kTileLanes][kLanes], im[kTileLanes][kLanes];
  for (std::uint32_t user = 0; user < shape.users; ++user) {
    const std::size_t row = std::size_t{user} * shape.antenna_stride;
    for (std::uint32_t a = 0; a < shape.antennas; a += kLanes) {
      const std::uint32_t count = std::min(kLanes, shape.antennas - a);
      const auto from = [&](int i) -> const Tile& {
        return w_groups[row + a + std::min(static_cast<std::uint32_t>(i), count - 1)];
      };
      for (std::uint32_t lane = 0; lane < kTileLanes; lane += kLanes) {
        transpose<kLanes>([&](int i) { return from(i).re + lane; },
                          [&](int i) { return re[lane + static_cast<std::uint32_t>(i)]; });
        transpose<kLanes>([&](int i) { return from(i).im + lane; },
                          [&](int i) { return im[lane + static_cast<std::uint32_t>(i)]; });
      }
      for (std::uint32_t t = 0; t < tiles; ++t) {
        const Vf r = load(re[t]), i = load(im[t]);
        const Vf pairs[2] = {shuffle<pairs_low>(r, i), shuffle<pairs_high>(r, i)};
        Complex* to = w + t * w_stride + row + a;
        fetch_to_store(to + shape.antenna_stride, sizeof pairs);  // the next user's
        if (count == kLanes)
          std::memcpy(to, pairs, sizeof pairs);
        else
          std::memcpy(to, pairs, count * sizeof *to);
      }
    }
  }
}

}  // namespace
