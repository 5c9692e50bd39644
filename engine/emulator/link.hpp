// A cell without real time: frame after frame through the same pipeline as in a run, each with a
// channel, noise and payload of its own, counted against what was sent.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/aligned.hpp"
#include "emulator/downlink_users.hpp"
#include "emulator/uplink_generator.hpp"
#include "frame/cpu/pipeline.hpp"

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
  /// Σ|s - sent symbol|², over one user's tile of each symbol in the uplink.
  double known_error = 0;
  std::uint64_t known_symbols = 0;

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
  /// signal-to-noise ratio. Measured on what the antennas receive.
  double noise_estimate = 0;
  std::vector<double> signal_power;  // [user]
};

/// How the uplink comes to the base station. Through subcarriers, channel and noise act on the
/// symbols as the receiver's transforms would show them; through samples, all goes the way of a
/// run, transforms, int16 rounding and clipping included. The physics are the same while rounding
/// is far below the noise, up to some 50 dB.
enum class UplinkPath : std::uint8_t { Subcarriers, Samples };

class LinkSimulator : frame::SubcarrierSource {
 public:
  /// The frame outlives this.
  LinkSimulator(const frame::Frame& frame, const RadioPlan& plan,
                UplinkPath path = UplinkPath::Subcarriers);

  /// What follows has other radio conditions, and no frame before it.
  void set_radio(const RadioPlan& plan);

  /// Simulates frames first … first + frames - 1. What a frame brings depends on the plan and its
  /// number alone, except that a downlink with an older frame's precoder needs that frame before
  /// it.
  LinkResult run(std::uint64_t first, std::uint64_t frames);

 private:
  std::int16_t* samples(std::uint32_t symbol, std::uint32_t antenna);
  void run_uplink(std::uint64_t frame, LinkResult& result);
  void run_downlink(std::uint64_t frame, LinkResult& result);
  void compare_with_sent(std::uint64_t frame, LinkSide& uplink);
  float pilot_row(std::uint32_t symbol, std::uint32_t antenna, phy::Tile* row) noexcept override;
  void uplink_grid(std::uint32_t symbol, phy::Tile* grid) noexcept override;
  void receive_samples(std::uint64_t frame);
  void add_pilot_power(std::uint32_t symbol, const phy::Tile* row, std::size_t stride);
  void measure_pilots(std::uint64_t frame, LinkResult& result);

  const frame::Frame& frame_;
  RadioPlan plan_;
  UplinkPath path_;
  std::optional<UplinkGenerator> generator_;
  frame::Pipeline pipeline_;
  std::optional<DownlinkUsers> users_;
  phy::OfdmScratch ofdm_;
  AlignedArray<std::uint8_t> downlink_payload_;
  AlignedArray<std::int16_t> samples_;  // [antenna][sample]
  AlignedArray<phy::Tile> sent_;        // [tile] of one user and symbol
  AlignedArray<phy::Tile> pilots_;      // [tile][antenna] of the P symbol last received
  std::vector<double> pilot_power_;     // [user], of the frame's pilots, antennas summed up
};

}  // namespace carillon::emulator
