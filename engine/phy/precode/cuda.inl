// A block has 64 or 128 antennas of one tile in four symbols: modulating all users' symbols is work
// that every block of the tile repeats, so that it should have all antennas where it can. At 64×16
// and 14 symbols there are 75 · 4 blocks.
//
// precode_tile: half precision on tensor cores. For each user two rows of a matrix, its symbols
// (sr… si…) of 16 lanes and the same times j (-si… sr…), meet (wr wi) of all users in an antenna's
// row: the product's row is the antenna's tile as it lies in memory, real line and imaginary line,
// and goes there without a stop. Users' rows of W have powers of two of their own; symbols make up
// for them relative to the largest one's, which is left to the sums.
//
// precode_lanes: multiply-adds in single precision; a thread has one lane of four antennas in four
// symbols in registers.
#pragma once

#include "phy/modulate/cuda.inl"
#include "phy/precode/cuda.hpp"

namespace carillon::phy::cuda {

using simt::operator*;

inline constexpr std::uint32_t kPrecodeSymbols = 4;  // of a block
inline constexpr std::uint32_t kLaneAntennas = 4;    // of a thread
inline constexpr std::uint32_t kWarpAntennas = 64;   // of a warp, or of a block's multiply-adds

/// Users whose operands are in shared memory at a time, and numbers in its rows: 16 bytes past a
/// multiple of 128, so that eight rows are in different banks.
inline constexpr std::uint32_t kUserChunk = 32;
inline constexpr std::uint32_t kPrecoderRow = 2 * kUserChunk + 8;
inline constexpr std::uint32_t kSymbolRow = kPrecodeSymbols * 2 * kTileLanes + 8;

/// 1 or 2 groups of 64 antennas.
CARILLON_BOTH constexpr std::uint32_t groups_of(const PrecodeTask& task) {
  return task.shape.antennas > kWarpAntennas ? 2 : 1;
}
CARILLON_BOTH constexpr std::uint32_t precode_threads(const PrecodeTask& task) {
  if (task.half_w_scalars != nullptr) return groups_of(task) * kPrecodeSymbols * simt::kWarp;
  const std::uint32_t most =
      task.shape.antennas < kWarpAntennas ? task.shape.antennas : kWarpAntennas;
  return simt::round_up(simt::divide_up(most, kLaneAntennas) * kTileLanes, simt::kWarp);
}
CARILLON_BOTH constexpr std::uint32_t antennas_at_once(const PrecodeTask& task) {
  return task.half_w_scalars != nullptr ? groups_of(task) * kWarpAntennas
                                        : precode_threads(task) / kTileLanes * kLaneAntennas;
}

/// Shared memory: bits of this many users, then their symbols (and before them, in their place,
/// runs); on tensor cores, the precoder and 16 numbers for the largest scale, too.
CARILLON_BOTH constexpr std::uint32_t users_in_shared(const PrecodeTask& task) {
  return task.half_w_scalars == nullptr ? task.shape.users : kUserChunk;
}
CARILLON_BOTH constexpr std::uint32_t bytes_before_symbols(std::uint32_t users) {
  return users * kPrecodeSymbols * std::uint32_t{sizeof(TileBits)};
}
CARILLON_BOTH constexpr std::uint32_t bytes_before_precoder(const PrecodeTask& task) {
  const std::uint32_t users = users_in_shared(task);
  const std::uint32_t symbols = task.half_w_scalars == nullptr
                                    ? users * kPrecodeSymbols * kTileLanes * 2 * 4
                                    : 2 * users * kSymbolRow * 2;
  return bytes_before_symbols(users) + symbols;
}
CARILLON_BOTH constexpr std::uint32_t shared_for(const PrecodeTask& task) {
  const std::uint32_t before = bytes_before_precoder(task);
  if (task.half_w_scalars == nullptr) return before;
  return before + antennas_at_once(task) * kPrecoderRow * 2 + 16 * 4;
}
static_assert(kTileLanes * sizeof(Complex) >= sizeof(TileRun));
static_assert(2 * kUserChunk * kSymbolRow * 2 >= kUserChunk * kPrecodeSymbols * sizeof(TileRun));

/// What a block works on.
struct PrecodePart {
  std::uint32_t tile, first_antenna, antennas, first_symbol, symbols;
};

template <typename Cta>
CARILLON_GPU PrecodePart part_of(const Cta& cta, const PrecodeTask& task) {
  const std::uint32_t most = antennas_at_once(task);
  PrecodePart part{};
  part.tile = cta.z();
  part.first_antenna = cta.x() * most;
  part.antennas = task.shape.antennas - part.first_antenna;
  if (part.antennas > most) part.antennas = most;
  part.first_symbol = cta.y() * kPrecodeSymbols;
  part.symbols = task.symbols - part.first_symbol;
  if (part.symbols > kPrecodeSymbols) part.symbols = kPrecodeSymbols;
  return part;
}

// ---- Users' symbols

/// each(i, run) for what of a list's runs lies in a tile, after the first.
template <typename Each>
CARILLON_GPU void for_others(const Runs& runs, std::size_t list, std::uint32_t tile,
                             const TileRun& first, Each&& each) {
  if (first.more == 0) return;
  for (std::uint32_t i = first_run_in(runs, list, tile) + 1;; ++i) {
    const TileRun run = tile_run(runs, list, i, tile);
    each(i, run);
    if (run.more == 0) return;
  }
}

/// The bits of users [first, first + count): shared memory begins with [symbol][of count users]
/// TileBits.
template <typename Cta>
CARILLON_GPU void gather_bits(Cta& cta, const PrecodeTask& task, const PrecodePart& part,
                              std::uint32_t first, std::uint32_t count) {
  auto* const bits = cta.template shared<TileBits>();
  auto* const runs = cta.template shared<TileRun>(bytes_before_symbols(users_in_shared(task)));
  const std::uint32_t tile = task.first_tile + part.tile;
  const auto list = [&](std::uint32_t i) {
    return std::size_t{part.first_symbol + i / count} * task.shape.users + first + i % count;
  };
  cta.each(part.symbols * count, [&](std::uint32_t i) {
    runs[i] = tile_run(task.runs, list(i), first_run_in(task.runs, list(i), tile), tile);
    bits[i].of_symbol = runs[i].bits;
    std::uint32_t held = lanes_of(runs[i]);
    for_others(task.runs, list(i), tile, runs[i],
               [&](std::uint32_t, const TileRun& run) { held |= lanes_of(run); });
    bits[i].held = held;
  });
  cta.each(part.symbols * count * kMaxBitsPerSymbol, [&](std::uint32_t item) {
    const std::uint32_t i = item / kMaxBitsPerSymbol, plane = item % kMaxBitsPerSymbol;
    if (plane >= runs[i].bits) return;
    std::uint32_t word = gather(runs[i], plane, runs[i].signs[plane], task.coded);
    for_others(task.runs, list(i), tile, runs[i], [&](std::uint32_t n, const TileRun& run) {
      word |= gather(run, plane, signs_of(task.runs, task.runs.runs[n], tile, plane), task.coded);
    });
    bits[i].plane[plane] = static_cast<std::uint16_t>(word);
  });
}

/// A lane of a user's symbol, after gather_bits() of `count` users from `first` on.
CARILLON_GPU inline Complex symbol_at(const PrecodeTask& task, const PrecodePart& part,
                                      const TileBits* bits, std::uint32_t count,
                                      std::uint32_t symbol, std::uint32_t first, std::uint32_t user,
                                      std::uint32_t lane) {
  if (task.reference != nullptr && part.first_symbol + symbol == 0)
    return simt::get(task.reference[std::size_t{part.tile} * task.shape.users + first + user],
                     lane);
  return point(bits[symbol * count + user], lane);
}

// ---- Tensor cores

/// Four users' entries of an antenna's row.
struct alignas(16) FourUsers {
  HalfComplex at[4];
};

template <std::uint32_t kGroups, typename Cta>
CARILLON_GPU void load_precoder(Cta& cta, const PrecodeTask& task, const PrecodePart& part,
                                std::uint32_t first, std::uint16_t* rows) {
  constexpr std::uint32_t kAntennas = kGroups * kWarpAntennas;
  constexpr std::uint32_t kThreads = kGroups * kPrecodeSymbols * simt::kWarp;
  constexpr std::uint32_t kOfThread = kAntennas * (kUserChunk / 4) / kThreads;
  const HalfComplex* const w = task.half_w_scalars + part.tile * task.w_tile + part.first_antenna;
  cta.each_thread([&](std::uint32_t thread) {
    FourUsers four[kOfThread];
    for (std::uint32_t n = 0; n < kOfThread; ++n) {
      const std::uint32_t i = n * kThreads + thread, antenna = i % kAntennas;
      for (std::uint32_t u = 0; u < 4; ++u) {
        const std::uint32_t user = first + i / kAntennas * 4 + u;
        four[n].at[u] = {0, 0};
        if (user < task.shape.users && antenna < part.antennas)
          four[n].at[u] = w[std::size_t{user} * task.shape.antenna_stride + antenna];
      }
    }
    for (std::uint32_t n = 0; n < kOfThread; ++n) {
      const std::uint32_t i = n * kThreads + thread;
      *reinterpret_cast<FourUsers*>(rows + i % kAntennas * kPrecoderRow + i / kAntennas * 8) =
          four[n];
    }
  });
}

CARILLON_GPU inline float largest_of(const float* sixteen) {
  float largest = sixteen[0];
  for (std::uint32_t i = 1; i < 16; ++i) largest = std::fmax(largest, sixteen[i]);
  return largest;
}

/// [2 · user, and the same times j][symbol: real line, imaginary line] of a chunk of users.
template <typename Cta>
CARILLON_GPU void put_symbols(Cta& cta, const PrecodeTask& task, const PrecodePart& part,
                              std::uint32_t first, std::uint32_t users, float largest,
                              std::uint16_t* s) {
  const auto* const bits = cta.template shared<TileBits>();
  const float* const scale = task.scale + std::size_t{part.tile} * task.shape.users;
  const std::uint32_t rows = simt::round_up(users, 8);  // to a product's 16 terms
  cta.each(part.symbols * rows * kTileLanes, [&](std::uint32_t i) {
    const std::uint32_t lane = i % kTileLanes, user = i / kTileLanes % rows;
    const std::uint32_t symbol = i / (kTileLanes * rows);
    Complex value = {0, 0};
    if (user < users) {
      value = symbol_at(task, part, bits, users, symbol, first, user, lane);
      value = (scale[first + user] / largest) * value;
    }
    std::uint16_t* const to = s + 2 * user * kSymbolRow + symbol * 2 * kTileLanes + lane;
    const std::uint16_t re = simt::to_half(value.re), im = simt::to_half(value.im);
    to[0] = re;
    to[kTileLanes] = im;
    to[kSymbolRow] = im ^ 0x8000;
    to[kSymbolRow + kTileLanes] = re;
  });
}

/// Sixteen antennas that all are there go straight to x, the last few by way of shared memory.
template <typename Cta, typename Products>
CARILLON_GPU void store_products(Cta& cta, const PrecodeTask& task, const PrecodePart& part,
                                 Products& products, float factor, float* rest) {
  constexpr std::uint32_t kRow = 2 * kTileLanes;
  Tile* const x =
      task.x + part.first_symbol * task.x_symbol + part.tile * task.x_tile + part.first_antenna;
  const std::uint32_t whole = part.antennas / 16 * 16;
  cta.each_warp([&](std::uint32_t warp) {
    const std::uint32_t symbol = warp % kPrecodeSymbols;
    const std::uint32_t group = warp / kPrecodeSymbols * kWarpAntennas;
    if (symbol >= part.symbols) return;
    products[warp].store(
        [&](std::uint32_t block) -> float* {
          const std::uint32_t antenna = group + block * 16;
          if (antenna < whole) return x[symbol * task.x_symbol + antenna].re;
          return antenna < part.antennas ? rest + symbol * 16 * kRow : nullptr;
        },
        kRow, factor);
  });
  const std::uint32_t left = part.antennas - whole;
  cta.each(part.symbols * left * kRow, [&](std::uint32_t i) {
    const std::uint32_t symbol = i / (left * kRow), antenna = i / kRow % left, n = i % kRow;
    Tile& to = x[symbol * task.x_symbol + whole + antenna];
    (n < kTileLanes ? to.re : to.im)[n % kTileLanes] = rest[(symbol * 16 + antenna) * kRow + n];
  });
}

template <std::uint32_t kGroups, typename Cta>
CARILLON_GPU void precode_tile(Cta& cta, const PrecodeTask& task) {
  const PrecodePart part = part_of(cta, task);
  auto* const s = cta.template shared<std::uint16_t>(bytes_before_symbols(kUserChunk));
  auto* const w = cta.template shared<std::uint16_t>(bytes_before_precoder(task));
  auto* const scales = reinterpret_cast<float*>(w + kGroups * kWarpAntennas * kPrecoderRow);
  typename Cta::template Own<typename Cta::template Products<kWarpAntennas / 16, 2>> products(cta);
  cta.each(16, [&](std::uint32_t i) {
    const float* const scale = task.scale + std::size_t{part.tile} * task.shape.users;
    float largest = 0;
    for (std::uint32_t user = i; user < task.shape.users; user += 16)
      largest = std::fmax(largest, scale[user]);
    scales[i] = largest;
  });
  const float largest = largest_of(scales);
  for (std::uint32_t first = 0; first < task.shape.users; first += kUserChunk) {
    const std::uint32_t left = task.shape.users - first;
    const std::uint32_t users = left < kUserChunk ? left : kUserChunk;
    load_precoder<kGroups>(cta, task, part, first, w);
    gather_bits(cta, task, part, first, users);
    put_symbols(cta, task, part, first, users, largest, s);
    cta.each_warp([&](std::uint32_t warp) {
      const std::uint32_t symbol = warp % kPrecodeSymbols, group = warp / kPrecodeSymbols;
      if (symbol >= part.symbols) return;
      for (std::uint32_t k = 0; k < 2 * users; k += 16)
        products[warp].add(w + group * kWarpAntennas * kPrecoderRow + k, kPrecoderRow,
                           s + k * kSymbolRow + symbol * 2 * kTileLanes, kSymbolRow);
    });
  }
  store_products(cta, task, part, products, kHalfScale * largest, reinterpret_cast<float*>(s));
}

// ---- Multiply-adds

template <typename W, typename Cta>
CARILLON_GPU void precode_lanes(Cta& cta, const PrecodeTask& task, const W* w) {
  const PrecodePart part = part_of(cta, task);
  const std::uint32_t users = task.shape.users, stride = task.shape.antenna_stride;
  const auto* const bits = cta.template shared<TileBits>();
  auto* const s = cta.template shared<Complex>(bytes_before_symbols(users));
  gather_bits(cta, task, part, 0, users);
  cta.each(part.symbols * users * kTileLanes, [&](std::uint32_t i) {
    const std::uint32_t lane = i % kTileLanes, user = i / kTileLanes % users;
    s[i] = symbol_at(task, part, bits, users, i / (kTileLanes * users), 0, user, lane);
  });
  cta.each_thread([&](std::uint32_t thread) {
    const std::uint32_t lane = thread % kTileLanes, first = thread / kTileLanes * kLaneAntennas;
    if (first >= part.antennas) return;
    const W* columns[kLaneAntennas];
    const Complex* rows[kPrecodeSymbols];
    Complex sum[kLaneAntennas][kPrecodeSymbols];
    // Past the last antenna or symbol, the last one's again.
    for (std::uint32_t i = 0; i < kLaneAntennas; ++i) {
      const std::uint32_t a = first + i < part.antennas ? first + i : part.antennas - 1;
      columns[i] = w + part.tile * task.w_tile + part.first_antenna + a;
    }
    for (std::uint32_t j = 0; j < kPrecodeSymbols; ++j) {
      rows[j] = s + (j < part.symbols ? j : part.symbols - 1) * users * kTileLanes + lane;
      for (std::uint32_t i = 0; i < kLaneAntennas; ++i) sum[i][j] = {0, 0};
    }
    CARILLON_UNROLL_4
    for (std::uint32_t u = 0; u < users; ++u) {
      Complex left[kLaneAntennas], right[kPrecodeSymbols];
      for (std::uint32_t i = 0; i < kLaneAntennas; ++i)
        left[i] = simt::get(columns[i][std::size_t{u} * stride], lane);
      for (std::uint32_t j = 0; j < kPrecodeSymbols; ++j) right[j] = rows[j][u * kTileLanes];
      for (std::uint32_t i = 0; i < kLaneAntennas; ++i)
        for (std::uint32_t j = 0; j < kPrecodeSymbols; ++j)
          simt::multiply_add(sum[i][j], left[i], right[j]);
    }
    Tile* const x =
        task.x + part.first_symbol * task.x_symbol + part.tile * task.x_tile + part.first_antenna;
    for (std::uint32_t j = 0; j < kPrecodeSymbols; ++j)
      for (std::uint32_t i = 0; i < kLaneAntennas; ++i)
        if (j < part.symbols && first + i < part.antennas)
          simt::put(x[j * task.x_symbol + first + i], lane, sum[i][j]);
  });
}

/// What a launch of launch_of(task) runs.
template <typename Cta>
CARILLON_GPU void precode_block(Cta& cta, const PrecodeTask& task) {
  if (task.half_w_scalars != nullptr)
    groups_of(task) == 1 ? precode_tile<1>(cta, task) : precode_tile<2>(cta, task);
  else if (task.w_scalars != nullptr)
    precode_lanes(cta, task, task.w_scalars);
  else
    precode_lanes(cta, task, task.w_tiles);
}

}  // namespace carillon::phy::cuda
