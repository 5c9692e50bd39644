// A cell without real time: frame after frame through the same pipeline as in a run, each with a
// channel, noise and payload of its own, counted against what was sent.
#pragma once

#include <cstdint>
#include <vector>

#include "base/aligned.hpp"
#include "emulator/downlink_users.hpp"
#include "emulator/uplink_generator.hpp"
#include "frame/pipeline.hpp"

namespace carillon::emulator {

/// Sums over frames.
struct LinkCounts {
  std::uint64_t blocks = 0;        // transport blocks
  std::uint64_t block_errors = 0;  // not received, or received wrong
  std::uint64_t undetected = 0;    // of these: taken for good
  std::uint64_t code_blocks = 0, code_block_errors = 0;
  std::uint64_t iterations = 0;                        // of the decoder
  std::uint64_t raw_bits = 0, raw_errors = 0;          // coded bits before decoding
  std::uint64_t payload_bits = 0, payload_errors = 0;  // whatever the checks said
  /// Σ|s - nearest constellation point|² and Σ predicted variance (uplink only) over `symbols`
  /// equalized ones; uplink: one tile of each symbol.
  double error_power = 0, noise_power = 0;
  std::uint64_t symbols = 0;

  LinkCounts& operator+=(const LinkCounts& other);
};

struct LinkSide {
  std::vector<LinkCounts> users;
  LinkCounts total() const;
};

struct LinkResult {
  std::uint64_t frames = 0;
  LinkSide uplink, downlink;
  std::uint64_t ill_conditioned = 0;  // see frame::Combiners
  std::uint64_t clipped = 0;          // components of samples, either direction

  /// Means over the frames, in units of the noise that was added: the receiver's estimate of it,
  /// and each user's power in its pilots per antenna and subcarrier, which is its true
  /// signal-to-noise ratio. Measured on the antennas' samples.
  double noise_estimate = 0;
  std::vector<double> signal_power;  // [user]
};

class LinkSimulator {
 public:
  /// The frame outlives this.
  LinkSimulator(const frame::Frame& frame, const RadioPlan& plan);

  /// Simulates frames first … first + frames - 1. What a frame brings depends on the plan and its
  /// number alone, except that a downlink with an older frame's precoder needs that frame before
  /// it.
  LinkResult run(std::uint64_t first, std::uint64_t frames);

 private:
  std::int16_t* samples(std::uint32_t symbol, std::uint32_t antenna);
  void run_uplink(std::uint64_t frame, LinkResult& result);
  void run_downlink(std::uint64_t frame, LinkResult& result);
  void measure_pilots(std::uint64_t frame, LinkResult& result);
  double pilot_power(std::uint32_t user, std::uint32_t antenna);

  const frame::Frame& frame_;
  RadioPlan plan_;
  UplinkGenerator generator_;
  frame::Pipeline pipeline_;
  DownlinkUsers users_;
  phy::OfdmScratch ofdm_;
  std::vector<std::uint32_t> pilot_symbols_;  // [user]
  AlignedArray<std::int16_t> samples_;        // [antenna][sample]
  AlignedArray<phy::Tile> row_;
};

}  // namespace carillon::emulator
