// W = (HᴴH + λI)⁻¹Hᴴ: the scalar algorithm over a vector of lanes. The explicit inverse costs K³/6
// products more than two triangular solves per antenna, but makes the K²M products of W a plain
// matrix product, and its diagonal is the noise after combining.
#include "phy/simd/product.inl"
// clang-format off
#include "phy/zeroforce/inverse.inl"
#include "phy/zeroforce/expand.inl"
#include "phy/zeroforce/halve.inl"
#include "phy/zeroforce/quantize.inl"
// clang-format on

namespace {

// Antennas, and users summed over, that are finished before the next ones: a block's factors then
// come from the first-level cache and 32×32 tiles of the channel from the second.
inline constexpr std::uint32_t kChunk = 32;
// A user's own share in what a noise-flooded or a loaded combiner yields is taken as at least this:
// the latter's is the rest that rounding leaves where too many users have the same channel.
inline constexpr float kLeastGain = 1e-8F, kLeastLoadedGain = 0x1p-8F;

[[gnu::always_inline]] inline Vf at_least(Vf v, Vf least) { return v > least ? v : least; }
[[gnu::always_inline]] inline void store_post_noise(float* to, Vf v) {
  const Vf most = broadcast(kPostNoiseCeiling);
  store(to, at_least(v < most ? v : most, broadcast(kPostNoiseFloor)));
}

struct Channel {
  const Tile* at;
  std::uint32_t antennas, users;
  std::size_t stride;

  const Tile* operator()(std::uint32_t user, std::uint32_t antenna) const {
    return at + user * stride + antenna;
  }
};

struct GramBlock {
  template <std::uint32_t I, std::uint32_t J>
  static void run(std::uint32_t i, std::uint32_t j, std::uint32_t lane, const Square& g,
                  const Channel& h, std::uint32_t antenna, std::uint32_t count) {
    Block<I, J> block;
    block.template add<true>({h(i, antenna), h.stride, 1}, {h(j, antenna), h.stride, 1}, count,
                             lane);
#pragma GCC unroll 4
    for (std::uint32_t r = 0; r < I; ++r)
#pragma GCC unroll 4
      for (std::uint32_t c = 0; c < J; ++c) {
        ComplexVf sum = block.sum[r][c][0];
        if (antenna != 0) {
          const ComplexVf before = load(g(i + r, j + c), lane);
          sum = {sum.re + before.re, sum.im + before.im};
        }
        store(g(i + r, j + c), lane, sum);
      }
  }
};

// Lower triangle of HᴴH.
void gram(const Channel& h, const Square& g) {
  for (std::uint32_t a = 0; a < h.antennas; a += kChunk)
    for_lower_blocks<GramBlock>(h.users, g, h, a, std::min(kChunk, h.antennas - a));
}

// Users k…k+I-1, antennas a…a+J-1 of W = PHᴴ. P is Hermitian: its column is read as a row, and the
// sum conjugated.
struct WeightBlock {
  template <std::uint32_t I, std::uint32_t J>
  static void run(std::uint32_t k, std::uint32_t a, const Square& p, const Channel& h,
                  std::uint32_t user, Tile* w) {
    for (std::uint32_t lane = 0; lane < kTileLanes; lane += kLanes) {
      Block<I, J> block;
      block.template add<false>(p.along_row(user, k), {h(user, a), 1, h.stride},
                                std::min(kChunk, h.users - user), lane);
#pragma GCC unroll 4
      for (std::uint32_t r = 0; r < I; ++r)
#pragma GCC unroll 4
        for (std::uint32_t c = 0; c < J; ++c) {
          Tile& to = w[(k + r) * h.stride + a + c];
          ComplexVf sum = {block.sum[r][c][0].re, -block.sum[r][c][0].im};
          if (user != 0) {
            const ComplexVf before = load(to, lane);
            sum = {sum.re + before.re, sum.im + before.im};
          }
          store(to, lane, sum);
        }
    }
  }
};

void weights(const Channel& h, const Square& p, Tile* w) {
  for (std::uint32_t chunk = 0; chunk < h.antennas; chunk += kChunk) {
    const std::uint32_t end = std::min(chunk + kChunk, h.antennas);
    for (std::uint32_t user = 0; user < h.users; user += kChunk)
      for (std::uint32_t k = 0; k < h.users; k += kRows)
        for (std::uint32_t a = chunk; a < end; a += kColumns)
          with_size<WeightBlock, kRows, kColumns>(std::min(kRows, h.users - k),
                                                  std::min(kColumns, end - a), k, a, p, h, user, w);
  }
}

// Interference that what was added to the diagonal leaves on user k: WH = I - P·diag(added).
Vf interference(const Square& p, std::uint32_t k, const Diagonal& diagonal, std::uint32_t lane) {
  Vf sum{};
  for (std::uint32_t j = 0; j < p.size; ++j) {
    if (j == k) continue;
    const ComplexVf entry = load(p(j, k), lane);
    const Vf added = diagonal.added(j, lane), re = entry.re * added, im = entry.im * added;
    sum += re * re + im * im;
  }
  return sum;
}

// With P = (HᴴH + diag(added))⁻¹ user k's gain is d = 1 - P(k, k)·added(k). Divided by it, noise
// and interference are noise·P(k, k)/d where nothing but noise was added (1/(WH)kk - 1 for Mmse).
// Where the diagonal is loaded this stores the interference only.
void finish(const Square& p, float noise, const Diagonal& diagonal, bool whole, float* post_noise,
            std::uint32_t lane) {
  for (std::uint32_t k = 0; k < p.size; ++k) {
    const Vf own = load(p(k, k).re + lane), added = diagonal.added(k, lane);
    const Vi loaded = diagonal.loading(k, lane) > 0, lost = diagonal.power(k, lane) <= 0;
    const Vf inverse =
        1 / at_least(1 - own * added, loaded ? broadcast(kLeastLoadedGain) : broadcast(kLeastGain));
    Vf variance = noise * own * inverse;
    if (!whole) {
      const Vf left = interference(p, k, diagonal, lane) * inverse * inverse;
      variance = loaded ? left : lost ? broadcast(kPostNoiseCeiling) : variance;
    }
    store_post_noise(post_noise + k * kTileLanes + lane, variance);
    if (whole && diagonal.noise == 0) continue;
    const Vf scale = lost ? Vf{} : inverse;
    for (std::uint32_t i = 0; i < p.size; ++i) {
      const ComplexVf entry = load(p(i, k), lane);
      store(p(i, k), lane, {entry.re * scale, entry.im * scale});
    }
  }
}

// The noise of the lanes whose diagonal is loaded.
void add_noise(const Channel& shape, float noise, const Diagonal& diagonal, const Tile* w,
               float* post_noise) {
  for (std::uint32_t lane = 0; lane < kTileLanes; lane += kLanes)
    for (std::uint32_t k = 0; k < shape.users; ++k) {
      Vf power{};
      for (std::uint32_t a = 0; a < shape.antennas; ++a) {
        const ComplexVf x = load(w[k * shape.stride + a], lane);
        power += x.re * x.re + x.im * x.im;
      }
      float* to = post_noise + k * kTileLanes + lane;
      const Vf before = load(to);
      store_post_noise(to, diagonal.loading(k, lane) > 0 ? before + noise * power : before);
    }
}

std::uint32_t invert(const Channel& h, const Square& square, float noise, const Diagonal& diagonal,
                     Tile* w, float* post_noise) {
  Vi lost[kTileVectors], singular[kTileVectors] = {};
  const auto solve = [&] {
    gram(h, square);
    for (std::uint32_t v = 0; v < kTileVectors; ++v) {
      lost[v] = separate_lost(square, diagonal, singular[v], v * kLanes);
      cholesky(square, diagonal, v * kLanes);
      invert_factor(square, v * kLanes);
    }
    for_lower_blocks<SquareBlock>(h.users, square);
  };
  solve();
  std::uint32_t regularised = 0, flagged = 0;
  for (std::uint32_t v = 0; v < kTileVectors; ++v) {
    singular[v] = inseparable(square, diagonal, v * kLanes);
    regularised += count_lanes(singular[v]);
    flagged += count_lanes(singular[v] | lost[v]);
  }
  if (regularised != 0) solve();
  for (std::uint32_t v = 0; v < kTileVectors; ++v)
    finish(square, noise, diagonal, count_lanes(singular[v] | lost[v]) == 0, post_noise,
           v * kLanes);
  weights(h, square, w);
  if (regularised != 0) add_noise(h, noise, diagonal, w, post_noise);
  return flagged;
}

// w(k) = h(k)ᴴ / g(k, k), noise/g(k, k) + Σ |g(k, j)|²/g(k, k)² of noise and interference.
std::uint32_t match(const Channel& h, const Square& g, float noise, const Diagonal& diagonal,
                    Tile* w, float* post_noise) {
  gram(h, g);
  std::uint32_t flagged = 0;
  for (std::uint32_t lane = 0; lane < kTileLanes; lane += kLanes) {
    flagged += count_lanes(separate_lost(g, diagonal, Vi{}, lane));
    for (std::uint32_t k = 0; k < h.users; ++k) {
      Vf interference{};
      for (std::uint32_t j = 0; j < h.users; ++j) {
        if (j == k) continue;
        const ComplexVf entry = load(j < k ? g(k, j) : g(j, k), lane);
        interference += entry.re * entry.re + entry.im * entry.im;
      }
      const Vf power = diagonal.power(k, lane);
      const Vi lost = power <= 0;
      const Vf inverse = lost ? Vf{} : 1 / power;
      const Vf variance = noise * inverse + interference * inverse * inverse;
      store_post_noise(post_noise + k * kTileLanes + lane,
                       lost ? broadcast(kPostNoiseCeiling) : variance);
      for (std::uint32_t a = 0; a < h.antennas; ++a) {
        const ComplexVf channel = load(*h(k, a), lane);
        store(w[k * h.stride + a], lane, {channel.re * inverse, -channel.im * inverse});
      }
    }
  }
  return flagged;
}

std::uint32_t combine(Detector detector, ArrayShape shape, float noise, const Tile* csi, Tile* w,
                      float* post_noise, ZeroForceScratch& scratch) noexcept {
  const Channel h{csi, shape.antennas, shape.users, shape.antenna_stride};
  const Square square{scratch.matrix.data(), shape.users, shape.users | 1};
  const Diagonal diagonal{scratch.diagonal.data(), detector == Detector::Mmse ? noise : 0};
  return detector == Detector::Conjugate ? match(h, square, noise, diagonal, w, post_noise)
                                         : invert(h, square, noise, diagonal, w, post_noise);
}

void antenna_power(ArrayShape shape, const Tile* w, const float* times, float* power) noexcept {
  for (std::uint32_t a = 0; a < shape.antennas; ++a) {
    Vf sum{};
    for (std::uint32_t user = 0; user < shape.users; ++user)
      for (std::uint32_t v = 0; v < kTileVectors; ++v) {
        const ComplexVf x = load(w[std::size_t{user} * shape.antenna_stride + a], v * kLanes);
        sum += load(times + v * kLanes) * (x.re * x.re + x.im * x.im);
      }
    float total = 0;
    for (std::uint32_t i = 0; i < kLanes; ++i) total += sum[i];
    power[a] += total;
  }
}

void antenna_power_scalar(ArrayShape shape, const Complex* w, std::uint32_t lanes,
                          float* power) noexcept {
  const auto times = static_cast<float>(lanes);
  for (std::uint32_t user = 0; user < shape.users; ++user)
    for (std::uint32_t a = 0; a < shape.antennas; ++a) {
      const Complex x = w[std::size_t{user} * shape.antenna_stride + a];
      power[a] += times * (x.re * x.re + x.im * x.im);
    }
}

}  // namespace

extern const ZeroForceKernels zeroforce_kernels;
const ZeroForceKernels zeroforce_kernels = {.combine = combine,
                                            .spread_groups = spread_groups,
                                            .expand_scalars = expand_scalars,
                                            .antenna_power = antenna_power,
                                            .antenna_power_scalar = antenna_power_scalar,
                                            .halve = halve,
                                            .halve_scalar = halve_scalar,
                                            .quantize_rows = quantize_rows,
                                            .quantize_columns = quantize_columns,
                                            .expand_int16 = expand_int16};
