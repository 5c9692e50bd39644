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

/// Places of so many edges of a row are read at once, as one number of 64 bits.
inline constexpr std::uint32_t kPlacesAtOnce = 4;
constexpr std::uint32_t places_for(std::uint32_t edges) {
  return (edges + kPlacesAtOnce - 1) / kPlacesAtOnce * kPlacesAtOnce;
}
inline constexpr std::uint32_t kMaxPlaces = kMaxEdges + (kPlacesAtOnce - 1) * kMaxRows;

/// A column of bits twice in a row, so that any rotation is one run of them.
using BitColumn = std::uint8_t[128];

/// Where an edge's rotated column starts.
struct BitPlace {
  std::uint16_t byte;   // of all columns
  std::uint16_t shift;  // by its bit of that byte: offset into kBitShifts
};

/// What the next code block most likely has in common with one of the last.
struct LdpcKey {
  std::uint16_t lifting = 0;
  std::uint8_t base_graph = 0, vector_bytes = 0;
  std::uint32_t pack = 0;
  std::uint64_t rows = 0;  // that take part, as bits

  friend bool operator==(const LdpcKey&, const LdpcKey&) = default;
};

/// Where rows read a column's vectors and write it, from the first of LdpcWorkspace::columns on; in
/// odd iterations and in even ones. Rows that take part follow each other, each with places_for()
/// its edges.
struct LdpcTurns {
  LdpcKey of;
  std::uint16_t starts[2][kMaxPlaces * kMaxVectors];  // row, then [vector][edge]
  std::uint16_t to[2][kMaxPlaces];                    // row, then [edge]
  std::uint16_t rotation[kMaxCoreColumns];  // between iterations: lane 0 is this bit of the column
  std::uint32_t odd;                        // columns that an odd number of rows write, as bits
};

/// Where the edges' rotated columns start.
struct LdpcPlaces {
  LdpcKey of;
  BitPlace at[kMaxEdges];
};

/// The last few of what is computed for a key; all zeros at first.
template <typename T>
class LdpcRecent {
 public:
  /// fill(it) where it is none of these.
  template <typename Fill>
  const T& get(const LdpcKey& key, Fill&& fill) {
    for (const T& known : entries_)
      if (known.of == key) return known;
    T& oldest = entries_[next_++ % kEntries];
    oldest.of = key;
    fill(oldest);
    return oldest;
  }

 private:
  static constexpr std::uint32_t kEntries = 8;
  T entries_[kEntries];
  std::uint32_t next_;
};

struct alignas(64) LdpcWorkspace {
  // Posterior LLRs of the core columns: a row reads one buffer and writes the other.
  std::int8_t columns[kMaxCoreColumns][2][kColumnBytes];
  std::int8_t extension[kMaxRows][kColumnBytes];  // columns at the end of the channel's LLRs
  std::int8_t messages[kMaxEdges][kMaxLanes];     // check to bit: row, then vector, then edge
  LdpcRecent<LdpcTurns> turns;
  LdpcRecent<LdpcPlaces> places;
  BitColumn unknown[kMaxCoreColumns];  // which of the next ones are, when peeling
  BitColumn bits[kMaxCoreColumns];
  std::uint8_t info[22 * kMaxLanes / 8 + 8 * kMaxPack];  // information, least significant bit first
  std::int8_t soft[66 * kMaxLanes + kMaxPack * kMaxByteLanes];  // of a pack
};

}  // namespace carillon::phy
