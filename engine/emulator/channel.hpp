// The emulated channel between users and antennas. It fades in blocks of frames, within which it
// stands still or changes as for users that move.
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
///
/// With doppler_hz each Rayleigh tap is a sum of kPaths paths of independent Gaussian amplitudes,
/// which come in at angles evenly around the user, from a random one on, and turn with the Doppler
/// shift of theirs. So a tap is Gaussian at any time, and over a time t has the correlation
/// J0(2π · doppler_hz · t) of Clarke's model ("A statistical theory of mobile-radio reception",
/// Bell Syst. Tech. J. 47, 1968). A symbol has the channel of its middle.
class Channel {
 public:
  static constexpr std::uint32_t kPaths = 16;

  Channel(const frame::Frame& frame, const RadioPlan& plan);

  /// The channel in a symbol of a frame; coherence_frames in a row share one, or one that moves on.
  void select(std::uint64_t frame, std::uint32_t symbol = 0) {
    begin(frame, symbol);
    while (step()) {
    }
  }
  /// The same in pieces, a user's or a tile's: begin, then step until it says false.
  void begin(std::uint64_t frame, std::uint32_t symbol = 0);
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
  bool moves() const { return plan_.doppler_hz > 0; }
  std::uint32_t draws() const { return frame_.format().users * (moves() ? kPaths : 1); }
  phy::Complex* taps_of(std::uint32_t user) {
    return &taps_[user * tap_power_.size() * frame_.array().antenna_stride];
  }
  void draw(std::uint32_t number);
  void draw_taps(std::uint32_t user);
  void draw_path(std::uint32_t user, std::uint32_t path);
  void move(std::uint32_t user);
  void compute_tile(std::uint32_t tile);

  const frame::Frame& frame_;
  RadioPlan plan_;
  std::vector<double> tap_power_, tap_delay_ns_;
  std::vector<double> antenna_phase_;
  std::vector<phy::Complex> taps_;    // [user][tap][antenna_stride]
  std::vector<phy::Complex> paths_;   // [user][path][tap][antenna_stride], where users move
  std::vector<double> shifts_;        // [user][path][tap] radians per second
  AlignedArray<phy::Tile> rotation_;  // [tile][tap]
  AlignedArray<phy::Complex> flat_;
  AlignedArray<phy::Tile> tiles_;
  Random random_{0};
  std::uint64_t selected_ = ~0ULL;
  Tick instant_ = 0;  // since the block of frames began
  std::uint32_t drawn_ = 0, users_moved_ = 0, tiles_computed_ = 0;
};

}  // namespace carillon::emulator
