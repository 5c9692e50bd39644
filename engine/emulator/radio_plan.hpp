// The emulated other side of the air, as a person configures it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/fields.hpp"

namespace carillon::emulator {

enum class ChannelKind : std::uint8_t { Rayleigh, Awgn };
/// What goes on air instead of a downlink that is late.
enum class Contingency : std::uint8_t { Zeros, References };

struct RadioPlan {
  std::uint32_t frames = 16;  // generated before the run and replayed in turn
  std::uint64_t seed = 1;
  ChannelKind channel = ChannelKind::Rayleigh;
  std::uint32_t taps = 1;              // 1: flat; more: exponential power-delay profile
  double delay_spread_ns = 100;        // rms, of the taps
  std::uint32_t coherence_frames = 1;  // frames that share a channel, or one that moves on
  double doppler_hz = 0;               // largest Doppler shift; 0: it stands still meanwhile
  /// Per user (one value: for all): mean signal power over noise power, per antenna and subcarrier.
  std::vector<double> snr_db{25};
  Contingency contingency = Contingency::Zeros;

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("frames", self.frames);
    visit("seed", self.seed);
    visit("channel", self.channel);
    visit("taps", self.taps);
    visit("delay_spread_ns", self.delay_spread_ns);
    visit("coherence_frames", self.coherence_frames);
    visit("doppler_hz", self.doppler_hz);
    visit("snr_db", self.snr_db);
    visit("contingency", self.contingency);
  }

  double snr_of(std::uint32_t user) const { return snr_db.size() == 1 ? snr_db[0] : snr_db[user]; }

  /// Problems under the keys above (without a prefix).
  std::vector<Problem> validate(std::uint32_t users, double prefix_ns, double spacing_khz) const;
};

}  // namespace carillon::emulator

namespace carillon {

template <>
struct EnumNames<emulator::ChannelKind> {
  static constexpr std::array<std::string_view, 2> value{"rayleigh", "awgn"};
};
template <>
struct EnumNames<emulator::Contingency> {
  static constexpr std::array<std::string_view, 2> value{"zeros", "references"};
};

}  // namespace carillon
