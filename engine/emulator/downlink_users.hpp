// The users' side of the downlink: what came through the channel is decoded with the same library
// and compared with what was sent. In small steps, so that a thread with something better to do can
// put it off.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/aligned.hpp"
#include "base/random.hpp"
#include "emulator/channel.hpp"
#include "frame/frame.hpp"
#include "phy/demap/demap.hpp"
#include "phy/equalize/equalize.hpp"
#include "phy/ldpc/ldpc.hpp"

namespace carillon::emulator {

/// What one user made of one downlink frame.
struct DownlinkResult {
  std::uint32_t blocks = 0, failed = 0;
  float error_power = 0;  // Σ|s - nearest constellation point|² after its gain was removed
  std::uint32_t symbols = 0;
};

class DownlinkUsers {
 public:
  DownlinkUsers(const frame::Frame& frame, const RadioPlan& plan);

  /// Samples of a D symbol as the antenna radiates them, prefix first.
  using Samples = std::function<const std::int16_t*(std::uint32_t symbol, std::uint32_t antenna)>;
  /// Takes on a frame, whose samples must stay until step() returns false. `replay` selects the
  /// channel and `slot` the payload that was sent.
  void start(std::uint64_t replay, std::uint64_t slot, Samples samples);
  /// One piece of work of some ten microseconds; false when the frame is finished.
  bool step();
  bool busy() const { return phase_ != Phase::Idle; }

  /// [user], of the frame last finished.
  const std::vector<DownlinkResult>& results() const { return results_; }

 private:
  enum class Phase : std::uint8_t { Idle, Receive, Propagate, Decode };

  void receive_antenna();
  void propagate();
  void estimate_gains();
  void demodulate(std::uint32_t user);
  void decode_block();
  bool payload_matches(std::uint32_t transport_block) const;
  void add_noise(phy::Tile& tile, std::uint32_t user);

  const frame::Frame& frame_;
  RadioPlan plan_;
  Channel channel_;
  std::vector<float> noise_amplitude_;     // [user], per real dimension
  std::vector<std::size_t> soft_offsets_;  // [code block]
  phy::OfdmScratch ofdm_;
  phy::LdpcScratch ldpc_;
  AlignedArray<phy::Tile> grid_;      // [tile][antenna]
  AlignedArray<phy::Tile> received_;  // [user][tile]
  AlignedArray<phy::Complex> gains_;  // [user][tile]
  std::vector<float> variances_;      // [user]
  AlignedArray<phy::Tile> noise_;     // a supply of unit-variance noise
  AlignedArray<std::int8_t> soft_, recovered_;
  AlignedArray<std::uint8_t> info_, payload_, expected_;
  std::vector<std::uint8_t> code_block_good_;
  std::vector<DownlinkResult> results_;
  Samples samples_;
  Random random_;
  Phase phase_ = Phase::Idle;
  std::uint32_t ordinal_ = 0, antenna_ = 0, user_ = 0, code_block_ = 0;
};

}  // namespace carillon::emulator
