#include "emulator/radio_plan.hpp"

#include <cmath>
#include <string>
#include <utility>

namespace carillon::emulator {

std::vector<Problem> RadioPlan::validate(std::uint32_t users, double prefix_ns,
                                         double spacing_khz) const {
  std::vector<Problem> problems;
  const auto require = [&](bool good, std::string key, std::string message) {
    if (!good) problems.push_back({std::move(key), std::move(message)});
  };
  require(frames >= 1 && frames <= 4096, "frames",
          "is " + std::to_string(frames) + " but must be between 1 and 4096");
  require(taps >= 1 && taps <= 64, "taps",
          "is " + std::to_string(taps) + " but must be between 1 and 64");
  require(taps == 1 || (delay_spread_ns >= 0 && delay_spread_ns * 4 <= prefix_ns),
          "delay_spread_ns",
          "is " + detail::number_text(delay_spread_ns) + " but must be between 0 and " +
              detail::number_text(std::floor(prefix_ns / 4)) +
              ", a quarter of the cyclic prefix, so that echoes stay inside it");
  require(coherence_frames >= 1, "coherence_frames", "must be at least 1");
  const double fastest = spacing_khz * 1e3 / 100;
  require(doppler_hz >= 0 && doppler_hz <= fastest, "doppler_hz",
          "is " + detail::number_text(doppler_hz) + " but must be between 0 and " +
              detail::number_text(fastest) +
              ", a hundredth of numerology.spacing_khz, so that the channel stands still within a "
              "symbol");
  require(doppler_hz <= 0 || channel == ChannelKind::Rayleigh, "doppler_hz",
          "is " + detail::number_text(doppler_hz) +
              " but must be 0 with radio.channel awgn, which stands still");
  require(snr_db.size() == 1 || snr_db.size() == users, "snr_db",
          "has " + std::to_string(snr_db.size()) +
              " values but needs one, or one for each of the " + std::to_string(users) + " users");
  for (std::size_t i = 0; i < snr_db.size(); ++i)
    require(snr_db[i] >= -60 && snr_db[i] <= 80,
            snr_db.size() == 1 ? "snr_db" : "snr_db." + std::to_string(i),
            "is " + detail::number_text(snr_db[i]) + " but must be between -60 and 80 dB");
  return problems;
}

}  // namespace carillon::emulator
