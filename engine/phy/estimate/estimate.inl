// Interpolation between a comb's pilots and means over groups, a tile at a time.

#include "base/simd/transpose.inl"

namespace {

// Values that lie `lanes` lanes from the start of `here`; negative ones and those from 16 on are in
// `other`, the tile before or after.
#if CARILLON_SIMD_AVX512
[[gnu::always_inline]] inline Vf pick(const float* here, const float* other,
                                      const std::int32_t* lanes) {
  return _mm512_permutex2var_ps(load(here), _mm512_loadu_si512(lanes), load(other));
}
#else
[[gnu::always_inline]] inline Vf pick(const float* here, const float* other,
                                      const std::int32_t* lanes) {
  Vi index;
  std::memcpy(&index, lanes, sizeof index);
  const auto permuted = [&](const float* p) {  // by the lowest three bits
    return _mm256_permutevar8x32_ps(load(p), reinterpret_cast<__m256i>(index));
  };
  const Vf near = (index & 8) != 0 ? permuted(here + 8) : permuted(here);
  const Vf far = (index & 8) != 0 ? permuted(other + 8) : permuted(other);
  return (index & 16) != 0 ? far : near;
}
#endif

/// The channel at the 16 subcarriers of tile t, both planes.
[[gnu::always_inline]] inline void interpolate(const EstimatePlan& plan, const Tile* row,
                                               std::uint32_t t, float* re, float* im) {
  const Interpolation& pattern = plan.interpolation(t);
  const Tile &here = row[t], &before = row[t == 0 ? t : t - 1],
             &after = row[t + 1 == plan.tiles() ? t : t + 1];
  for (std::uint32_t i = 0; i < kTileLanes; i += kLanes) {
    const Vf left = load(pattern.left + i), right = load(pattern.right + i);
    const std::int32_t *from = pattern.left_lane + i, *to = pattern.right_lane + i;
    store(re + i, left * pick(here.re, before.re, from) + right * pick(here.re, after.re, to));
    store(im + i, left * pick(here.im, before.im, from) + right * pick(here.im, after.im, to));
  }
}

// Sums of neighbours: count numbers become half as many, in place.
[[gnu::always_inline]] inline void halve(float* p, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count / 2; i += kLanes) {
    const Vf a = load(p + 2 * i), b = load(p + 2 * i + kLanes);
#if CARILLON_SIMD_AVX512
    const Vf even =
        __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const Vf odd =
        __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
#else
    const Vf even = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
    const Vf odd = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
#endif
    store(p + i, even + odd);
  }
}

// p: 16·group numbers → out[i] = scale · sum over group i. Overwrites p.
void sum_groups(float* p, std::uint32_t group, float scale, float* out) {
  for (; group % 2 == 0; group /= 2) halve(p, kTileLanes * group);
  for (std::uint32_t i = 0; i < kTileLanes; ++i) {
    float sum = 0;
    for (std::uint32_t j = 0; j < group; ++j) sum += p[i * group + j];
    out[i] = scale * sum;
  }
}

// A group is a tile: 3 to 16 pilots of a user make its mean, too few for vectors.
void average_tiles(const EstimatePlan& plan, const Tile* row, Tile* csi, std::size_t stride) {
  for (std::uint32_t t = 0; t < csi_tiles(plan.subcarriers(), kTileLanes) * kTileLanes; ++t) {
    float re = 0, im = 0;
    if (t < plan.tiles()) {
      const TileMean& mean = plan.mean(t);
      for (std::uint32_t i = 0; i < mean.count; ++i) {
        const float* pilot = row[t].re + mean.at[i];
        re += mean.weight[i] * pilot[0];
        im += mean.weight[i] * pilot[kTileLanes];
      }
    }
    Tile& to = csi[t / kTileLanes * stride];
    to.re[t % kTileLanes] = re;
    to.im[t % kTileLanes] = im;
  }
}

void average_groups(const EstimatePlan& plan, const Tile* row, Tile* csi, std::size_t stride) {
  const std::uint32_t group = plan.group(), tiles = plan.tiles();
  alignas(64) float re[kTileLanes * kTileLanes], im[kTileLanes * kTileLanes];
  for (std::uint32_t first = 0; first < tiles; first += group, csi += stride) {
    const std::uint32_t present = std::min(group, tiles - first);
    for (std::uint32_t t = 0; t < present; ++t)
      interpolate(plan, row, first + t, re + t * kTileLanes, im + t * kTileLanes);
    std::fill(re + present * kTileLanes, re + group * kTileLanes, 0.0F);
    std::fill(im + present * kTileLanes, im + group * kTileLanes, 0.0F);
    const float scale = 1 / static_cast<float>(group);
    sum_groups(re, group, scale, csi->re);
    sum_groups(im, group, scale, csi->im);
    const std::uint32_t rest = plan.subcarriers() % group;
    if (first + present == tiles && rest != 0) {
      const std::uint32_t last = plan.subcarriers() / group % kTileLanes;
      csi->re[last] *= static_cast<float>(group) / static_cast<float>(rest);
      csi->im[last] *= static_cast<float>(group) / static_cast<float>(rest);
    }
  }
}

void estimate(const EstimatePlan& plan, const Tile* row, Tile* csi, std::size_t stride) noexcept {
  if (plan.group() == kTileLanes) return average_tiles(plan, row, csi, stride);
  if (plan.group() > 1) return average_groups(plan, row, csi, stride);
  for (std::uint32_t t = 0; t < plan.tiles(); ++t)
    interpolate(plan, row, t, csi[t * stride].re, csi[t * stride].im);
}

// [group][lane] of sixteen groups from `first` on, one plane: each lane's user's share of the
// means.
template <std::uint32_t Tiles>
void share_lanes(const CombPlan& plan, const float* row, std::uint32_t first,
                 float (*sums)[kTileLanes]) {
  constexpr std::size_t kTileFloats = sizeof(Tile) / sizeof(float);
  const LaneShares* const known = plan.shares().data();
  const auto groups = plan.groups().subspan(first);
  const auto count = std::min<std::size_t>(kTileLanes, groups.size());
  for (std::size_t i = 0; i < count; ++i) {
    const LaneShares& shares = known[groups[i].shares];
    const float* const pilots = row + groups[i].first_tile * kTileFloats;
#pragma GCC unroll 2
    for (std::uint32_t l = 0; l < kTileLanes; l += kLanes) {
      Vf sum = load(shares.of[0] + l) * load(pilots + l);
#pragma GCC unroll 4
      for (std::uint32_t t = 1; t < Tiles; ++t)
        sum += load(shares.of[t] + l) * load(pilots + t * kTileFloats + l);
      store(sums[i] + l, sum);
    }
  }
  std::fill(sums[count], sums[kTileLanes], 0.0F);
}

// Users' means over sixteen groups, one plane: lanes of [group][lane] become rows, and a user's
// rows are added.
void add_lanes(const float (*sums)[kTileLanes], std::uint32_t comb, std::uint32_t users, float* csi,
               std::size_t user_stride) {
  alignas(64) float turned[kTileLanes][kTileLanes];
  for (std::uint32_t i = 0; i < kTileLanes; i += kLanes)
    for (std::uint32_t l = 0; l < kTileLanes; l += kLanes)
      transpose<kLanes>([&](int r) { return sums[i + static_cast<std::uint32_t>(r)] + l; },
                        [&](int r) { return turned[l + static_cast<std::uint32_t>(r)] + i; });
  for (std::uint32_t u = 0; u < users; ++u)
    for (std::uint32_t i = 0; i < kTileLanes; i += kLanes) {
      Vf mean = load(turned[u] + i);
      for (std::uint32_t l = u + comb; l < kTileLanes; l += comb) mean += load(turned[l] + i);
      store(csi + u * user_stride + i, mean);
    }
}

void estimate_all(const CombPlan& plan, const Tile* row, std::uint32_t users, Tile* csi,
                  std::size_t user_stride, std::size_t stride) noexcept {
  if (plan.separate()) {
    for (std::uint32_t u = 0; u < users; ++u)
      estimate(plan.plan(u), row, csi + u * user_stride, stride);
    return;
  }
  constexpr std::size_t kTileFloats = sizeof(Tile) / sizeof(float);
  constexpr decltype(&share_lanes<1>) share[] = {share_lanes<1>, share_lanes<2>, share_lanes<3>,
                                                 share_lanes<4>};
  alignas(64) float sums[kTileLanes][kTileLanes];
  for (std::uint32_t first = 0; first < plan.groups().size(); first += kTileLanes, csi += stride)
    for (const auto plane : {&Tile::re, &Tile::im}) {
      share[plan.tiles_at_once() - 1](plan, row->*plane, first, sums);
      add_lanes(sums, plan.comb(), users, csi->*plane, user_stride * kTileFloats);
    }
}

float sum_lanes(Vf v) {
  alignas(64) float lanes[kLanes];
  store(lanes, v);
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  return sum;
}

GroupDeviation deviation(const EstimatePlan& plan, const Tile* row, const Tile* csi,
                         std::size_t stride) noexcept {
  const std::uint32_t group = plan.group();
  Tile along[kTileLanes] = {};  // [place of a tile's first subcarrier in its group]
  Vf power{}, squares{};
  for (std::uint32_t t = 0; t < plan.tiles(); ++t) {
    Tile here;
    interpolate(plan, row, t, here.re, here.im);
    const Interpolation& pattern = plan.interpolation(t);
    const Tile& means = csi[t / group * stride];
    Tile& sum = along[t * kTileLanes % group];
    for (std::uint32_t i = 0; i < kTileLanes; i += kLanes) {
      const std::int32_t* of = plan.group_lanes(t) + i;
      const Vf within = load(pattern.left + i) + load(pattern.right + i);  // 0 past the band's end
      const Vf re = within * pick(means.re, means.re, of),
               im = within * pick(means.im, means.im, of);
      const Vf off_re = load(here.re + i) - re, off_im = load(here.im + i) - im;
      power += re * re + im * im;
      squares += off_re * off_re + off_im * off_im;
      store(sum.re + i, load(sum.re + i) + (off_re * re + off_im * im));
      store(sum.im + i, load(sum.im + i) + (off_im * re - off_re * im));
    }
  }
  GroupDeviation result{.power = sum_lanes(power), .squares = sum_lanes(squares)};
  const std::uint32_t step = 1U << std::countr_zero(group);  // what they have in common
  for (std::uint32_t first = 0; first < group; first += step)
    for (std::uint32_t i = 0; i < kTileLanes; ++i) {
      result.along_re[(first + i) % group] += along[first].re[i];
      result.along_im[(first + i) % group] += along[first].im[i];
    }
  return result;
}

// Pilots that have one on either side, so many at once, with these two and what a vector may read
// past them.
inline constexpr std::uint32_t kInnerPilots = 64;
struct PilotRun {
  float re[kInnerPilots + kTileLanes + 2] = {}, im[kInnerPilots + kTileLanes + 2] = {};
};

/// Sums of vectors, as PilotChange's.
struct ChangeSums {
  Vf squares{}, re{}, im{};

  [[gnu::always_inline]] void add(Vf x_re, Vf x_im, Vf h_re, Vf h_im) {
    squares += x_re * x_re + x_im * x_im;
    re += x_re * h_re + x_im * h_im;
    im += x_im * h_re - x_re * h_im;
  }
  PilotChange total() const { return {sum_lanes(squares), {sum_lanes(re), sum_lanes(im)}}; }
};

// A user's pilots lie between others': they are gathered before vectors have use for them.
GroupDeviation change(const EstimatePlan& plan, const Tile* row) noexcept {
  constexpr float kWithin[2 * kTileLanes] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  PilotRun h;
  Vf power{};
  ChangeSums bend, step;
  for (std::uint32_t first = 0; first + 2 < plan.pilots(); first += kInnerPilots) {
    const std::uint32_t inner = std::min(kInnerPilots, plan.pilots() - 2 - first);
    for (std::uint32_t i = 0, k = plan.offset() + first * plan.comb(); i < inner + 2;
         ++i, k += plan.comb()) {
      h.re[i] = row[k / kTileLanes].re[k % kTileLanes];
      h.im[i] = row[k / kTileLanes].im[k % kTileLanes];
    }
    for (std::uint32_t i = 0; i < inner; i += kLanes) {
      const Vf within = load(kWithin + kTileLanes - std::min(kTileLanes, inner - i));
      const Vf re = within * load(h.re + i + 1), im = within * load(h.im + i + 1);
      const Vf after_re = within * load(h.re + i + 2), after_im = within * load(h.im + i + 2);
      const Vf mean_re = 0.5F * (within * load(h.re + i) + after_re),
               mean_im = 0.5F * (within * load(h.im + i) + after_im);
      power += re * re + im * im;
      bend.add(re - mean_re, im - mean_im, re, im);
      step.add(after_re - re, after_im - im, re, im);
    }
  }
  return {.pilot_power = sum_lanes(power), .bend = bend.total(), .step = step.total()};
}

}  // namespace

extern const EstimateKernels estimate_kernels;
const EstimateKernels estimate_kernels{estimate, estimate_all, deviation, change};
