// LDPC decoding on a GPU: many blocks of the same code, with the same options. Codes, bit orders,
// options and results are those of ldpc.hpp, and so is every bit that is decided. Encoding is part
// of the kernel that cuts transport blocks (transport/cuda.hpp); its table is here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cuda/status.hpp"
#include "phy/crc/cuda.hpp"
#include "phy/ldpc/base_graph.hpp"
#include "phy/ldpc/ldpc.hpp"
#include "phy/simt/simt.hpp"

namespace carillon::phy::cuda {

using carillon::cuda::Status;
using carillon::cuda::Stream;

/// Where a thread finds the word of an edge: its own place, `start` bytes on, back a column's words
/// if its place is at a limit or past it; and by how many bits the word is turned.
struct alignas(8) DecodeEdge {  // one load
  std::uint32_t start;
  std::uint32_t limit_and_turn;  ///< in the upper and the lower half
};

struct DecodeRow {
  std::uint16_t first;   ///< edge
  std::uint16_t record;  ///< words of a thread before those of this row's messages
  std::uint8_t degree;   ///< without the extension column
  std::uint8_t step;     ///< of an iteration: a row has no column in common with its step's others
};

/// How many threads a word of a row gets, and how many rows are worked on at once. More threads
/// finish sooner where there are fewer code blocks than a device can work on; each adds work of its
/// own, so that many blocks are sooner done by fewer.
struct DecodeForm {
  std::uint32_t team = 0;    ///< threads that divide a row's edges: 1, 2; 0: by what there is
  std::uint32_t squads = 1;  ///< rows at once: 1, or 2
};
/// From the fewest threads to the most; docs/internals/gpu-decoder.md says why no others.
inline constexpr DecodeForm kDecodeForms[] = {{1, 1}, {1, 2}, {2, 2}};

/// How threads share the work; see cuda_layout.inl.
struct DecodeShape {
  std::uint32_t blocks;  ///< code blocks in a word: 1 (four of its lanes), or 4 (one lane of each)
  std::uint32_t words;   ///< of a column: Z / 4 or Z
  std::uint32_t groups;  ///< of `words` teams in a squad
  std::uint32_t team;    ///< threads
  std::uint32_t squads;  ///< in a thread block
  std::uint32_t squad_threads;  ///< whole warps
  std::uint32_t threads;
};

/// What decode_task() makes, all but the pointers. Kernels read the tables through the constant
/// bank that parameters lie in: nothing has to be put on the device beforehand.
struct DecodeTask {
  const std::int8_t* soft;              ///< block b's N LLRs (d order) at soft + b * soft_stride
  std::size_t soft_stride;              ///< bytes
  const std::int8_t* const* soft_list;  ///< or null; then block b's are at soft_list[b]
  std::uint8_t* info;              ///< block b's K decided bits, MSB first, rounded up to bytes
  std::size_t info_stride;         ///< bytes
  std::uint8_t* const* info_list;  ///< or null; then block b's are at info_list[b]
  DecodeResult* results;           ///< [block]
  /// [block] 1: it is what was sent, as far as its CRC (without one: its parity checks) can tell.
  /// Zeros, which are what becomes of bits that were not received, satisfy every CRC: then the code
  /// has to hold too, on something that was received. Or null.
  std::uint8_t* judged;
  /// With `judged`, or null: block b's first payload_bits, rounded up to bytes with zeros, go to
  /// payload_list[b] too.
  std::uint8_t* const* payload_list;
  std::uint32_t payload_bits;
  std::uint32_t count;  ///< code blocks

  std::uint8_t base_graph;
  bool early_stop, try_crc;
  std::uint16_t lifting, info_columns;
  std::uint32_t row_end;  ///< rows from here on were not sent
  std::uint32_t known;    ///< information bits before the fillers
  std::uint32_t max_iterations;
  std::uint32_t tolerated;  ///< failing core checks with which the CRC is still tried
  DecodeShape shape;
  std::uint32_t records;     ///< words of messages of a thread
  std::uint32_t edge_count;  ///< up to row_end
  CrcChunks crc;             ///< of one code block; width 0: none
  DecodeRow rows[kMaxRows];
  DecodeEdge edges[kMaxEdges];
};
static_assert(sizeof(DecodeTask) <= 4096, "what every driver takes as a kernel's parameters");

/// `count` at least 1. A form that does not fit is reduced to one that does.
DecodeTask decode_task(LdpcCode code, const DecodeOptions& options, std::uint32_t count,
                       DecodeForm form = {});

/// What an encoder knows of its code.
struct EncodeTable {
  struct Edge {
    std::uint16_t column, shift;
  };
  std::uint16_t lifting, info_columns;
  std::uint16_t row_end;                  ///< rows from here on are not sent
  std::uint16_t first_shift;              ///< how the first core parity column lies rotated
  std::uint16_t row_begin[kMaxRows + 1];  ///< edges
  std::uint16_t core_parity[kCoreRows];   ///< of a core row: its first edge to a parity column
  Edge edges[kMaxEdges];
};

/// For the first `sent` bits of a codeword, d order.
EncodeTable encode_table(LdpcCode code, std::uint32_t sent);

simt::Launch launch_of(const DecodeTask&);

/// In order on the stream; what the task points to is on its device.
Status decode(const DecodeTask&, Stream);

}  // namespace carillon::phy::cuda
