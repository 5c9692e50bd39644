#include "emulator/channel.hpp"

#include <algorithm>
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
  if (moves()) {
    paths_.resize(kPaths * taps_.size());
    shifts_.resize(std::size_t{f.users} * kPaths * taps);
  }
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

void Channel::begin(std::uint64_t frame, std::uint32_t symbol) {
  const bool awgn = plan_.channel == ChannelKind::Awgn;
  const std::uint64_t block = awgn ? 0 : frame / plan_.coherence_frames;
  const auto& s = frame_.symbol(symbol);
  const auto since = static_cast<Tick>(frame % plan_.coherence_frames) * frame_.duration();
  const Tick instant = moves() ? since + (s.start + s.end) / 2 : 0;
  if (block == selected_ && instant == instant_) return;
  instant_ = instant;
  users_moved_ = tiles_computed_ = 0;
  if (block == selected_) return;
  selected_ = block;
  random_ = Random(plan_.seed, kChannelStream + block);
  drawn_ = 0;
}

bool Channel::step() {
  const std::uint32_t movers = moves() ? frame_.format().users : 0;
  const std::uint32_t tiles = flat() ? 0 : frame_.tiles();
  if (drawn_ < draws())
    draw(drawn_++);
  else if (users_moved_ < movers)
    move(users_moved_++);
  else if (tiles_computed_ < tiles)
    compute_tile(tiles_computed_++);
  return drawn_ < draws() || users_moved_ < movers || tiles_computed_ < tiles;
}

void Channel::draw(std::uint32_t number) {
  if (moves())
    draw_path(number / kPaths, number % kPaths);
  else
    draw_taps(number);
}

void Channel::draw_taps(std::uint32_t user) {
  const auto& f = frame_.format();
  const std::size_t taps = tap_power_.size(), stride = frame_.array().antenna_stride;
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
      taps_of(user)[l * stride + a] = tap;
      if (flat()) flat_[user * stride + a] = tap;
    }
}

// Of all taps.
void Channel::draw_path(std::uint32_t user, std::uint32_t path) {
  const std::size_t taps = tap_power_.size(), stride = frame_.array().antenna_stride;
  const double amplitude = std::pow(10, plan_.snr_of(user) / 20) / std::sqrt(kPaths);
  for (std::size_t l = 0; l < taps; ++l) {
    double* const shifts = &shifts_[user * kPaths * taps + l];  // [path · taps]
    if (path == 0) {
      const double first = random_.uniform();
      for (std::uint32_t n = 0; n < kPaths; ++n)
        shifts[n * taps] = kTurn * plan_.doppler_hz * std::cos(kTurn * (n + first) / kPaths);
    }
    const auto scale = static_cast<float>(amplitude * std::sqrt(tap_power_[l] / 2));
    phy::Complex* const row = &paths_[((user * kPaths + path) * taps + l) * stride];
    for (std::uint32_t a = 0; a < frame_.format().antennas; ++a) {
      const auto normal = random_.normal_pair();
      row[a] = {scale * normal[0], scale * normal[1]};
    }
  }
}

void Channel::move(std::uint32_t user) {
  const std::size_t taps = tap_power_.size(), stride = frame_.array().antenna_stride;
  const double seconds = static_cast<double>(instant_) * 1e-9;
  phy::Complex* const sum = taps_of(user);
  std::fill_n(sum, taps * stride, phy::Complex{});
  for (std::size_t n = 0; n < kPaths * taps; ++n) {
    const double angle = shifts_[user * kPaths * taps + n] * seconds;
    const auto re = static_cast<float>(std::cos(angle)), im = static_cast<float>(std::sin(angle));
    const phy::Complex* const from = &paths_[(user * kPaths * taps + n) * stride];
    phy::Complex* const to = sum + n % taps * stride;
    for (std::size_t a = 0; a < stride; ++a) {
      to[a].re += from[a].re * re - from[a].im * im;
      to[a].im += from[a].re * im + from[a].im * re;
    }
  }
  if (flat()) std::copy_n(sum, stride, &flat_[user * stride]);
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
