#include "emulator/channel.hpp"

#include <cmath>
#include <numbers>

#include "base/random.hpp"

namespace carillon::emulator {
namespace {

constexpr std::uint64_t kChannelStream = 1ULL << 60;

phy::Complex multiply(phy::Complex a, phy::Complex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

// The rms spread of taps at 0, 1, … whose powers fall by `ratio` from one to the next.
double unit_spread(std::uint32_t taps, double ratio) {
  double sum = 0, first = 0, second = 0, power = 1;
  for (std::uint32_t i = 0; i < taps; ++i, power *= ratio) {
    sum += power;
    first += power * i;
    second += power * i * i;
  }
  const double mean = first / sum;
  return std::sqrt(second / sum - mean * mean);
}

}  // namespace

Channel::Channel(const frame::Frame& frame, const RadioPlan& plan) : frame_(frame), plan_(plan) {
  const auto& f = frame.format();
  const std::uint32_t taps = flat() ? 1 : plan.taps;
  const double ratio = std::exp(-1.0);
  const double spacing = taps == 1 ? 0 : plan.delay_spread_ns / unit_spread(taps, ratio);
  double total = 0;
  for (std::uint32_t i = 0; i < taps; ++i) {
    tap_power_.push_back(std::pow(ratio, i));
    tap_delay_ns_.push_back(i * spacing);
    total += tap_power_.back();
  }
  for (auto& power : tap_power_) power /= total;
  taps_.resize(std::size_t{f.users} * f.antennas * taps);
  const std::size_t block = std::size_t{f.users} * frame.array().antenna_stride;
  if (flat()) {
    flat_ = AlignedArray<phy::Complex>(block);
    return;
  }
  tiles_ = AlignedArray<phy::Tile>(block * frame.tiles());
  const double step = -2 * std::numbers::pi * f.numerology.spacing_khz * 1e-6;  // per ns
  for (std::uint32_t l = 0; l < taps; ++l)
    for (std::uint32_t k = 0; k < f.numerology.subcarriers; ++k) {
      const double angle = step * k * tap_delay_ns_[l];
      rotation_.push_back(
          {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))});
    }
}

void Channel::select(std::uint64_t frame) {
  const std::uint64_t block = frame / plan_.coherence_frames;
  if (block == selected_) return;
  selected_ = block;
  draw_taps(block);
  if (!flat()) compute_tiles();
}

void Channel::draw_taps(std::uint64_t block) {
  const auto& f = frame_.format();
  const std::size_t taps = tap_power_.size();
  const bool awgn = plan_.channel == ChannelKind::Awgn;
  Random random(plan_.seed, kChannelStream + (awgn ? 0 : block));
  for (std::uint32_t u = 0; u < f.users; ++u) {
    const double amplitude = std::pow(10, plan_.snr_of(u) / 20);
    for (std::uint32_t a = 0; a < f.antennas; ++a)
      for (std::size_t l = 0; l < taps; ++l) {
        phy::Complex tap{};
        if (awgn) {
          const double phase = 2 * std::numbers::pi * random.uniform();
          tap = {static_cast<float>(amplitude * std::cos(phase)),
                 static_cast<float>(amplitude * std::sin(phase))};
        } else {
          const auto normal = random.normal_pair();
          const auto scale = static_cast<float>(amplitude * std::sqrt(tap_power_[l] / 2));
          tap = {scale * normal[0], scale * normal[1]};
        }
        taps_[(std::size_t{u} * f.antennas + a) * taps + l] = tap;
        if (flat()) flat_[std::size_t{u} * frame_.array().antenna_stride + a] = tap;
      }
  }
}

phy::Complex Channel::coefficient(std::uint32_t user, std::uint32_t antenna,
                                  std::uint32_t subcarrier) const {
  const auto& f = frame_.format();
  const std::size_t taps = tap_power_.size();
  const phy::Complex* tap = &taps_[(std::size_t{user} * f.antennas + antenna) * taps];
  if (flat()) return tap[0];
  phy::Complex sum{};
  for (std::size_t l = 0; l < taps; ++l) {
    const auto part = multiply(tap[l], rotation_[l * f.numerology.subcarriers + subcarrier]);
    sum = {sum.re + part.re, sum.im + part.im};
  }
  return sum;
}

void Channel::compute_tiles() {
  const auto& f = frame_.format();
  const std::size_t stride = frame_.array().antenna_stride;
  for (std::uint32_t k = 0; k < f.numerology.subcarriers; ++k)
    for (std::uint32_t u = 0; u < f.users; ++u)
      for (std::uint32_t a = 0; a < f.antennas; ++a) {
        const auto h = coefficient(u, a, k);
        auto& tile = tiles_[(k / phy::kTileLanes * f.users + u) * stride + a];
        tile.re[k % phy::kTileLanes] = h.re;
        tile.im[k % phy::kTileLanes] = h.im;
      }
}

}  // namespace carillon::emulator
