// Equalization and soft demodulation on a GPU: antennas' subcarriers of some symbols to soft bits
// at their places in the decoders' buffers, in one launch; equalized symbols stay on the SM.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cuda/status.hpp"
#include "phy/equalize/equalize.hpp"
#include "phy/simt/simt.hpp"
#include "phy/transport/runs.hpp"
#include "phy/zeroforce/zeroforce.hpp"

namespace carillon::phy::cuda {

using carillon::cuda::Status;
using carillon::cuda::Stream;

/// A lane of a user's symbol becomes `scale` times what combiners yield, of variance `noise`.
struct Alteration {
  float scale, noise;
};

/// What leave_out() says of a task's tiles and symbols.
struct Alterations {
  std::uint8_t* symbols;  ///< [symbol] 0: nothing of it is altered
  Alteration* lanes;      ///< [symbol][tile][user][16]
};

/// `tiles` neighbouring tiles of `symbols` symbols. Pointers are to the first of both; runs count
/// subcarriers from tile 0 of the band on, of which `first_tile` is the task's first.
///
/// The combiners of tile t are at w + t * w_tile, [user][shape.antenna_stride] as
/// EqualizeKernels takes them, and are one of
///   w_tiles, w_scalars            with y: multiply-adds in single precision
///   half_w_tiles, half_w_scalars  with half_y and scale ([tile][user]), sums in single precision;
///                                 one combiner for a tile goes to the tensor cores
/// The rest of each is null.
///
/// Soft bits are what decoders read, in a buffer that was zeroed beforehand; those of a code block
/// whose map is not direct are what `recover` reads (phy/demap/cuda.hpp).
struct EqualizeTask {
  ArrayShape shape;
  std::uint32_t tiles, symbols, first_tile;
  const Tile* w_tiles;
  const Complex* w_scalars;
  const HalfTile* half_w_tiles;
  const HalfComplex* half_w_scalars;
  const float* scale;
  std::size_t w_tile;  ///< entries from one tile's to the next one's
  const Tile* y;       ///< antenna a of symbol s, tile t: y[s * y_symbol + t * y_tile + a]
  const HalfTile* half_y;
  std::size_t y_symbol, y_tile;
  const float* noise;   ///< [tile][user][16] variance on unit-energy symbols, as in SoftRun
  Alterations altered;  ///< or nulls
  Runs runs;            ///< of the task's symbols; Order::Decoder
  std::int8_t* soft;    ///< what Run::buffer counts from; or null. Other places are not written
  Tile* equalized;  ///< user u: equalized[s * equalized_symbol + t * equalized_tile + u]; or null
  std::size_t equalized_symbol, equalized_tile;
  std::uint32_t users_at_once;  ///< of a block: 16 or 32; 0: as suits the shape
  float* error;  ///< [symbol][user] += DemapKernels::error_power of what runs hold; or null
};

/// Goes before equalize() of the same, where antennas may be missing: these get the samples that
/// make combiners yield what those of the antennas which are there would, as phy::leave_out() does,
/// and `of.altered` is filled. Symbols are erased where more than kMostLeftOut are missing, or
/// fewer than users are left.
struct LeaveOutTask {
  EqualizeTask of;
  Detector detector;
  const std::uint8_t* missing;     ///< [symbol][antenna] 1: nothing came of it
  const std::uint8_t* takes_part;  ///< [antenna] 0: combiners do without it anyway
  const Tile* csi;  ///< of the band, [tile * csi_tile + user * csi_user + antenna] …
  std::size_t csi_tile, csi_user;
  std::uint32_t group;      ///< … whose lanes are of so many subcarriers
  const float* mean_noise;  ///< as combiners were made with
  const float* residual;    ///< [user] part of of.noise that no antenna has to do with; or null
  Tile* y;                  ///< of.y or of.half_y
  HalfTile* half_y;
};

simt::Launch launch_of(const EqualizeTask&);
simt::Launch launch_of(const LeaveOutTask&);

/// In order on the stream; what it points to is on its device.
Status equalize(const EqualizeTask&, Stream);
Status leave_out(const LeaveOutTask&, Stream);

}  // namespace carillon::phy::cuda
