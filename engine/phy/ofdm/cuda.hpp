// OFDM on a GPU: all antennas of some symbols at once, from int16 samples to subcarrier tiles and
// back. Shapes, units and scales are those of ofdm.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/cuda/status.hpp"
#include "phy/ofdm/ofdm.hpp"
#include "phy/simt/simt.hpp"

namespace carillon::phy::cuda {

using carillon::cuda::Status;
using carillon::cuda::Stream;

/// What the steps of a transform multiply by, each step's in the order in which its threads read
/// them: after `done` points, with radix r, exp(-j2π·i·k/(done·r)) is at i·done + k, for 1 ≤ i < r
/// and k < done. Together that is places 1 to size - 1.
std::vector<Complex> fft_roots(std::uint32_t size);

/// An OfdmPlan as kernels see it. roots: fft_roots() in the device's memory, 8-byte aligned.
struct OfdmView {
  std::uint32_t fft_size, subcarriers;
  bool dc_hole;
  std::uint32_t noise_first, noise_bins;
  const Complex* roots;
};
OfdmView view(const OfdmPlan& plan, const Complex* roots);

/// A symbol's samples, of each antenna from where its packet lies, which the device reaches:
/// `samples`, a multiple of 4, from the skip-th on. All is 4-byte aligned. Packets may change while
/// they are read, if what comes of it is not used.
struct GatherTask {
  std::uint32_t antennas, skip, samples;
  const std::int16_t* const* packets;  ///< [antenna] null: it did not come
  std::int16_t* iq;                    ///< of antenna a: at iq + 2 * a * iq_antenna
  std::size_t iq_antenna;
  std::uint8_t* missing;  ///< [antenna] as in ReceiveTask
};

/// Samples of `antennas` × `symbols`, each symbol's right after its prefix: symbol s of antenna a
/// at iq + 2 * (s * iq_symbol + a * iq_antenna), 4-byte aligned.
struct ReceiveTask {
  OfdmView plan;
  std::uint32_t antennas, symbols;
  const std::int16_t* iq;
  std::size_t iq_symbol, iq_antenna;  ///< samples from one to the next
  Tile* tiles;                        ///< or null
  HalfTile* half;                     ///< or null; times kHalfScale
  std::size_t symbol_stride, antenna_stride, tile_stride;
  const Tile* pilot;  ///< [symbol][tile] conj(p)/|p|² where a pilot was sent, 0 elsewhere; or null
  float* noise;       ///< [symbol][antenna] mean power per unused bin, 0 if there is none; or null
  /// [symbol][antenna] 1: these samples did not come. They count as zeros and measure no noise,
  /// which is then -1. Or null.
  const std::uint8_t* missing;
};

/// Tiles at tiles[s * symbol_stride + a * antenna_stride + t * tile_stride], tail lanes zero →
/// *gain times the inverse transform, `prefix` samples in front, laid out as ReceiveTask's.
struct TransmitTask {
  OfdmView plan;
  std::uint32_t antennas, symbols;
  const Tile* tiles;
  std::size_t symbol_stride, antenna_stride, tile_stride;
  const float* gain;
  std::uint32_t prefix;
  std::int16_t* iq;
  std::size_t iq_symbol, iq_antenna;
  std::uint32_t* saturated;  ///< [symbol][antenna] components that were cut
};

simt::Launch launch_of(const GatherTask&);
simt::Launch launch_of(const ReceiveTask&);
simt::Launch launch_of(const TransmitTask&);

/// In order on the stream; what they point to is on its device.
Status gather(const GatherTask&, Stream);
Status receive(const ReceiveTask&, Stream);
Status transmit(const TransmitTask&, Stream);

}  // namespace carillon::phy::cuda
