// Modulation and precoding on a GPU: users' coded bits of some symbols to antennas' subcarriers, in
// one launch; constellation symbols stay on the SM.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cuda/status.hpp"
#include "phy/precode/precode.hpp"
#include "phy/simt/simt.hpp"
#include "phy/transport/runs.hpp"

namespace carillon::phy::cuda {

using carillon::cuda::Status;
using carillon::cuda::Stream;

/// `tiles` neighbouring tiles of `symbols` symbols. Pointers are to the first of both; runs count
/// subcarriers from tile 0 of the band on, of which `first_tile` is the task's first.
///
/// The precoders of tile t are at w + t * w_tile, [user][shape.antenna_stride] as PrecodeKernels
/// takes them, and are one of
///   w_tiles, w_scalars  multiply-adds in single precision
///   half_w_scalars      with scale ([tile][user]), as ZeroForceKernels::halve_scalar prepares them
///                       for the equalizer: tensor cores, sums in single precision
/// The rest are null.
///
/// x is what TransmitTask (phy/ofdm/cuda.hpp) takes as tiles, with symbol_stride = x_symbol,
/// tile_stride = x_tile and antenna_stride = 1: lanes without data, such as those past the last
/// subcarrier, are zero.
struct PrecodeTask {
  ArrayShape shape;
  std::uint32_t tiles, symbols, first_tile;
  const Tile* w_tiles;
  const Complex* w_scalars;
  const HalfComplex* half_w_scalars;
  const float* scale;
  std::size_t w_tile;         ///< entries from one tile's to the next one's
  Runs runs;                  ///< of the task's symbols; Order::Sent
  const std::uint8_t* coded;  ///< what Run::buffer counts from, bits as ModulateKernels takes them
  const Tile* reference;      ///< [tile][user] the first symbol's in place of its runs; or null
  Tile* x;                    ///< antenna a of symbol s, tile t: x[s * x_symbol + t * x_tile + a]
  std::size_t x_symbol, x_tile;
};

simt::Launch launch_of(const PrecodeTask&);

/// In order on the stream; what it points to is on its device.
Status precode(const PrecodeTask&, Stream);

}  // namespace carillon::phy::cuda
