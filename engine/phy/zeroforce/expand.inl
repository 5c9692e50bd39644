// From lanes that are groups of subcarriers back to subcarriers.
#include "phy/simd/transpose.inl"

namespace {

// Where the subcarriers of one native vector find their groups: in two neighbouring vectors' worth
// of groups, which hold any kLanes subcarriers' groups.
struct Spread {
  std::uint32_t tiles[2], lanes[2];
  Vi index;

  Spread(std::uint32_t group, std::uint32_t first) {
    const std::uint32_t begin = first / group / kLanes, end = (first + kLanes - 1) / group / kLanes;
    const std::uint32_t vectors[2] = {begin, end};
    for (std::uint32_t i = 0; i < 2; ++i) {
      tiles[i] = vectors[i] / kTileVectors;
      lanes[i] = vectors[i] % kTileVectors * kLanes;
    }
    for (std::uint32_t i = 0; i < kLanes; ++i)
      index[i] = static_cast<std::int32_t>((first + i) / group - begin * kLanes);
  }

  Vf operator()(const float* low, const float* high) const {
    return __builtin_shuffle(load(low + lanes[0]), load(high + lanes[1]), index);
  }
};

void expand(ArrayShape shape, std::uint32_t group, std::uint32_t tile, const Tile* w_groups,
            std::size_t group_tile_stride, Tile* w, const float* pn_groups,
            float* post_noise) noexcept {
  for (std::uint32_t lane = 0; lane < kTileLanes; lane += kLanes) {
    const Spread spread(group, tile * kTileLanes + lane);
    const Tile* low = w_groups + spread.tiles[0] * group_tile_stride;
    const Tile* high = w_groups + spread.tiles[1] * group_tile_stride;
    const std::size_t noise_tile = std::size_t{shape.users} * kTileLanes;
    for (std::uint32_t user = 0; user < shape.users; ++user) {
      const std::size_t row = std::size_t{user} * shape.antenna_stride;
      for (std::size_t at = row; at < row + shape.antennas; ++at)
        store(w[at], lane, {spread(low[at].re, high[at].re), spread(low[at].im, high[at].im)});
      const float* noise = pn_groups + user * kTileLanes;
      store(post_noise + user * kTileLanes + lane,
            spread(noise + spread.tiles[0] * noise_tile, noise + spread.tiles[1] * noise_tile));
    }
  }
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
