// The users' side of the downlink: what came through the channel is decoded with the same library
// and compared with what was sent. In small steps, so that a thread with something better to do can
// put it off.
#pragma once

#include <complex>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/aligned.hpp"
#include "base/noise.hpp"
#include "emulator/channel.hpp"
#include "frame/frame.hpp"
#include "frame/receive.hpp"
#include "phy/demap/demap.hpp"
#include "phy/equalize/equalize.hpp"
#include "phy/ldpc/ldpc.hpp"

namespace carillon::emulator {

/// What one user made of one downlink frame.
struct DownlinkResult {
  std::uint32_t blocks = 0, failed = 0;
  std::uint64_t bits = 0;  // of payload, in those that did not fail
  float error_power = 0;   // Σ|s - nearest constellation point|² after its gain was removed
  float known_error = 0;   // Σ|s - sent symbol|², where what was sent is known
  std::uint32_t symbols = 0;
};

/// Σ|s - sent symbol|² over these lanes.
float distance(const phy::Tile& s, const phy::Tile& sent, std::uint32_t lanes);

class DownlinkUsers {
 public:
  /// `seeded`: what is sent follows from the seed, and blocks are compared with it; else their
  /// checks alone decide.
  DownlinkUsers(const frame::Frame& frame, const RadioPlan& plan, bool seeded = true);

  /// Samples of a D symbol as the antenna radiates them, prefix first. Never null.
  using Samples = std::function<const std::int16_t*(std::uint32_t symbol, std::uint32_t antenna)>;
  /// Takes on a frame, whose samples must stay until step() returns false. `replay` selects the
  /// channel, `index` the program and the payload that was sent (fill_payload). `coded`: its coded
  /// bits, for known_error, until then as well.
  void start(std::uint64_t replay, std::uint64_t index, Samples samples,
             const std::uint8_t* coded = nullptr) {
    start(replay, index, frame_.program(index), std::move(samples), coded);
  }
  /// One that does what this says, which stays as long.
  void start(std::uint64_t replay, std::uint64_t index, const frame::FrameProgram& program,
             Samples samples, const std::uint8_t* coded = nullptr);
  /// One piece of work of some ten microseconds; false when the frame is finished.
  bool step();
  bool busy() const { return phase_ != Phase::Idle; }
  /// From here on the users' noise depends on this number and the seed alone.
  void seed_noise(std::uint64_t number);

  /// Of the frame last finished: [user], [code block], [transport block].
  const std::vector<DownlinkResult>& results() const { return results_; }
  std::span<const frame::CodeBlockResult> code_blocks() const { return code_blocks_; }
  std::span<const std::uint8_t> good() const { return good_; }
  const std::int8_t* soft(std::uint32_t code_block) const {
    return soft_.data() + soft_offsets_[code_block];
  }
  std::span<const std::uint8_t> payload() const { return payload_.span(); }
  std::span<const std::uint8_t> expected() const { return expected_.span(); }

 private:
  enum class Phase : std::uint8_t {
    Idle,
    Select,
    Receive,
    Propagate,
    Estimate,
    Demodulate,
    Decode
  };
  using Value = std::complex<double>;
  struct Powers {
    double sum = 0;
    std::uint32_t count = 0;

    double mean() const { return count == 0 ? 0 : sum / count; }
    void add(double power) {
      sum += power;
      ++count;
    }
  };

  void begin_symbol();
  void select_channel();
  void receive_antenna();
  void propagate();
  void next_symbol();
  void estimate_gains(std::uint32_t user);
  void read_references(std::uint32_t user);
  std::uint32_t symbol() const { return frame_.symbols_of(frame::SymbolKind::Downlink)[ordinal_]; }
  bool takes_part(std::uint32_t user, std::uint32_t subcarrier) const;
  std::size_t nearest(std::uint32_t subcarrier) const;
  Value mean_around(std::size_t centre) const;
  void estimate_variances(std::uint32_t user);
  void measure_scatter();
  void measure_interference(std::uint32_t user);
  void demodulate(std::uint32_t user);
  void demodulate(std::uint32_t user, const frame::Allocation& a);
  void equalize(std::uint32_t user, std::uint32_t tile);
  void demap(std::uint32_t user, const frame::Allocation& a, std::uint32_t tile, float error);
  void decode_block();
  void finish_block(std::uint32_t transport_block);

  void place_soft_bits();
  void take_program(const frame::FrameProgram& program);

  const frame::Frame& frame_;
  const frame::FrameProgram* program_;  // of the frame taken on
  RadioPlan plan_;
  bool seeded_;
  Channel channel_;
  std::uint32_t tiles_per_step_;
  float noise_amplitude_;                  // per real dimension, the same for all users
  std::vector<std::size_t> soft_offsets_;  // [code block] of the program
  phy::OfdmScratch ofdm_;
  phy::LdpcScratch ldpc_;
  AlignedArray<phy::Tile> grid_;                             // [tile][antenna]
  AlignedArray<phy::Tile> received_;                         // [user][tile]
  std::vector<std::vector<std::uint32_t>> reference_users_;  // [pilot occasion][subcarrier]
  std::vector<Value> references_;                            // of one user: received over sent,
  std::vector<std::uint32_t> reference_at_;                  // and the subcarriers that they are on
  AlignedArray<phy::Complex> gains_;                         // [user][tile]
  std::vector<float> variances_;         // [user][tile] of noise and interference
  std::vector<Powers> scatter_, heard_;  // [tile] of one user, and last of the band: of its own
                                         // references, and where others have theirs
  AlignedArray<phy::Tile> equalized_;    // [tile] of one user
  AlignedArray<phy::Tile> sent_;         // likewise
  const std::uint8_t* coded_ = nullptr;
  AlignedArray<std::int8_t> soft_, recovered_;
  AlignedArray<std::uint8_t> info_, payload_, expected_;
  std::vector<frame::CodeBlockResult> code_blocks_;
  std::vector<std::uint8_t> good_;
  std::vector<DownlinkResult> results_;
  Samples samples_;
  Noise noise_;
  Phase phase_ = Phase::Idle;
  std::uint64_t replay_ = 0;
  std::uint32_t ordinal_ = 0, antenna_ = 0, tile_ = 0, user_ = 0, code_block_ = 0;
};

}  // namespace carillon::emulator
