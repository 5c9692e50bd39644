// Soft demodulation on a GPU: what of it is not part of equalization (phy/equalize/cuda.hpp), the
// sum of repeated bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cuda/status.hpp"
#include "phy/demap/demap.hpp"
#include "phy/simt/simt.hpp"

namespace carillon::phy::cuda {

using carillon::cuda::Status;
using carillon::cuda::Stream;

/// A code block whose bits repeat (SoftMap that is not direct), and its two buffers: bytes into the
/// memory of soft bits and into that of recovered ones.
struct Recovery {
  SoftPiece pieces[3];
  std::uint32_t piece_count, lap, E, N;
  std::size_t e, d;
};
Recovery recovery(const SoftMap& map, std::size_t e, std::size_t d);

/// DemapKernels::recover of so many blocks: all N places of d[block.d…] are written.
struct RecoverTask {
  const Recovery* blocks;
  std::uint32_t count;
  std::uint32_t most_places;  ///< the largest N
  const std::int8_t* e;
  std::int8_t* d;
};

simt::Launch launch_of(const RecoverTask&);

/// In order on the stream; what it points to is on its device.
Status recover(const RecoverTask&, Stream);

}  // namespace carillon::phy::cuda
