// A block has 16 or 32 users of one tile in four symbols: each entry of W is read once for four
// symbols and each of y once for all of these users. Blocks of a tile are neighbours in the grid,
// so that what they share is read from L2. At 64×16 and 13 symbols there are 75 · 4 of them.
//
// equalize_tile: a combiner for the whole tile in half precision, on tensor cores. Real and
// imaginary parts stay interleaved as they lie in memory. With W's row (wr wi wr wi …) and two rows
// for each antenna, y's lanes (yr yi yr yi …) and the same times j (-yi yr -yi yr …), one real
// product of 2·antennas terms has the symbols (sr si sr si …): no term is wasted, W is copied as it
// is, and the second row is a rotation of the first one's words. A warp has one symbol, two
// products across (16 lanes) by one or two down (users).
//
// equalize_lanes: multiply-adds in single precision, for combiners of their own in each lane (then
// reading W bounds it) or where half precision does not suffice. A thread has one lane of 2 or 4
// users in four symbols in registers; y comes from L1, which the block's warps walk together.
//
// Either way sums meet in shared memory once, where a thread takes one user's lane at a time:
// demapping is as much work as equalizing 16 antennas, so all threads share it evenly.
#pragma once

#include "phy/demap/cuda.inl"
#include "phy/equalize/cuda.hpp"

namespace carillon::phy::cuda {

using simt::operator*;

inline constexpr std::uint32_t kEqualizeThreads = 128;
inline constexpr std::uint32_t kSymbolsAtOnce = kEqualizeThreads / simt::kWarp;
inline constexpr std::uint32_t kLaneGroups = kEqualizeThreads / kTileLanes;

/// Numbers of a tile in memory; rows are padded by 16 bytes, so that eight of them that are read
/// together are in different banks.
inline constexpr std::uint32_t kPairs = 2 * kTileLanes;
inline constexpr std::uint32_t kChunk = 64;  // antennas that are in shared memory at a time
inline constexpr std::uint32_t kWRow = 2 * kChunk + 8, kYRow = kSymbolsAtOnce * kPairs + 8;
inline constexpr std::uint32_t kSumRow = kPairs + 4;

/// 32 where that makes two blocks for each SM of a large GPU.
CARILLON_BOTH constexpr std::uint32_t users_at_once(const EqualizeTask& task) {
  if (task.users_at_once != 0) return task.users_at_once;
  const std::uint32_t blocks = simt::divide_up(task.shape.users, 32) * task.tiles *
                               simt::divide_up(task.symbols, kSymbolsAtOnce);
  return task.shape.users > 16 && blocks >= 264 ? 32 : 16;
}

/// Shared memory: what demapping needs, then operands of a product, and sums in their place.
CARILLON_BOTH constexpr std::uint32_t bytes_before_sums(std::uint32_t users) {
  return users * (kSymbolsAtOnce * std::uint32_t{sizeof(TileRun)} +
                  kTileLanes * std::uint32_t{sizeof(float)});
}
CARILLON_BOTH constexpr std::uint32_t shared_for(const EqualizeTask& task) {
  const std::uint32_t users = users_at_once(task);
  const std::uint32_t sums = kSymbolsAtOnce * users * kSumRow * std::uint32_t{sizeof(float)};
  const std::uint32_t operands = (users * kWRow + 2 * kChunk * kYRow) * 2;
  return bytes_before_sums(users) +
         (task.half_w_scalars != nullptr && operands > sums ? operands : sums);
}

/// What a block works on.
struct EqualizePart {
  std::uint32_t tile, first_user, users, first_symbol, symbols;
};

template <typename Cta>
CARILLON_GPU EqualizePart part_of(const Cta& cta, const EqualizeTask& task, std::uint32_t users) {
  EqualizePart part{};
  part.tile = cta.z();
  part.first_user = cta.x() * users;
  part.users = task.shape.users - part.first_user;
  if (part.users > users) part.users = users;
  part.first_symbol = cta.y() * kSymbolsAtOnce;
  part.symbols = task.symbols - part.first_symbol;
  if (part.symbols > kSymbolsAtOnce) part.symbols = kSymbolsAtOnce;
  return part;
}

// ---- From sums to soft bits

/// Fetched before equalizing, all at once, so that nothing waits for a chain of look-ups later:
/// the first run of each user in each symbol, and each lane's 1/noise.
template <std::uint32_t kUsers>
struct Lookup {
  TileRun runs[kSymbolsAtOnce][kUsers];
  float certainty[kUsers][kTileLanes];

  CARILLON_GPU void fetch(const EqualizeTask& task, const EqualizePart& part,
                          std::uint32_t thread) {
    const std::uint32_t symbol = thread / kUsers, user = thread % kUsers;
    const bool wanted = task.soft != nullptr || task.error != nullptr;
    if (wanted && symbol < part.symbols && user < part.users) {
      const std::uint32_t tile = task.first_tile + part.tile;
      const std::size_t row = row_of(task, part, symbol, user);
      runs[symbol][user] = tile_run(task.runs, row, first_run_in(task.runs, row, tile), tile);
    }
    if (task.soft == nullptr) return;
    const std::size_t first = std::size_t{part.tile} * task.shape.users + part.first_user;
    for (std::uint32_t i = thread; i < part.users * kTileLanes; i += kEqualizeThreads)
      certainty[i / kTileLanes][i % kTileLanes] = 1 / task.noise[first * kTileLanes + i];
  }

  CARILLON_GPU static std::size_t row_of(const EqualizeTask& task, const EqualizePart& part,
                                         std::uint32_t symbol, std::uint32_t user) {
    return std::size_t{part.first_symbol + symbol} * task.shape.users + part.first_user + user;
  }
};

static_assert(sizeof(Lookup<16>) == bytes_before_sums(16) &&
              sizeof(Lookup<32>) == bytes_before_sums(32));

template <typename Cta>
CARILLON_GPU void finish(const EqualizeTask& task, const TileRun& run, std::size_t row,
                         std::uint32_t lane, Complex s, float certainty) {
  if (task.error != nullptr) Cta::add(&task.error[row], error_power(run.bits, s));
  if (task.soft != nullptr) demap(run, lane, s, certainty, task.soft);
}

/// Null where nothing is altered.
CARILLON_GPU inline const Alteration* alteration(const EqualizeTask& task, const EqualizePart& part,
                                                 std::uint32_t symbol, std::uint32_t user,
                                                 std::uint32_t lane) {
  const std::size_t of = part.first_symbol + symbol;
  if (task.altered.symbols == nullptr || task.altered.symbols[of] == 0) return nullptr;
  const std::size_t row = (of * task.tiles + part.tile) * task.shape.users + user;
  return &task.altered.lanes[row * kTileLanes + lane];
}

/// Sums lie in shared memory as [symbol][of kUsers users][lane] pairs.
template <std::uint32_t kUsers, typename Cta>
CARILLON_GPU void finish(Cta& cta, const EqualizeTask& task, const EqualizePart& part) {
  const auto& lookup = *cta.template shared<Lookup<kUsers>>();
  const float* const sums = cta.template shared<float>(bytes_before_sums(kUsers));
  cta.each(part.users * kTileLanes, [&](std::uint32_t i) {
    const std::uint32_t lane = i % kTileLanes, u = i / kTileLanes, user = part.first_user + u;
    float scale = 1;
    if (task.scale != nullptr) scale = task.scale[part.tile * task.shape.users + user];
    for (std::uint32_t symbol = 0; symbol < part.symbols; ++symbol) {
      const float* const at = sums + (symbol * kUsers + u) * kSumRow + 2 * lane;
      Complex s = scale * Complex{at[0], at[1]};
      float certainty = lookup.certainty[u][lane];
      if (const Alteration* const altered = alteration(task, part, symbol, user, lane)) {
        s = altered->scale * s;
        certainty = 1 / altered->noise;
      }
      if (task.equalized != nullptr)
        simt::put(task.equalized[(part.first_symbol + symbol) * task.equalized_symbol +
                                 part.tile * task.equalized_tile + user],
                  lane, s);
      if (task.soft == nullptr && task.error == nullptr) continue;
      const TileRun& run = lookup.runs[symbol][u];
      const std::size_t row = lookup.row_of(task, part, symbol, u);
      if (lane - run.first < run.count) {
        finish<Cta>(task, run, row, lane, s, certainty);
      } else if (run.more != 0 && lane >= run.first) {
        const TileRun other = tile_run_at(task.runs, row, task.first_tile + part.tile, lane);
        if (lane - other.first < other.count) finish<Cta>(task, other, row, lane, s, certainty);
      }
    }
  });
}

// ---- Tensor cores

/// Four numbers as they lie in a tile: what a thread reads and writes at once.
struct alignas(16) Quad {
  HalfComplex at[4];
};

/// Times j.
CARILLON_GPU inline Quad turned(const Quad& quad) {
  Quad to;
  for (std::uint32_t i = 0; i < 4; ++i)
    to.at[i] = {static_cast<std::uint16_t>(quad.at[i].im ^ 0x8000), quad.at[i].re};
  return to;
}

/// A thread's part of a chunk of antennas, on its way to shared memory: its loads are under way
/// together, and while the chunk before is being multiplied.
template <std::uint32_t kUsers>
struct Staged {
  static constexpr std::uint32_t kW = kUsers * kChunk / kEqualizeThreads;
  static constexpr std::uint32_t kY = kSymbolsAtOnce * kChunk * 4 / kEqualizeThreads;
  HalfComplex w[kW];
  Quad y[kY];

  CARILLON_GPU void load(const EqualizeTask& task, const EqualizePart& part, std::uint32_t first,
                         std::uint32_t thread) {
    const HalfComplex* const rows = task.half_w_scalars + part.tile * task.w_tile +
                                    std::size_t{part.first_user} * task.shape.antenna_stride;
    for (std::uint32_t n = 0; n < kW; ++n) {
      const std::uint32_t i = n * kEqualizeThreads + thread, user = i / kChunk;
      const std::uint32_t antenna = first + i % kChunk;
      w[n] = {0, 0};
      if (user < part.users && antenna < task.shape.antennas)
        w[n] = rows[user * task.shape.antenna_stride + antenna];
    }
    const HalfTile* const tiles =
        task.half_y + part.first_symbol * task.y_symbol + part.tile * task.y_tile;
    for (std::uint32_t n = 0; n < kY; ++n) {
      const std::uint32_t i = n * kEqualizeThreads + thread, symbol = i / (4 * kChunk);
      const std::uint32_t antenna = first + i / 4 % kChunk;
      y[n] = {};
      if (symbol < part.symbols && antenna < task.shape.antennas)
        y[n] = reinterpret_cast<const Quad*>(tiles[symbol * task.y_symbol + antenna].at)[i % 4];
    }
  }

  CARILLON_GPU void store(std::uint16_t* w_rows, std::uint16_t* y_rows,
                          std::uint32_t thread) const {
    for (std::uint32_t n = 0; n < kW; ++n) {
      const std::uint32_t i = n * kEqualizeThreads + thread;
      *reinterpret_cast<HalfComplex*>(w_rows + i / kChunk * kWRow + i % kChunk * 2) = w[n];
    }
    for (std::uint32_t n = 0; n < kY; ++n) {
      const std::uint32_t i = n * kEqualizeThreads + thread, symbol = i / (4 * kChunk);
      std::uint16_t* const to = y_rows + i / 4 % kChunk * (2 * kYRow) + symbol * kPairs + i % 4 * 8;
      *reinterpret_cast<Quad*>(to) = y[n];
      *reinterpret_cast<Quad*>(to + kYRow) = turned(y[n]);
    }
  }
};

template <std::uint32_t kUsers, typename Cta>
CARILLON_GPU void equalize_tile(Cta& cta, const EqualizeTask& task) {
  const EqualizePart part = part_of(cta, task, kUsers);
  auto* const w = cta.template shared<std::uint16_t>(bytes_before_sums(kUsers));
  std::uint16_t* const y = w + kUsers * kWRow;
  typename Cta::template Own<Staged<kUsers>> staged(cta);
  typename Cta::template Own<typename Cta::template Products<kUsers / 16, 2>> products(cta);
  cta.each_thread([&](std::uint32_t thread) {
    staged[thread].load(task, part, 0, thread);
    cta.template shared<Lookup<kUsers>>()->fetch(task, part, thread);
  });
  for (std::uint32_t first = 0; first < task.shape.antennas; first += kChunk) {
    cta.each_thread([&](std::uint32_t thread) { staged[thread].store(w, y, thread); });
    if (first + kChunk < task.shape.antennas)
      cta.each_thread(
          [&](std::uint32_t thread) { staged[thread].load(task, part, first + kChunk, thread); });
    const std::uint32_t left = task.shape.antennas - first;
    const std::uint32_t terms = 2 * (left < kChunk ? left : kChunk);
    cta.each_warp([&](std::uint32_t warp) {
      if (warp >= part.symbols) return;
      for (std::uint32_t k = 0; k < terms; k += 16)
        products[warp].add(w + k, kWRow, y + k * kYRow + warp * kPairs, kYRow);
    });
  }
  float* const sums = cta.template shared<float>(bytes_before_sums(kUsers));
  cta.each_warp([&](std::uint32_t warp) {
    if (warp >= part.symbols) return;
    products[warp].store(
        [&](std::uint32_t block) { return sums + (warp * kUsers + block * 16) * kSumRow; },
        kSumRow);
  });
  finish<kUsers>(cta, task, part);
}

// ---- Multiply-adds

template <std::uint32_t kUsers, typename W, typename Y, typename Cta>
CARILLON_GPU void equalize_lanes(Cta& cta, const EqualizeTask& task, const W* w, const Y* y) {
  constexpr std::uint32_t kOfThread = kUsers / kLaneGroups;
  const EqualizePart part = part_of(cta, task, kUsers);
  float* const sums = cta.template shared<float>(bytes_before_sums(kUsers));
  cta.each_thread([&](std::uint32_t thread) {
    cta.template shared<Lookup<kUsers>>()->fetch(task, part, thread);
    const std::uint32_t lane = thread % kTileLanes, first = thread / kTileLanes * kOfThread;
    Complex sum[kOfThread][kSymbolsAtOnce];
    const W* rows[kOfThread];
    const Y* columns[kSymbolsAtOnce];
    // Past the last user or symbol, the last one's again.
    for (std::uint32_t i = 0; i < kOfThread; ++i) {
      const std::uint32_t u = first + i < part.users ? first + i : part.users - 1;
      rows[i] = w + part.tile * task.w_tile +
                std::size_t{part.first_user + u} * task.shape.antenna_stride;
    }
    for (std::uint32_t j = 0; j < kSymbolsAtOnce; ++j) {
      const std::uint32_t s = j < part.symbols ? j : part.symbols - 1;
      columns[j] = y + (part.first_symbol + s) * task.y_symbol + part.tile * task.y_tile;
      for (std::uint32_t i = 0; i < kOfThread; ++i) sum[i][j] = {0, 0};
    }
    CARILLON_UNROLL_4
    for (std::uint32_t a = 0; a < task.shape.antennas; ++a) {
      Complex left[kOfThread], right[kSymbolsAtOnce];
      for (std::uint32_t i = 0; i < kOfThread; ++i) left[i] = simt::get(rows[i][a], lane);
      for (std::uint32_t j = 0; j < kSymbolsAtOnce; ++j) right[j] = simt::get(columns[j][a], lane);
      for (std::uint32_t i = 0; i < kOfThread; ++i)
        for (std::uint32_t j = 0; j < kSymbolsAtOnce; ++j)
          simt::multiply_add(sum[i][j], left[i], right[j]);
    }
    for (std::uint32_t i = 0; i < kOfThread; ++i)
      for (std::uint32_t j = 0; j < kSymbolsAtOnce; ++j) {
        float* const to = sums + (j * kUsers + first + i) * kSumRow + 2 * lane;
        to[0] = sum[i][j].re;
        to[1] = sum[i][j].im;
      }
  });
  finish<kUsers>(cta, task, part);
}

/// What a launch of launch_of(task) runs, for kUsers == users_at_once(task).
template <std::uint32_t kUsers, typename Cta>
CARILLON_GPU void equalize_block(Cta& cta, const EqualizeTask& task) {
  if (task.half_w_scalars != nullptr)
    equalize_tile<kUsers>(cta, task);
  else if (task.half_w_tiles != nullptr)
    equalize_lanes<kUsers>(cta, task, task.half_w_tiles, task.half_y);
  else if (task.w_scalars != nullptr)
    equalize_lanes<kUsers>(cta, task, task.w_scalars, task.y);
  else
    equalize_lanes<kUsers>(cta, task, task.w_tiles, task.y);
}

template <typename Cta>
CARILLON_GPU void equalize_block(Cta& cta, const EqualizeTask& task) {
  if (users_at_once(task) == 32) return equalize_block<32>(cta, task);
  equalize_block<16>(cta, task);
}

}  // namespace carillon::phy::cuda
