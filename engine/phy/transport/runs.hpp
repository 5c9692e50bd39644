// Where the bits of users' symbols lie, in tables that a kernel looks up by symbol, user and
// subcarrier: SoftRun (phy/demap/demap.hpp) and the elements that ModulateKernels takes, for all of
// a frame at once and without pointers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "phy/modulation.hpp"
#include "phy/simt/simt.hpp"
#include "phy/tile.hpp"
#include "phy/transport/transport.hpp"

namespace carillon::phy {

/// Where a code block's coded bits lie in its buffer. In each of at most three ranges of e they are
/// consecutive (SoftPiece): bit e of range p lies at e + shift[p], modulo 2³².
struct Places {
  std::uint32_t second, third;  ///< where these ranges begin, E if there is none
  std::uint32_t shift[3];
  std::uint32_t plane_stride;  ///< bit i of element j is e = i * plane_stride + j
};

/// Consecutive resource elements of a code block in consecutive subcarriers of one user in one
/// symbol: subcarriers [first, first + count) are elements re….
struct Run {
  std::uint32_t first, count, re;
  std::uint32_t bits;    ///< Qm, the same for all runs of a user in a symbol
  std::uint32_t places;  ///< index into the table of Places
  /// In tile t, bit `lane` of signs[signs + i * sign_stride + t - first / 16] says that scrambling
  /// flips bit i.
  std::uint32_t signs, sign_stride;
  std::size_t buffer;  ///< the code block's: bytes into the memory of soft or of coded bits
};

/// The tables as kernels see them. Those of a later symbol: first + symbol * users.
struct Runs {
  const Run* runs;             ///< of a user in a symbol: by ascending subcarriers
  const std::uint32_t* first;  ///< [symbol][user] index of the first, and where the last ones end
  const Places* places;
  const std::uint16_t* signs;
};

/// One user's part of one data symbol.
struct Share {
  const TransportPlan* plan = nullptr;
  std::uint32_t first_subcarrier = 0, count = 0;
  std::uint32_t first_re = 0;  ///< resource elements of the transport block before this symbol
  /// Index of plane 0's word for the first tile it touches; planes are as many words apart as it
  /// touches tiles (lane_signs in phy/gold/gold.hpp).
  std::uint32_t signs = 0;
  std::span<const std::size_t> buffers;  ///< of each of the plan's code blocks
};

/// Builds the tables for the uplink (soft bits at their place in the decoder's buffer, in e order
/// where the map is not direct) or for the downlink (coded bits in e order).
class RunTable {
 public:
  enum class Order : std::uint8_t { Decoder, Sent };
  explicit RunTable(Order order) : order_(order) {}

  /// The next user's share of a symbol, users in order within symbols in order; `count` 0: none.
  void add(const Share& share);

  const std::vector<Run>& runs() const { return runs_; }
  const std::vector<std::uint32_t>& first() const { return first_; }
  const std::vector<Places>& places() const { return places_; }

 private:
  std::uint32_t places_of(const TransportPlan& plan);

  Order order_;
  std::vector<Run> runs_;
  std::vector<std::uint32_t> first_ = {0};
  std::vector<Places> places_;
  std::map<const TransportPlan*, std::uint32_t> known_;  // the first code block's places
};

/// Decoder: by the map's pieces where it is direct.
Places places_of(const SoftMap& map, RunTable::Order order) noexcept;

CARILLON_BOTH constexpr std::uint32_t place_of(const Places& places, std::uint32_t e) {
  return e + (e < places.second  ? places.shift[0]
              : e < places.third ? places.shift[1]
                                 : places.shift[2]);
}

/// Of runs[begin … end), in ascending order, the last that begins at or before subcarrier k;
/// `begin` if none does.
CARILLON_BOTH constexpr std::uint32_t last_run_before(const Run* runs, std::uint32_t begin,
                                                      std::uint32_t end, std::uint32_t k) {
  while (end - begin > 1) {
    const std::uint32_t middle = begin + (end - begin) / 2;
    if (runs[middle].first <= k)
      begin = middle;
    else
      end = middle;
  }
  return begin;
}

/// Index of the first run of the `row`-th list that ends after the beginning of a tile.
CARILLON_BOTH constexpr std::uint32_t first_run_in(const Runs& runs, std::size_t row,
                                                   std::uint32_t tile) {
  const std::uint32_t begin = runs.first[row], end = runs.first[row + 1], k = tile * kTileLanes;
  if (begin == end) return end;
  const std::uint32_t i = last_run_before(runs.runs, begin, end, k);
  return runs.runs[i].first + runs.runs[i].count <= k ? i + 1 : i;
}

/// What of a run lies in a tile, and all that its lanes need: fetched once for all of them, in
/// shared memory on a GPU.
struct TileRun {
  std::uint32_t first, count;  ///< lanes; none: count is 0
  std::uint32_t element;       ///< of the code block, in the first of them
  std::uint16_t bits;
  std::uint16_t more;  ///< 1: another run of the list begins in the tile
  Places places;
  std::size_t buffer;
  std::uint16_t signs[kMaxBitsPerSymbol];  ///< bit `lane` of signs[i]
};

/// Scrambling of constellation bit `bit` in the lanes of a tile.
CARILLON_BOTH constexpr std::uint16_t signs_of(const Runs& runs, const Run& run, std::uint32_t tile,
                                               std::uint32_t bit) {
  return runs.signs[run.signs + bit * run.sign_stride + (tile - run.first / kTileLanes)];
}

/// Of run `i` of the `row`-th list.
CARILLON_BOTH constexpr TileRun tile_run(const Runs& runs, std::size_t row, std::uint32_t i,
                                         std::uint32_t tile) {
  TileRun part{};
  const std::uint32_t end = runs.first[row + 1], begin = tile * kTileLanes;
  if (i >= end || runs.runs[i].first >= begin + kTileLanes) return part;
  const Run& run = runs.runs[i];
  const std::uint32_t from = run.first > begin ? run.first : begin;
  const std::uint32_t left = run.first + run.count - from, lanes = begin + kTileLanes - from;
  part.first = from - begin;
  part.count = left < lanes ? left : lanes;
  part.element = run.re + from - run.first;
  part.bits = static_cast<std::uint16_t>(run.bits);
  part.more = i + 1 < end && runs.runs[i + 1].first < begin + kTileLanes ? 1 : 0;
  part.places = runs.places[run.places];
  part.buffer = run.buffer;
  for (std::uint32_t bit = 0; bit < kMaxBitsPerSymbol; ++bit)
    part.signs[bit] = bit < run.bits ? signs_of(runs, run, tile, bit) : std::uint16_t{0};
  return part;
}

/// Of the run that holds a lane.
CARILLON_BOTH constexpr TileRun tile_run_at(const Runs& runs, std::size_t row, std::uint32_t tile,
                                            std::uint32_t lane) {
  std::uint32_t i = first_run_in(runs, row, tile);
  while (i < runs.first[row + 1] &&
         runs.runs[i].first + runs.runs[i].count <= tile * kTileLanes + lane)
    ++i;
  return tile_run(runs, row, i, tile);
}

}  // namespace carillon::phy
