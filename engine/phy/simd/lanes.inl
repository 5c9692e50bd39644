// Tiles of coefficients whose lanes are subcarriers, or groups of them. Included inside an
// instruction set's namespace, after its begin file.

namespace {

// [group][tile][subcarrier]: the subcarrier's lane, see LaneGroups.
inline constexpr auto kLaneOf = [] {
  std::array<std::array<std::array<std::uint8_t, kTileLanes>, kTileLanes>, kTileLanes> lanes{};
  for (std::size_t group = 1; group < kTileLanes; ++group)
    for (std::size_t tile = 0; tile < group; ++tile)
      for (std::size_t i = 0; i < kTileLanes; ++i)
        lanes[group][tile][i] = static_cast<std::uint8_t>((kTileLanes * tile + i) / group);
  return lanes;
}();

/// Of a tile's sixteen words of 32 bits those of N neighbouring subcarriers. They touch at most N
/// neighbouring lanes: those from the first one's on, or the tile's last N.
template <std::uint32_t N>
class GroupLanes {
  static constexpr std::uint32_t kParts = kTileLanes / N;
  using Words [[gnu::vector_size(4 * N)]] = std::int32_t;

 public:
  [[gnu::always_inline]] explicit GroupLanes(LaneGroups of) {
    for (std::uint32_t part = 0; part < kParts; ++part) {
      const std::uint8_t* const lane = &kLaneOf[of.group][of.tile][part * N];
      first_[part] = std::min<std::uint32_t>(lane[0], kTileLanes - N);
      for (std::uint32_t i = 0; i < N; ++i)
        index_[part][i] = lane[i] - static_cast<std::int32_t>(first_[part]);
    }
  }

  /// V: of 4·N bytes; lane: a multiple of N.
  template <typename V>
  [[gnu::always_inline]] V pick(const void* tile, std::uint32_t lane) const {
    static_assert(sizeof(V) == sizeof(Words));
    const std::uint32_t part = lane / N;
    Words words;
    std::memcpy(&words, static_cast<const std::int32_t*>(tile) + first_[part], sizeof words);
    return reinterpret_cast<V>(__builtin_shuffle(words, index_[part]));
  }

 private:
  Words index_[kParts];
  std::uint32_t first_[kParts];
};

/// Each subcarrier's own lane.
template <std::uint32_t N>
struct OwnLanes {
  template <typename V>
  [[gnu::always_inline]] V pick(const void* tile, std::uint32_t lane) const {
    V v;
    std::memcpy(&v, static_cast<const std::int32_t*>(tile) + lane, sizeof v);
    return v;
  }
};

/// f(OwnLanes) for groups of one subcarrier, f(GroupLanes) for larger ones; N subcarriers at a
/// time.
template <std::uint32_t N, typename F>
[[gnu::always_inline]] inline void with_lanes(LaneGroups of, F&& f) {
  if (of.group == 1)
    f(OwnLanes<N>{});
  else
    f(GroupLanes<N>(of));
}

}  // namespace
