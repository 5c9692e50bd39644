// Transport blocks on a GPU: from payloads to coded bits in one kernel (CRCs, segmentation, LDPC,
// rate matching), and from decided bits to payloads. Many blocks of the same plan at once; orders
// of bits, and every bit, are those of transport.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cuda/status.hpp"
#include "phy/crc/cuda.hpp"
#include "phy/ldpc/cuda.hpp"
#include "phy/simt/simt.hpp"
#include "phy/transport/transport.hpp"

namespace carillon::phy::cuda {

/// A SoftMap, less what only a receiver needs.
struct SelectView {
  SoftPiece pieces[3];
  std::uint32_t piece_count, lap, E;
};

/// A TransportPlan as kernels see it.
struct TransportView {
  std::uint32_t A, C, K;
  std::uint32_t block_bits;  ///< B / C: payload and its parity in a code block
  CrcChunks transport_crc;   ///< of A bits
  CrcChunks block_crc;       ///< of block_bits; width 0 where there is one block
  std::uint32_t larger;      ///< code blocks from here on use select[1]
  SelectView select[2];
};
TransportView view(const TransportPlan& plan);

/// `count` payloads, A bits (MSB first) each → the coded bits of all their code blocks (LSB first).
/// encode_task() sets all but pointers, strides and count.
struct EncodeTask {
  TransportView plan;
  EncodeTable table;
  std::uint32_t count;          ///< transport blocks
  const std::uint8_t* payload;  ///< transport block t's at payload + t * payload_stride
  std::size_t payload_stride;   ///< bytes
  std::uint32_t* coded;         ///< code block r of t: E bits at coded + t * coded_stride +
  std::size_t coded_stride;     ///< r * coded_block, rounded up to whole words with zeros
  std::size_t coded_block;      ///< words
};
static_assert(sizeof(EncodeTask) <= 4096, "what every driver takes as a kernel's parameters");

EncodeTask encode_task(const TransportPlan& plan);

/// `count` transport blocks' decided bits, K (MSB first) of each code block → payloads.
struct DesegmentTask {
  TransportView plan;
  std::uint32_t count;
  const std::uint8_t* info;  ///< code block r of t at info + t * info_stride + r * info_block
  std::size_t info_stride;   ///< bytes
  std::size_t info_block;    ///< bytes
  std::uint8_t* payload;     ///< A bits rounded up to bytes with zeros, t's at + t * payload_stride
  std::size_t payload_stride;  ///< bytes
  std::uint8_t* good;          ///< good[t * good_stride] 1: its CRC holds, or it has none; else 0
  std::size_t good_stride;
};

simt::Launch launch_of(const EncodeTask&);
simt::Launch launch_of(const DesegmentTask&);

/// In order on the stream; what they point to is on its device.
Status encode(const EncodeTask&, Stream);
Status desegment(const DesegmentTask&, Stream);

}  // namespace carillon::phy::cuda
