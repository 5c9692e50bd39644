// The products with the channel: HᴴH and PHᴴ, both sums of conj(x)·y over antennas or users.
//
// Neighbouring threads have neighbouring lanes, as the tiles have them, so that nothing is turned
// over on the way from the CSI: 8 lanes are the least that is read in whole 32-byte sectors. A
// thread sums 4×4 products of its lane: 16 multiply-adds for 4 numbers read from shared memory. A
// warp is 8 lanes of 2×2 threads and reads each operand in one wavefront. A block makes edge×edge
// products of its 8 lanes. The edge is known when compiling, so that all these reads are at fixed
// distances from two addresses.
#pragma once

#include "phy/zeroforce/cuda.hpp"

namespace carillon::phy::cuda::zeroforce {

using simt::operator+;
using simt::operator-;
using simt::operator*;

inline constexpr std::uint32_t kOctet = 8, kOctets = kTileLanes / kOctet;  // lanes of a block
inline constexpr std::uint32_t kMostEdge = 32;
inline constexpr std::uint32_t kMostProductThreads =
    kMostEdge / kSide * (kMostEdge / kSide) * kOctet;

/// Antennas or users that are in shared memory at once: small blocks wait for memory more often
/// than they compute.
CARILLON_BOTH constexpr std::uint32_t terms_of(std::uint32_t edge) { return edge == 32 ? 8 : 16; }

/// Read and written at once.
struct alignas(8) Entry {
  float re, im;
};
struct alignas(16) Quad {
  float at[4];
};

struct Sums {
  Complex at[kSide][kSide];
};

/// What a thread has: a lane of the eight, and the rows of x and y from 4·row and 4·column on.
struct ProductPlace {
  std::uint32_t lane, row, column;
};
CARILLON_BOTH constexpr std::uint32_t product_threads(std::uint32_t edge) {
  return edge / kSide * (edge / kSide) * kOctet;
}
CARILLON_BOTH constexpr ProductPlace product_place(std::uint32_t edge, std::uint32_t thread) {
  const std::uint32_t warp = thread / simt::kWarp, across = edge / kSide / 2;
  const std::uint32_t in_warp = thread % simt::kWarp / kOctet;
  return {thread % kOctet, warp / across * 2 + in_warp / 2, warp % across * 2 + in_warp % 2};
}

/// Where the row of x or y is in shared memory: rows that threads of a warp read at once, 4 apart,
/// are next to each other, in different banks.
CARILLON_BOTH constexpr std::uint32_t row_place(std::uint32_t edge, std::uint32_t row) {
  return row % kSide * (edge / kSide) + row / kSide;
}
/// Entries of a term: x, y and a pad, without which terms would be written to the same banks.
CARILLON_BOTH constexpr std::uint32_t term_entries(std::uint32_t edge) {
  return 2 * edge * kOctet + kOctet;
}

/// Block (row, column) of a lower triangle, row by row.
struct TrianglePlace {
  std::uint32_t row, column;
};
CARILLON_BOTH constexpr TrianglePlace triangle_place(std::uint32_t index) {
  std::uint32_t row = 0;
  while (triangle(row + 1) <= index) ++row;
  return {row, index - triangle(row)};
}

/// As large as leaves enough blocks for all SMs.
CARILLON_BOTH constexpr std::uint32_t edge_of(const CombineTask& task) {
  if (task.users <= 8) return 8;
  return task.users <= 16 || (task.users <= 64 && task.tiles < 32) ? 16 : kMostEdge;
}
CARILLON_BOTH constexpr std::uint32_t slice_antennas(const CombineTask& task) {
  return simt::round_up(simt::divide_up(task.antennas, task.slices), terms_of(edge_of(task)));
}

template <std::uint32_t kStep>
CARILLON_GPU void add_products(const Entry* x, const Entry* y, Sums& sums) {
  Entry left[kSide];
  for (std::uint32_t r = 0; r < kSide; ++r) left[r] = x[r * kStep];
  for (std::uint32_t c = 0; c < kSide; ++c) {
    const Entry right = y[c * kStep];
    for (std::uint32_t r = 0; r < kSide; ++r) {
      Complex& sum = sums.at[r][c];
      sum.re = sum.re + left[r].re * right.re + left[r].im * right.im;
      sum.im = sum.im + left[r].re * right.im - left[r].im * right.re;
    }
  }
}

/// A phase: all terms that are in shared memory.
template <std::uint32_t kEdge, typename Cta>
CARILLON_GPU void add_terms(Cta& cta, bool same, typename Cta::template Own<Sums>& own) {
  const Entry* const shared = cta.template shared<Entry>();
  cta.each_thread([&](std::uint32_t thread) {
    const ProductPlace at = product_place(kEdge, thread);
    if (same && at.row < at.column) return;
    const Entry* x = shared + at.row * kOctet + at.lane;
    const Entry* y = shared + ((same ? 0 : kEdge) + at.column) * kOctet + at.lane;
    constexpr std::uint32_t kStep = kEdge / kSide * kOctet, kNext = term_entries(kEdge);
    for (std::uint32_t term = 0; term < terms_of(kEdge); ++term, x += kNext, y += kNext)
      add_products<kStep>(x, y, own[thread]);
  });
}

template <typename Cta>
CARILLON_GPU void clear(Cta& cta, typename Cta::template Own<Sums>& own) {
  cta.each_thread([&](std::uint32_t thread) {
    for (std::uint32_t r = 0; r < kSide; ++r)
      for (std::uint32_t c = 0; c < kSide; ++c) own[thread].at[r][c] = {0, 0};
  });
}

CARILLON_GPU inline const Tile* csi_of(const CombineTask& task, std::uint32_t tile,
                                       std::uint32_t user) {
  return task.csi + tile * task.tile_stride + user * task.user_stride;
}

/// Half an octet of a tile, or zeros, on the way to its place among a term's rows. What a thread
/// has of these it reads, a batch at a time, before it writes any: else it would wait for each.
template <std::uint32_t kEdge>
inline constexpr std::uint32_t kBatch = kEdge == 32 ? 1 : 4;
struct HalfOctet {
  Quad re, im;
};

/// A phase: write(i, read(i)) for i < count, kOf of a thread's at a time.
template <std::uint32_t kOf, typename Held, typename Cta, typename Read, typename Write>
CARILLON_GPU void in_batches(Cta& cta, std::uint32_t count, Read&& read, Write&& write) {
  const std::uint32_t threads = cta.threads();
  cta.each_thread([&](std::uint32_t thread) {
    for (std::uint32_t from = thread; from < count; from += kOf * threads) {
      Held held[kOf];
      for (std::uint32_t n = 0; n < kOf; ++n) held[n] = read(from + n * threads);
      for (std::uint32_t n = 0; n < kOf; ++n)
        if (from + n * threads < count) write(from + n * threads, held[n]);
    }
  });
}

/// Where an item is from and where it goes to: there are 2·kTerms to a row.
template <std::uint32_t kEdge>
struct RowItem {
  std::uint32_t quad, term, row;
  CARILLON_GPU explicit RowItem(std::uint32_t i)
      : quad(i % 2 * 4), term(i / 2 % terms_of(kEdge)), row(i / (2 * terms_of(kEdge))) {}
  CARILLON_GPU std::uint32_t place() const {
    const std::uint32_t at = row / kEdge * kEdge + row_place(kEdge, row % kEdge);
    return term * term_entries(kEdge) + at * kOctet + quad;
  }
};

/// Reads what `tile` has even if that does not count: the next read need not wait for a decision.
CARILLON_GPU inline HalfOctet fetch(const Tile* tile, std::uint32_t lane, bool counts) {
  HalfOctet half = {*reinterpret_cast<const Quad*>(tile->re + lane),
                    *reinterpret_cast<const Quad*>(tile->im + lane)};
  for (std::uint32_t i = 0; i < 4; ++i) {
    half.re.at[i] = counts ? half.re.at[i] : 0;
    half.im.at[i] = counts ? half.im.at[i] : 0;
  }
  return half;
}
CARILLON_GPU inline void put(const HalfOctet& half, Entry* to) {
  Quad* const out = reinterpret_cast<Quad*>(to);
  out[0] = {{half.re.at[0], half.im.at[0], half.re.at[1], half.im.at[1]}};
  out[1] = {{half.re.at[2], half.im.at[2], half.re.at[3], half.im.at[3]}};
}

/// Antennas first…end of the users of a pair of blocks; of one block, where both are the same.
template <std::uint32_t kEdge, typename Cta>
CARILLON_GPU void stage_users(Cta& cta, const CombineTask& task, TrianglePlace pair,
                              std::uint32_t first, std::uint32_t end) {
  const std::uint32_t tile = task.first_tile + cta.x() / kOctets;
  const std::uint32_t first_lane = cta.x() % kOctets * kOctet;
  const std::uint32_t rows = pair.row == pair.column ? kEdge : 2 * kEdge;
  Entry* const shared = cta.template shared<Entry>();
  in_batches<kBatch<kEdge>, HalfOctet>(
      cta, rows * terms_of(kEdge) * 2,
      [&](std::uint32_t i) {
        const RowItem<kEdge> item(i);
        const std::uint32_t user =
            item.row < kEdge ? pair.row * kEdge + item.row : pair.column * kEdge + item.row - kEdge;
        const bool exists = user < task.users && first + item.term < end;
        const std::uint32_t antenna = exists ? first + item.term : 0;
        return fetch(csi_of(task, tile, exists ? user : 0) + antenna, first_lane + item.quad,
                     exists && task.takes_part[antenna] != 0);
      },
      [&](std::uint32_t i, const HalfOctet& held) {
        put(held, shared + RowItem<kEdge>(i).place());
      });
}

/// Grid: octets, pairs of edge users, slices of antennas.
template <std::uint32_t kEdge, typename Cta>
CARILLON_GPU void gram_edge(Cta& cta, const CombineTask& task) {
  const std::uint32_t tile = task.first_tile + cta.x() / kOctets;
  const std::uint32_t first_lane = cta.x() % kOctets * kOctet;
  const TrianglePlace pair = triangle_place(cta.y());
  const bool same = pair.row == pair.column;
  const std::uint32_t begin = cta.z() * slice_antennas(task);
  const std::uint32_t slice_end = begin + slice_antennas(task);
  const std::uint32_t end = slice_end < task.antennas ? slice_end : task.antennas;

  typename Cta::template Own<Sums> own(cta);
  clear(cta, own);
  for (std::uint32_t first = begin; first < end; first += terms_of(kEdge)) {
    stage_users<kEdge>(cta, task, pair, first, end);
    add_terms<kEdge>(cta, same, own);
  }
  cta.each_thread([&](std::uint32_t thread) {
    const ProductPlace at = product_place(kEdge, thread);
    const std::uint32_t i = pair.row * (kEdge / kSide) + at.row;
    const std::uint32_t j = pair.column * (kEdge / kSide) + at.column;
    const std::uint32_t size = user_blocks(task.users);
    if (j > i || i >= size) return;
    const std::size_t lane = std::size_t{tile} * kTileLanes + first_lane + at.lane;
    SquareBlock block;
    for (std::uint32_t r = 0; r < kSide; ++r)
      for (std::uint32_t c = 0; c < kSide; ++c) block.at[r][c] = own[thread].at[r][c];
    task.squares[(lane * task.slices + cta.z()) * triangle(size) + triangle(i) + j] = block;
  });
}

/// Two entries of P of a lane, neighbours in a row of a block, on their way to the rows of x.
/// Neighbouring threads write neighbouring rows and read the same sectors.
template <std::uint32_t kEdge>
struct InverseItem {
  std::uint32_t lane, block, term_block, row, half;
  CARILLON_GPU explicit InverseItem(std::uint32_t i)
      : lane(i % kOctet), row(i / kOctet / 4 % kSide), half(i / kOctet / 2 % 2) {
    constexpr std::uint32_t kPairs = kEdge / kSide / 2;
    const std::uint32_t rest = i / kOctet / 4 / kSide;
    block = rest % kPairs * 2 + i / kOctet % 2;
    term_block = rest / kPairs;
  }
};

/// The pair of a block of users and one of terms, both of the whole matrix.
CARILLON_GPU inline Quad fetch_inverse(const CombineTask& task, std::size_t lane,
                                       std::uint32_t users, std::uint32_t terms, std::uint32_t row,
                                       std::uint32_t half) {
  const std::uint32_t size = user_blocks(task.users);
  const std::uint32_t i = terms > users ? terms : users, j = terms > users ? users : terms;
  const bool counts = i < size;
  const SquareBlock* const from = task.squares + lane * task.slices * triangle(size);
  Quad pair = *reinterpret_cast<const Quad*>(from[counts ? triangle(i) + j : 0].at[row] + 2 * half);
  for (std::uint32_t n = 0; n < 4; ++n) pair.at[n] = counts ? pair.at[n] : 0;
  return pair;
}

template <std::uint32_t kEdge>
CARILLON_GPU void put_inverse(const InverseItem<kEdge>& item, bool mirrored, Quad pair,
                              Entry* shared) {
  for (std::uint32_t n = 0; n < 2; ++n) {
    const std::uint32_t column = 2 * item.half + n;
    const std::uint32_t user = item.block * kSide + (mirrored ? column : item.row);
    const std::uint32_t term = item.term_block * kSide + (mirrored ? item.row : column);
    const float im = pair.at[2 * n + 1];
    shared[term * term_entries(kEdge) + row_place(kEdge, user) * kOctet + item.lane] = {
        pair.at[2 * n], mirrored ? -im : im};
  }
}

/// x: P(user, i), y: H(i, antenna) for i of the terms; the sum is conj(W).
template <std::uint32_t kEdge, typename Cta>
CARILLON_GPU void stage_weights(Cta& cta, const CombineTask& task, std::uint32_t first_term) {
  const std::uint32_t tile = task.first_tile + cta.x() / kOctets;
  const std::uint32_t first_lane = cta.x() % kOctets * kOctet;
  const std::uint32_t first_block = cta.y() * (kEdge / kSide), first_antenna = cta.z() * kEdge;
  const std::size_t lane = std::size_t{tile} * kTileLanes + first_lane;
  Entry* const shared = cta.template shared<Entry>();
  in_batches<kBatch<kEdge>, Quad>(
      cta, kOctet * kEdge * terms_of(kEdge) / 2,
      [&](std::uint32_t i) {
        const InverseItem<kEdge> item(i);
        return fetch_inverse(task, lane + item.lane, first_block + item.block,
                             first_term / kSide + item.term_block, item.row, item.half);
      },
      [&](std::uint32_t i, const Quad& held) {
        const InverseItem<kEdge> item(i);
        const bool mirrored = first_term / kSide + item.term_block > first_block + item.block;
        put_inverse(item, mirrored, held, shared);
      });
  in_batches<kBatch<kEdge>, HalfOctet>(
      cta, kEdge * terms_of(kEdge) * 2,
      [&](std::uint32_t i) {
        const RowItem<kEdge> item(i);
        const std::uint32_t user = first_term + item.term, antenna = first_antenna + item.row;
        const bool exists = user < task.users && antenna < task.antennas;
        return fetch(csi_of(task, tile, exists ? user : 0) + (exists ? antenna : 0),
                     first_lane + item.quad, exists && task.takes_part[exists ? antenna : 0] != 0);
      },
      [&](std::uint32_t i, const HalfOctet& held) {
        put(held, shared + kEdge * kOctet + RowItem<kEdge>(i).place());
      });
}

/// Each row divided by its gain. A user without a channel has gain 0.
CARILLON_GPU inline Complex weight(Complex sum, float gain) {
  return {gain * sum.re, -gain * sum.im};
}

template <std::uint32_t kEdge, typename Cta>
CARILLON_GPU void store_weights(Cta& cta, const CombineTask& task,
                                typename Cta::template Own<Sums>& own) {
  const std::uint32_t tile = task.first_tile + cta.x() / kOctets;
  cta.each_thread([&](std::uint32_t thread) {
    const ProductPlace at = product_place(kEdge, thread);
    const std::uint32_t lane = cta.x() % kOctets * kOctet + at.lane;
    const std::uint32_t first_user = cta.y() * kEdge + at.row * kSide;
    const std::uint32_t first_antenna = cta.z() * kEdge + at.column * kSide;
    for (std::uint32_t r = 0; r < kSide; ++r) {
      const std::uint32_t user = first_user + r;
      if (user >= task.users) continue;
      const float gain = task.gains[(std::size_t{tile} * kTileLanes + lane) * task.users + user];
      Tile* const to = task.w + tile * task.tile_stride + user * task.user_stride + first_antenna;
      for (std::uint32_t c = 0; c < kSide; ++c)
        if (first_antenna + c < task.antennas)
          simt::put(to[c], lane, weight(own[thread].at[r][c], gain));
    }
  });
}

/// The matched filter: no product at all.
template <std::uint32_t kEdge, typename Cta>
CARILLON_GPU void match_edge(Cta& cta, const CombineTask& task) {
  const std::uint32_t tile = task.first_tile + cta.x() / kOctets;
  cta.each(kEdge * kEdge * kOctet, [&](std::uint32_t i) {
    const std::uint32_t lane = cta.x() % kOctets * kOctet + i % kOctet;
    const std::uint32_t antenna = cta.z() * kEdge + i / kOctet % kEdge;
    const std::uint32_t user = cta.y() * kEdge + i / kOctet / kEdge;
    if (user >= task.users || antenna >= task.antennas) return;
    const bool counts = task.takes_part[antenna] != 0;
    const float gain =
        counts ? task.gains[(std::size_t{tile} * kTileLanes + lane) * task.users + user] : 0;
    simt::put(task.w[tile * task.tile_stride + user * task.user_stride + antenna], lane,
              weight(simt::get(csi_of(task, tile, user)[antenna], lane), gain));
  });
}

/// Grid: octets, edge users, edge antennas.
template <std::uint32_t kEdge, typename Cta>
CARILLON_GPU void weigh_edge(Cta& cta, const CombineTask& task) {
  if (task.detector == Detector::Conjugate) return match_edge<kEdge>(cta, task);
  typename Cta::template Own<Sums> own(cta);
  clear(cta, own);
  for (std::uint32_t term = 0; term < task.users; term += terms_of(kEdge)) {
    stage_weights<kEdge>(cta, task, term);
    add_terms<kEdge>(cta, false, own);
  }
  store_weights<kEdge>(cta, task, own);
}

/// What launches of launch_of(task) run.
template <typename Cta>
CARILLON_GPU void gram_block(Cta& cta, const GramTask& task) {
  const std::uint32_t edge = edge_of(task.of);
  if (edge == 8) return gram_edge<8>(cta, task.of);
  if (edge == 16) return gram_edge<16>(cta, task.of);
  gram_edge<32>(cta, task.of);
}
template <typename Cta>
CARILLON_GPU void weigh_block(Cta& cta, const WeighTask& task) {
  const std::uint32_t edge = edge_of(task.of);
  if (edge == 8) return weigh_edge<8>(cta, task.of);
  if (edge == 16) return weigh_edge<16>(cta, task.of);
  weigh_edge<32>(cta, task.of);
}

}  // namespace carillon::phy::cuda::zeroforce
