#include "emulator/channel.hpp"

#include <cmath>
#include <numbers>

namespace carillon::emulator {
namespace {

constexpr std::uint64_t kChannelStream = 1ULL << 60;
constexpr double kTurn = 2 * std::numbers::pi;

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
  antenna_phase_.resize(f.antennas);
  taps_.resize(std::size_t{f.users} * taps * frame.array().antenna_stride);
  const std::size_t block = std::size_t{f.users} * frame.array().antenna_stride;
  if (flat()) {
    flat_ = AlignedArray<phy::Complex>(block);
    return;
  }
  tiles_ = AlignedArray<phy::Tile>(block * frame.tiles());
  rotation_ = AlignedArray<phy::Tile>(std::size_t{taps} * frame.tiles());
  const double step = -kTurn * f.numerology.spacing_khz * 1e-6;  // per ns
  for (std::uint32_t l = 0; l < taps; ++l)
    for (std::uint32_t k = 0; k < f.numerology.subcarriers; ++k) {
      const double angle = step * k * tap_delay_ns_[l];
      auto& tile = rotation_[std::size_t{k / phy::kTileLanes} * taps + l];
      tile.re[k % phy::kTileLanes] = static_cast<float>(std::cos(angle));
      tile.im[k % phy::kTileLanes] = static_cast<float>(std::sin(angle));
    }
}

void Channel::begin(std::uint64_t frame) {
  const bool awgn = plan_.channel == ChannelKind::Awgn;
  const std::uint64_t block = awgn ? 0 : frame / plan_.coherence_frames;
  if (block == selected_) return;
  selected_ = block;
  random_ = Random(plan_.seed, kChannelStream + block);
  users_drawn_ = tiles_computed_ = 0;
}

bool Channel::step() {
  const std::uint32_t tiles = flat() ? 0 : frame_.tiles();
  if (users_drawn_ < frame_.format().users)
    draw_taps(users_drawn_++);
  else if (tiles_computed_ < tiles)
    compute_tile(tiles_computed_++);
  return users_drawn_ < frame_.format().users || tiles_computed_ < tiles;
}

void Channel::draw_taps(std::uint32_t user) {
  const auto& f = frame_.format();
  const std::size_t taps = tap_power_.size();
  const double amplitude = std::pow(10, plan_.snr_of(user) / 20);
  for (std::uint32_t a = 0; a < f.antennas; ++a)
    for (std::size_t l = 0; l < taps; ++l) {
      phy::Complex tap{};
      if (plan_.channel == ChannelKind::Awgn) {
        if (user == 0) antenna_phase_[a] = kTurn * random_.uniform();
        const double phase = antenna_phase_[a] - kTurn * (a * user % f.antennas) / f.antennas;
        tap = {static_cast<float>(amplitude * std::cos(phase)),
               static_cast<float>(amplitude * std::sin(phase))};
      } else {
        const auto normal = random_.normal_pair();
        const auto scale = static_cast<float>(amplitude * std::sqrt(tap_power_[l] / 2));
        tap = {scale * normal[0], scale * normal[1]};
      }
      taps_[(user * taps + l) * frame_.array().antenna_stride + a] = tap;
      if (flat()) flat_[std::size_t{user} * frame_.array().antenna_stride + a] = tap;
    }
}

// Each antenna's response is the sum of its taps, turned by their delays: the precoder's product,
// with taps in the place of users.
void Channel::compute_tile(std::uint32_t tile) {
  const auto& f = frame_.format();
  const std::uint32_t stride = frame_.array().antenna_stride;
  const auto taps = static_cast<std::uint32_t>(tap_power_.size());
  for (std::size_t u = 0; u < f.users; ++u)
    phy::precode_kernels().per_tile({f.antennas, taps, stride}, &taps_[u * taps * stride],
                                    &rotation_[std::size_t{tile} * taps],
                                    &tiles_[(tile * f.users + u) * stride]);
}

phy::Complex Channel::coefficient(std::uint32_t user, std::uint32_t antenna,
                                  std::uint32_t subcarrier) const {
  const std::size_t row = std::size_t{user} * frame_.array().antenna_stride + antenna;
  if (flat()) return flat_[row];
  const phy::Tile& h = response(subcarrier / phy::kTileLanes)[row];
  return {h.re[subcarrier % phy::kTileLanes], h.im[subcarrier % phy::kTileLanes]};
}

}  // namespace carillon::emulator
