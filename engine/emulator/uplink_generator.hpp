// What the antennas of the base station receive: users' bits, coded, modulated, through the
// channel, with noise; as samples, or as the subcarriers that an OFDM receiver would make of them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/aligned.hpp"
#include "base/noise.hpp"
#include "emulator/channel.hpp"
#include "frame/frame.hpp"
#include "frame/transmit.hpp"

namespace carillon::emulator {

class UplinkGenerator {
 public:
  UplinkGenerator(const frame::Frame& frame, const RadioPlan& plan);

  /// Where the samples of a P or U symbol go, prefix first: 32768 = 1.0.
  using Place = std::function<std::int16_t*(std::uint32_t symbol, std::uint32_t antenna)>;
  /// Makes frame `index`: its payload, channel and noise follow from the seed and the index, which
  /// is also its program's number.
  void generate(std::uint64_t index, const Place& place);
  /// Its payload and coded bits alone.
  void encode(std::uint64_t index);
  /// The same in pieces of some ten microseconds, of other bits: [transport block], each as of
  /// frame::TransportSource, until the last code block is made. What the frame does stays until
  /// step() returns false; call it until then.
  void begin(std::uint64_t index, const frame::FrameProgram& program,
             std::span<const std::uint8_t* const> bits);
  bool step(const Place& place);
  /// A frame in which all users are silent: noise.
  void generate_silence(const Place& place);
  /// Whether step() still has to read the bits.
  bool reads_bits() const {
    return code_block_ < program_->code_blocks(frame::Direction::Uplink).size();
  }

  /// The same frame by subcarriers: begin, then receive() a P or U symbol → grid[tile *
  /// antenna_stride + antenna], noise of variance 1 on each, and noise_power() of an antenna's
  /// unused bins in the symbol last received. The prefix makes this exactly what the samples hold,
  /// but for their rounding and clipping, and noise is as white; it is not the same noise.
  void begin(std::uint64_t index);
  void receive(std::uint32_t symbol, phy::Tile* grid);
  float noise_power();

  /// Payload of the frame last made, and its coded bits (code blocks at coded_offset).
  std::span<const std::uint8_t> payload() const { return payload_.span(); }
  std::span<const std::uint8_t> coded() const { return coded_.span(); }
  const Channel& channel() const { return channel_; }
  /// Amplitude of samples for a signal of variance 1: what noise has. Chosen so that the mean power
  /// of an antenna's samples is -18 dBFS, which leaves room for fading and for OFDM's peaks.
  double scale() const { return scale_; }
  /// Samples of the frame last made that had to be clipped.
  std::uint64_t clipped() const { return clipped_; }

 private:
  void encode_block(std::uint32_t code_block, const std::uint8_t* bits);
  void rewind(std::uint64_t index);
  void user_symbols(std::uint32_t symbol);
  void propagate(std::uint32_t symbol, phy::Tile* grid);
  void antenna_samples(std::uint32_t symbol, std::uint32_t antenna, const Place& place);

  const frame::Frame& frame_;
  const frame::FrameProgram* program_;  // of the frame that is being made
  RadioPlan plan_;
  Channel channel_;
  double scale_;
  Noise noise_;
  phy::LdpcScratch ldpc_;
  phy::OfdmScratch ofdm_;
  AlignedArray<std::uint8_t> payload_, coded_, info_, codeword_;
  AlignedArray<phy::Tile> symbols_;   // [tile][user]
  AlignedArray<phy::Tile> received_;  // [tile][antenna]
  AlignedArray<float> unused_;        // bins of one antenna, re and im
  std::uint64_t clipped_ = 0, index_ = 0;
  std::vector<std::uint32_t> sent_;        // P and U symbols, as they are made
  std::vector<const std::uint8_t*> bits_;  // [transport block] of the frame that is being made
  std::uint32_t code_block_ = 0;           // the next one,
  std::size_t symbol_ = 0, antenna_ = 0;   // and after them the next of sent_ and antenna
};

}  // namespace carillon::emulator
