// What LdpcScratch holds. Plain arrays; the kernels of every instruction set share the layout.
#pragma once

#include <cstdint>

#include "phy/ldpc/base_graph.hpp"

namespace carillon::phy {

/// The longest byte vector. A column buffer holds a column and, past its end, its beginning again.
inline constexpr std::uint32_t kMaxByteLanes = 64;
inline constexpr std::uint32_t kColumnBytes = kMaxLanes + kMaxByteLanes;

/// Of the shortest byte vectors, in the longest column.
inline constexpr std::uint32_t kMaxVectors = kMaxLanes / 32;

/// A column of bits twice in a row, so that any rotation is one run of them.
using BitColumn = std::uint8_t[128];

/// Where an edge's rotated column starts.
struct BitPlace {
  std::uint16_t byte;   // of all columns
  std::uint16_t shift;  // by its bit of that byte: offset into kBitShifts
};

struct alignas(64) LdpcWorkspace {
  // Posterior LLRs of the core columns: a row reads one buffer and writes the other.
  std::int8_t columns[kMaxCoreColumns][2][kColumnBytes];
  std::int8_t extension[kMaxRows][kColumnBytes];  // channel LLRs of the extension columns, by row
  std::int8_t messages[kMaxEdges][kMaxLanes];     // check to bit: row, then vector, then edge
  // Where a row reads an edge's column and writes it, from the first of `columns` on; in the first
  // iteration and every second one, and in the others.
  std::uint16_t starts[2][kMaxEdges][kMaxVectors];
  std::uint16_t to[2][kMaxEdges];
  BitColumn bits[kMaxCoreColumns];
  BitPlace places[kMaxEdges];
  std::uint8_t info[22 * kMaxLanes / 8 + 8 * kMaxPack];  // information, least significant bit first
  std::int8_t soft[66 * kMaxLanes + kMaxPack * kMaxByteLanes];  // of a pack
};

}  // namespace carillon::phy
