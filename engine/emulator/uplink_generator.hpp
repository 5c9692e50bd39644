// What the antennas of the base station receive: users' bits, coded, modulated, through the
// channel, with noise; as samples, or as the subcarriers that an OFDM receiver would make of them.
#pragma once

#include <cstdint>
#include <functional>

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
  /// Makes frame `index`: its payload, channel and noise follow from the seed and the index.
  void generate(std::uint64_t index, const Place& place);
  /// Its payload and coded bits alone.
  void encode(std::uint64_t index);

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
  void user_symbols(std::uint32_t symbol);
  void propagate(std::uint32_t symbol, phy::Tile* grid);
  void antenna_samples(std::uint32_t symbol, const Place& place);

  const frame::Frame& frame_;
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
  std::uint64_t clipped_ = 0;
};

}  // namespace carillon::emulator
