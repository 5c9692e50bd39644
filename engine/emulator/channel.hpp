// The emulated channel between users and antennas, block-fading: it stands still during a frame.
#pragma once

#include <cstdint>
#include <vector>

#include "base/aligned.hpp"
#include "base/random.hpp"
#include "emulator/radio_plan.hpp"
#include "frame/frame.hpp"
#include "phy/precode/precode.hpp"

namespace carillon::emulator {

/// Noise has variance 1 per subcarrier (and per time sample); user u's channel has mean power
/// 10^(snr_u / 10) per antenna, exactly in the mean over frames. Rayleigh: independent Gaussian
/// taps per user and antenna with an exponential power-delay profile, spaced so that their rms
/// spread is delay_spread_ns. Awgn: unit gains, user u's being column u of a DFT over the antennas,
/// each of which has a phase of its own: users are orthogonal whatever the seed.
class Channel {
 public:
  Channel(const frame::Frame& frame, const RadioPlan& plan);

  /// The channel of a frame; coherence_frames in a row share one.
  void select(std::uint64_t frame) {
    begin(frame);
    while (step()) {
    }
  }
  /// The same in pieces of some ten microseconds: begin, then step until it says false.
  void begin(std::uint64_t frame);
  bool step();

  bool flat() const { return plan_.channel == ChannelKind::Awgn || plan_.taps == 1; }
  /// [user][antenna_stride]: of all subcarriers when flat() …
  const phy::Complex* flat_response() const { return flat_.data(); }
  /// … else of tile t.
  const phy::Tile* response(std::uint32_t tile) const {
    return &tiles_[std::size_t{tile} * frame_.format().users * frame_.array().antenna_stride];
  }
  phy::Complex coefficient(std::uint32_t user, std::uint32_t antenna,
                           std::uint32_t subcarrier) const;

 private:
  void draw_taps(std::uint32_t user);
  void compute_tile(std::uint32_t tile);

  const frame::Frame& frame_;
  RadioPlan plan_;
  std::vector<double> tap_power_, tap_delay_ns_;
  std::vector<double> antenna_phase_;
  std::vector<phy::Complex> taps_;    // [user][tap][antenna_stride]
  AlignedArray<phy::Tile> rotation_;  // [tile][tap]
  AlignedArray<phy::Complex> flat_;
  AlignedArray<phy::Tile> tiles_;
  Random random_{0};
  std::uint64_t selected_ = ~0ULL;
  std::uint32_t users_drawn_ = 0, tiles_computed_ = 0;
};

}  // namespace carillon::emulator
