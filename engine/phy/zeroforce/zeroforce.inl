// W = (HᴴH + λI)⁻¹Hᴴ: the scalar algorithm over a vector of lanes. The explicit inverse costs K³/6
// products more than two triangular solves per antenna, but makes the K²M products of W a plain
// matrix product, and its diagonal is the noise after combining.
#include "phy/simd/product.inl"
// clang-format off
#include "phy/zeroforce/inverse.inl"
#include "phy/zeroforce/expand.inl"
// clang-format on

namespace {

// Antennas, and users summed over, that are finished before the next ones: a block's factors then
// come from the first-level cache and 32×32 tiles of the channel from the second.
inline constexpr std::uint32_t kChunk = 32;
// A user's own share in what a regularised or noise-flooded combiner yields is taken as at least
// this.
inline constexpr float kLeastGain = 1e-8F;

[[gnu::always_inline]] inline Vf at_least(Vf v, float least) {
  const Vf limit = broadcast(least);
  return v > limit ? v : limit;
}
[[gnu::always_inline]] inline void store_post_noise(float* to, Vf v) {
  const Vf most = broadcast(kPostNoiseCeiling);
  store(to, at_least(v < most ? v : most, kPostNoiseFloor));
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

// Interference that the loading of pivots leaves on user k: WH = I - P·diag(λ + loading).
Vf leakage(const Square& p, std::uint32_t k, const Tile* loading, std::uint32_t lane) {
  Vf sum{};
  for (std::uint32_t j = 0; j < p.size; ++j) {
    const ComplexVf entry = load(p(j, k), lane);
    const Vf load_j = load(loading[j].re + lane);
    const Vf re = entry.re * load_j, im = entry.im * load_j;
    sum += re * re + im * im;
  }
  return sum;
}

// With P = (HᴴH + λI + loading)⁻¹ user k's gain is d = 1 - P(k, k)·(λ + loading), and noise and
// interference after division by it are noise·P(k, k) / d: 1/(WH)kk - 1 without loading. Mmse rows
// are divided by d where the pivot was not raised (there d may be rounding only).
template <Detector kDetector>
void finish(const Square& p, float noise, const Tile* loading, bool raised, float* post_noise,
            std::uint32_t lane) {
  constexpr bool kMmse = kDetector == Detector::Mmse;
  for (std::uint32_t k = 0; k < p.size; ++k) {
    const Vf own = load(p(k, k).re + lane), load_k = load(loading[k].re + lane);
    const Vf gain = at_least(1 - own * (load_k + (kMmse ? noise : 0)), kLeastGain);
    const Vf inverse = 1 / gain;
    Vf variance = noise * own * inverse;
    if (raised) variance += leakage(p, k, loading, lane) * inverse * inverse;
    store_post_noise(post_noise + k * kTileLanes + lane, variance);
    if constexpr (kMmse) {
      const Vf scale = load_k > 0 ? broadcast(1) : inverse;
      for (std::uint32_t i = 0; i < p.size; ++i) {
        const ComplexVf entry = load(p(i, k), lane);
        store(p(i, k), lane, {entry.re * scale, entry.im * scale});
      }
    }
  }
}

std::uint32_t count_lanes(Vi mask) {
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < kLanes; ++i) count += mask[i] != 0 ? 1 : 0;
  return count;
}

template <Detector kDetector>
std::uint32_t invert(const Channel& h, const Square& square, float noise, Tile* loading, Tile* w,
                     float* post_noise) {
  const float diagonal = kDetector == Detector::Mmse ? noise : 0;
  Regularised lanes[kTileVectors];
  for (std::uint32_t v = 0; v < kTileVectors; ++v) {
    lanes[v] = cholesky(square, diagonal, loading, v * kLanes);
    invert_factor(square, v * kLanes);
  }
  for_lower_blocks<SquareBlock>(h.users, square);
  std::uint32_t flagged = 0;
  for (std::uint32_t v = 0; v < kTileVectors; ++v) {
    finish<kDetector>(square, noise, loading, count_lanes(lanes[v].raised) != 0, post_noise,
                      v * kLanes);
    flagged += count_lanes(lanes[v].flagged);
  }
  weights(h, square, w);
  return flagged;
}

// w(k) = h(k)ᴴ / g(k, k), noise/g(k, k) + Σ |g(k, j)|²/g(k, k)² of noise and interference.
std::uint32_t match(const Channel& h, const Square& g, float noise, Tile* w, float* post_noise) {
  std::uint32_t flagged = 0;
  for (std::uint32_t lane = 0; lane < kTileLanes; lane += kLanes) {
    Vi silent = {};
    for (std::uint32_t k = 0; k < h.users; ++k) {
      const Vf power = load(g(k, k).re + lane);
      Vf interference{};
      for (std::uint32_t j = 0; j < h.users; ++j) {
        if (j == k) continue;
        const ComplexVf entry = load(j < k ? g(k, j) : g(j, k), lane);
        interference += entry.re * entry.re + entry.im * entry.im;
      }
      const Vi none = power <= kNoPower;
      const Vf inverse = none ? Vf{} : 1 / power;
      const Vf variance = noise * inverse + interference * inverse * inverse;
      store_post_noise(post_noise + k * kTileLanes + lane,
                       none ? broadcast(kPostNoiseCeiling) : variance);
      for (std::uint32_t a = 0; a < h.antennas; ++a) {
        const ComplexVf channel = load(*h(k, a), lane);
        store(w[k * h.stride + a], lane, {channel.re * inverse, -channel.im * inverse});
      }
      silent |= none;
    }
    flagged += count_lanes(silent);
  }
  return flagged;
}

std::uint32_t combine(Detector detector, ArrayShape shape, float noise, const Tile* csi, Tile* w,
                      float* post_noise, ZeroForceScratch& scratch) noexcept {
  const Channel h{csi, shape.antennas, shape.users, shape.antenna_stride};
  const Square square{scratch.matrix.data(), shape.users, shape.users | 1};
  Tile* loading = scratch.loading.data();
  gram(h, square);
  switch (detector) {
    case Detector::Mmse: return invert<Detector::Mmse>(h, square, noise, loading, w, post_noise);
    case Detector::Conjugate: return match(h, square, noise, w, post_noise);
    case Detector::ZeroForcing: break;
  }
  return invert<Detector::ZeroForcing>(h, square, noise, loading, w, post_noise);
}

void antenna_power(ArrayShape shape, const Tile* w, std::uint32_t lanes, float* power) noexcept {
  Vf used[kTileVectors];
  for (std::uint32_t i = 0; i < kTileLanes; ++i) used[i / kLanes][i % kLanes] = i < lanes ? 1 : 0;
  for (std::uint32_t a = 0; a < shape.antennas; ++a) {
    Vf sum{};
    for (std::uint32_t user = 0; user < shape.users; ++user)
      for (std::uint32_t v = 0; v < kTileVectors; ++v) {
        const ComplexVf x = load(w[std::size_t{user} * shape.antenna_stride + a], v * kLanes);
        sum += used[v] * (x.re * x.re + x.im * x.im);
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
const ZeroForceKernels zeroforce_kernels = {combine, expand, expand_scalar, antenna_power,
                                            antenna_power_scalar};
