// From lanes that are groups of subcarriers back to subcarriers.

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

void expand_scalar(ArrayShape shape, std::uint32_t tile, const Tile* w_groups,
                   std::size_t group_tile_stride, Complex* w, const float* pn_groups,
                   float* post_noise) noexcept {
  const std::uint32_t group_tile = tile / kTileLanes, lane = tile % kTileLanes;
  const Tile* from = w_groups + group_tile * group_tile_stride;
  const float* noise = pn_groups + std::size_t{group_tile} * shape.users * kTileLanes;
  for (std::uint32_t user = 0; user < shape.users; ++user) {
    const std::size_t row = std::size_t{user} * shape.antenna_stride;
    for (std::size_t at = row; at < row + shape.antennas; ++at)
      w[at] = {from[at].re[lane], from[at].im[lane]};
    for (std::uint32_t i = 0; i < kTileLanes; i += kLanes)
      store(post_noise + user * kTileLanes + i, broadcast(noise[user * kTileLanes + lane]));
  }
}

}  // namespace
