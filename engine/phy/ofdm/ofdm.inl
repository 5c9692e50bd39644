// Samples to tiles and back around the transform: conversion fused into its first loads,
// selection of used subcarriers into its last stores, and the other way round for the inverse.
#include "base/simd/fft.inl"
#include "phy/simd/half.inl"

namespace {

/// Where a row of L numbers, the v-th from the lowest used subcarrier, lies among tiles.
template <std::uint32_t L, typename T = Tile>
struct TileRows {
  T* base;
  std::size_t stride;
  std::uint32_t tiles;  ///< rows beyond are zero and not stored

  [[gnu::always_inline]] T& tile(std::uint32_t v) const {
    return base[v / (kTileLanes / L) * stride];
  }
  [[gnu::always_inline]] static std::uint32_t lane(std::uint32_t v) {
    return v % (kTileLanes / L) * L;
  }
  [[gnu::always_inline]] float* at(std::uint32_t v) const { return tile(v).re + lane(v); }
  [[gnu::always_inline]] bool inside(std::uint32_t v) const { return v < tiles * (kTileLanes / L); }
};

template <typename F>
[[gnu::always_inline]] inline void store_lanes(Tile& tile, std::uint32_t lane, F re, F im) {
  std::memcpy(tile.re + lane, &re, sizeof re);
  std::memcpy(tile.im + lane, &im, sizeof im);
}
template <typename F>
[[gnu::always_inline]] inline void store_lanes(HalfTile& tile, std::uint32_t lane, F re, F im) {
  store_pairs(tile.at + lane, re * kHalfScale, im * kHalfScale);
}

// ---- samples → tiles

template <std::uint32_t L>
[[gnu::always_inline]] inline Cx<L> load_samples(const std::int16_t* iq) {
  using I = typename Simd<L>::I;
  using F = typename Simd<L>::F;
  I v;
  std::memcpy(&v, iq, sizeof v);
  // As if shifted up by 16 bits: exact in a float, and the scale is in the twiddles.
  return {__builtin_convertvector(v << 16, F), __builtin_convertvector(v & ~0xffff, F)};
}

/// Fetches tiles that lie far apart to the L2 cache before their turn, `count` at each call.
template <std::uint32_t L, typename T>
class RowsToCome {
 public:
  explicit RowsToCome(TileRows<L, T> rows)
      : at_(rows.base), step_(rows.stride), left_(rows.stride == 1 ? 0 : rows.tiles) {}
  [[gnu::always_inline]] void fetch(std::uint32_t count) {
    count = std::min(count, left_);
    left_ -= count;
    for (; count > 0; --count, at_ += step_) fetch_to_store(at_, sizeof(T));
  }

 private:
  const T* at_;
  std::size_t step_;
  std::uint32_t left_;  // tiles
};

template <std::uint32_t L, typename T>
void samples_to_tiles(const FftTables& tables, const std::int16_t* iq, TileRows<L, T> out,
                      OfdmScratch& scratch) {
  float* work = scratch.work.data();
  RowsToCome<L, T> to_come(out);
  // Loads little, so that it is here that what the last pass will store is fetched.
  samples_to_rows<L>(
      tables, work,
      [=](std::size_t n) __attribute__((always_inline)) { return load_samples<L>(iq + 2 * n); },
      [&]() __attribute__((always_inline)) { to_come.fetch(L * L / kTileLanes); });
  const std::uint16_t* frequency = tables.frequency_at.data();
  // The first pass loads every row once: as many as there are pieces of L samples to fetch.
  const std::int16_t* next = scratch.next != nullptr ? scratch.next : iq;
  const WorkRows<L> rows{work};
  const auto load = [=](std::uint32_t place) {
    __builtin_prefetch(next + std::size_t{place} * 2 * L);
    return rows(place);
  };
  transform_rows<L>(tables, work, load, [=](std::uint32_t place, Cx<L> x) {
    const std::uint32_t v = frequency[place];
    if (!out.inside(v)) return;
    store_lanes(out.tile(v), out.lane(v), x.re, x.im);
  });
}

template <typename T>
void all_bins(const OfdmPlan& plan, const std::int16_t* iq, T* out, std::size_t stride,
              std::uint32_t tiles, OfdmScratch& scratch) {
  if (kLanes == 8 || plan.shape().fft_size < 256)
    samples_to_tiles<8, T>(plan.tables(8), iq, {out, stride, tiles}, scratch);
  else
    samples_to_tiles<kLanes, T>(plan.tables(kLanes), iq, {out, stride, tiles}, scratch);
}

// ---- tiles → samples

// I and Q numbers below 2^31 to samples, rounded to nearest and saturated; the largest magnitudes
// so far, where -32768 has its own; and whether one is as large as a saturated sample's.
[[gnu::always_inline]] inline __m256i to_samples(__m256 i, __m256 q) {
  const __m256i order = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15));
  return _mm256_shuffle_epi8(_mm256_packs_epi32(_mm256_cvtps_epi32(i), _mm256_cvtps_epi32(q)),
                             order);
}
[[gnu::always_inline]] inline __m256i largest(__m256i most, __m256i samples) {
  return _mm256_max_epu16(most, _mm256_abs_epi16(samples));
}
[[gnu::always_inline]] inline bool at_the_limit(__m256i most) {
  const __m256i beyond = _mm256_subs_epu16(most, _mm256_set1_epi16(32766));
  return !_mm256_testz_si256(beyond, beyond);
}
#if CARILLON_SIMD_AVX512
// (With masks, for GCC 12 warns about its own intrinsics without.)
[[gnu::always_inline]] inline __m512i to_samples(__m512 i, __m512 q) {
  const __m512i order = _mm512_maskz_broadcast_i32x4(
      0xffff, _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15));
  return _mm512_shuffle_epi8(
      _mm512_packs_epi32(_mm512_maskz_cvtps_epi32(0xffff, i), _mm512_maskz_cvtps_epi32(0xffff, q)),
      order);
}
[[gnu::always_inline]] inline __m512i largest(__m512i most, __m512i samples) {
  return _mm512_max_epu16(most, _mm512_abs_epi16(samples));
}
[[gnu::always_inline]] inline bool at_the_limit(__m512i most) {
  return _mm512_cmpgt_epu16_mask(most, _mm512_set1_epi16(32766)) != 0;
}
#endif

inline constexpr float kTooLarge = 32767.5F;     // the tie rounds to 32768
inline constexpr float kTooSmall = -32768.502F;  // the next number below -32768.5, which rounds up

/// Clamps, so that all are below 2^31, and counts in each lane how many were out of range.
template <std::uint32_t L>
[[gnu::always_inline]] inline void clamp(typename Simd<L>::F& x, typename Simd<L>::I& outside) {
  outside -= (x >= kTooLarge) | (x <= kTooSmall);
  const typename Simd<L>::F most = 32767.0F - typename Simd<L>::F{},
                            least = -32768.0F - typename Simd<L>::F{};
  x = x > most ? most : x;
  x = x < least ? least : x;
}

struct Sampled {
  std::uint32_t saturated;
  bool at_the_limit;
};

/// Rows to samples. re and im come exchanged, which makes the transform an inverse one. Without
/// kClamp right only if no sample is at the limit.
template <std::uint32_t L, bool kClamp>
inline Sampled rows_to_iq(const FftTables& tables, const float* work, float gain, std::int16_t* iq,
                          RowsToCome<L, Tile> to_come) {
  using F = typename Simd<L>::F;
  typename Simd<L>::I outside{};
  decltype(to_samples(F{}, F{})) most{};
  const auto store = [&](std::size_t n, Cx<L> x) __attribute__((always_inline)) {
    F i = x.im * gain, q = x.re * gain;
    if constexpr (kClamp) {
      clamp<L>(i, outside);
      clamp<L>(q, outside);
    }
    const auto samples = to_samples(i, q);
    most = largest(most, samples);
    std::memcpy(iq + 2 * n, &samples, sizeof samples);
  };
  rows_to_samples<L>(
      tables, work,
      store, [&]() __attribute__((always_inline)) { to_come.fetch(L * L / kTileLanes); });
  std::uint32_t saturated = 0;
  for (std::uint32_t i = 0; i < L; ++i) saturated += static_cast<std::uint32_t>(outside[i]);
  return {saturated, at_the_limit(most)};
}

template <std::uint32_t L>
std::uint32_t tiles_to_samples(const FftTables& tables, TileRows<L> in, float gain,
                               std::int16_t* iq, float* work) {
  const auto load = [=](std::uint32_t v) -> Cx<L> {
    fetch_to_store(iq + std::size_t{v} * 2 * L, 2 * L * sizeof *iq);
    if (!in.inside(v)) return Cx<L>{typename Simd<L>::F{}, typename Simd<L>::F{}};
    return {Simd<L>::load(in.at(v) + kTileLanes), Simd<L>::load(in.at(v))};
  };
  transform_rows<L>(tables, work, load, WorkRows<L>{work});
  // The twiddles hold receive's scale, 2^-31; the samples' is 2^15.
  gain *= 0x1p46F;
  // The next antenna's tiles lie beside this one's.
  const RowsToCome<L, Tile> to_come({in.base + 1, in.stride, in.tiles});
  if (!rows_to_iq<L, false>(tables, work, gain, iq, to_come).at_the_limit) [[likely]]
    return 0;
  return rows_to_iq<L, true>(tables, work, gain, iq, to_come).saturated;
}

// ---- the hole at DC, tail lanes, pilots and noise

using Index = Simd<kLanes>::I;

[[gnu::always_inline]] inline Index lane_index() {
  Index v{};
  for (std::uint32_t i = 0; i < kLanes; ++i) v[i] = static_cast<std::int32_t>(i);
  return v;
}

/// Used subcarriers k … k + kLanes - 1, one plane (re or im) of them, out of a row of all bins.
/// Subcarriers from `hole` on are one bin further up. k is a multiple of kLanes.
[[gnu::always_inline]] inline Vf used_bins(const float* plane, std::uint32_t k, std::uint32_t hole,
                                           std::uint32_t subcarriers) {
  const auto at = [&](std::uint32_t bin) {
    return plane + bin / kTileLanes * 32 + bin % kTileLanes;
  };
  const Vf here = load(at(k)), next = load(at(k + kLanes));
#if CARILLON_SIMD_AVX512
  const Vf shifted =
      __builtin_shufflevector(here, next, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
#else
  const Vf shifted = __builtin_shufflevector(here, next, 1, 2, 3, 4, 5, 6, 7, 8);
#endif
  const Index index = lane_index() + static_cast<std::int32_t>(k);
  const Vf chosen = index < static_cast<std::int32_t>(hole) ? here : shifted;
  return index < static_cast<std::int32_t>(subcarriers) ? chosen : Vf{};
}

std::uint32_t hole_of(const OfdmPlan& plan) {
  return plan.shape().dc_hole ? plan.shape().subcarriers / 2 : plan.shape().fft_size;
}

void clear_lanes(Tile& tile, std::uint32_t first) {
  std::fill(tile.re + first, std::end(tile.re), 0.0F);
  std::fill(tile.im + first, std::end(tile.im), 0.0F);
}
void clear_lanes(HalfTile& tile, std::uint32_t first) {
  std::fill(tile.at + first, std::end(tile.at), HalfComplex{});
}

template <typename T>
void receive(const OfdmPlan& plan, const std::int16_t* iq, T* out, std::size_t stride,
             OfdmScratch& scratch) noexcept {
  const std::uint32_t tiles = plan.tiles(), subcarriers = plan.shape().subcarriers;
  if (!plan.shape().dc_hole) {
    all_bins(plan, iq, out, stride, tiles, scratch);
    clear_lanes(out[(tiles - 1) * stride], subcarriers - (tiles - 1) * kTileLanes);
    return;
  }
  const Tile* bins = scratch.bins.data();
  all_bins(plan, iq, scratch.bins.data(), 1, tiles_for(subcarriers + 1), scratch);
  const std::uint32_t hole = hole_of(plan);
  for (std::uint32_t k = 0; k < tiles * kTileLanes; k += kLanes) {
    store_lanes(out[k / kTileLanes * stride], k % kTileLanes,
                used_bins(bins->re, k, hole, subcarriers),
                used_bins(bins->im, k, hole, subcarriers));
  }
}

float mean_power(const Tile* bins, std::uint32_t first, std::uint32_t count) {
  const std::uint32_t end = first + count;
  Vf sum{};
  for (std::uint32_t k = first / kLanes * kLanes; k < end; k += kLanes) {
    const Index index = lane_index() + static_cast<std::int32_t>(k);
    const Vf re = load(bins[k / kTileLanes].re + k % kTileLanes);
    const Vf im = load(bins[k / kTileLanes].im + k % kTileLanes);
    const Vf power = re * re + im * im;
    const Vf late = index < static_cast<std::int32_t>(end) ? power : Vf{};
    sum += index < static_cast<std::int32_t>(first) ? Vf{} : late;
  }
  float total = 0;
  for (std::uint32_t i = 0; i < kLanes; ++i) total += sum[i];
  return count == 0 ? 0.0F : total / static_cast<float>(count);
}

float receive_pilot(const OfdmPlan& plan, const std::int16_t* iq, const Tile* pilot, Tile* row,
                    OfdmScratch& scratch) noexcept {
  const Tile* bins = scratch.bins.data();
  const std::uint32_t size = plan.shape().fft_size, hole = hole_of(plan);
  all_bins(plan, iq, scratch.bins.data(), 1, tiles_for(size), scratch);
  for (std::uint32_t k = 0; k < plan.tiles() * kTileLanes; k += kLanes) {
    const Vf re = used_bins(bins->re, k, hole, plan.shape().subcarriers);
    const Vf im = used_bins(bins->im, k, hole, plan.shape().subcarriers);
    const std::uint32_t tile = k / kTileLanes, lane = k % kTileLanes;
    const Vf pilot_re = load(pilot[tile].re + lane), pilot_im = load(pilot[tile].im + lane);
    store(row[tile].re + lane, re * pilot_re - im * pilot_im);
    store(row[tile].im + lane, re * pilot_im + im * pilot_re);
  }
  return mean_power(bins, plan.noise_first(), plan.noise_bins());
}

// The row of bins that the inverse of a shape with a hole starts from.
void open_hole(const OfdmPlan& plan, const Tile* in, std::size_t stride, Tile* bins) {
  const std::uint32_t hole = hole_of(plan), subcarriers = plan.shape().subcarriers;
  const auto copy = [=](std::uint32_t bin, std::uint32_t k) {
    const Tile& from = in[k / kTileLanes * stride];
    bins[bin / kTileLanes].re[bin % kTileLanes] = from.re[k % kTileLanes];
    bins[bin / kTileLanes].im[bin % kTileLanes] = from.im[k % kTileLanes];
  };
  for (std::uint32_t k = 0; k < hole; ++k) copy(k, k);
  bins[hole / kTileLanes].re[hole % kTileLanes] = bins[hole / kTileLanes].im[hole % kTileLanes] = 0;
  for (std::uint32_t k = hole; k < subcarriers; ++k) copy(k + 1, k);
  for (std::uint32_t bin = subcarriers + 1; bin % kTileLanes != 0; ++bin)
    bins[bin / kTileLanes].re[bin % kTileLanes] = bins[bin / kTileLanes].im[bin % kTileLanes] = 0;
}

std::uint32_t transmit(const OfdmPlan& plan, const Tile* in, std::size_t stride, float gain,
                       std::uint32_t prefix, std::int16_t* iq, OfdmScratch& scratch) noexcept {
  const std::uint32_t size = plan.shape().fft_size;
  std::uint32_t tiles = plan.tiles();
  if (plan.shape().dc_hole) {
    open_hole(plan, in, stride, scratch.bins.data());
    in = scratch.bins.data();
    stride = 1;
    tiles = tiles_for(plan.shape().subcarriers + 1);
  }
  std::int16_t* body = iq + 2 * std::size_t{prefix};
  Tile* from = const_cast<Tile*>(in);  // TileRows also writes; here it only reads
  const std::uint32_t saturated =
      kLanes == 8 || size < 256
          ? tiles_to_samples<8>(plan.tables(8), {from, stride, tiles}, gain, body,
                                scratch.work.data())
          : tiles_to_samples<kLanes>(plan.tables(kLanes), {from, stride, tiles}, gain, body,
                                     scratch.work.data());
  std::memcpy(iq, body + 2 * std::size_t{size - prefix}, std::size_t{prefix} * 2 * sizeof *iq);
  return saturated;
}

}  // namespace

extern const OfdmKernels ofdm_kernels;
const OfdmKernels ofdm_kernels{receive<Tile>, receive<HalfTile>, receive_pilot, transmit};
