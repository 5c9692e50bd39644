// Takes antennas of which nothing came out of combiners, before these are applied. With rows Hm of
// the channel, s = W·y of the other antennas' samples and P as in leave_out.hpp, what the combiner
// without those antennas yields is W·y, too, if they had received
//
//   ŷ = (I - Hm·P·Hmᴴ)⁻¹·Hm·s     what the others' combiner expects of them: the matrix is theirs
//
// alone, Hermitian, and Hm·P·Hmᴴ = Hm·Wm. So ŷ takes the place of the samples that are missing, and
// equalization does the rest, on tensor cores as ever. Noise grows by noise·Wm·(I -
// Hm·P·Hmᴴ)⁻¹·Wmᴴ. A block has a tile of one symbol, and ends at once where nothing is missing.
#pragma once

#include <cmath>

#include "phy/equalize/cuda.hpp"
#include "phy/equalize/leave_out.hpp"

namespace carillon::phy::cuda {

using simt::operator*;

inline constexpr std::uint32_t kLeaveOutThreads = 256;

/// In shared memory; the tile's symbols [user][lane] come after it.
struct LeaveOutShared {
  std::uint32_t left;                   ///< antennas that combiners count on and that are there …
  std::uint32_t found;                  ///< … and that are missing …
  std::uint16_t antenna[kMostLeftOut];  ///< … which they are
  /// I - Hm·P·Hmᴴ by rows up to the diagonal, then D on the diagonal and below it G, where that is
  /// G⁻¹·D·G⁻ᴴ and G's diagonal is 1.
  Complex matrix[kMostLeftOut * (kMostLeftOut + 1) / 2][kTileLanes];
  Complex expected[kMostLeftOut][kTileLanes];  ///< Hm·s, then ŷ

  CARILLON_GPU Complex& at(std::uint32_t row, std::uint32_t column, std::uint32_t lane) {
    return matrix[row * (row + 1) / 2 + column][lane];
  }
};

/// A tile of one symbol.
struct LeaveOutPart {
  const LeaveOutTask& task;
  std::uint32_t tile, symbol;

  CARILLON_GPU bool missing(std::uint32_t antenna) const {
    return task.missing[symbol * task.of.shape.antennas + antenna] != 0;
  }
  /// For a row [user][lane] of the tile.
  CARILLON_GPU std::size_t row(std::uint32_t user, std::uint32_t lane) const {
    return (std::size_t{tile} * task.of.shape.users + user) * kTileLanes + lane;
  }
  CARILLON_GPU Alteration& alteration(std::uint32_t user, std::uint32_t lane) const {
    const std::size_t symbols = std::size_t{task.of.tiles} * task.of.shape.users * kTileLanes;
    return task.of.altered.lanes[symbol * symbols + row(user, lane)];
  }
  CARILLON_GPU std::size_t y(std::uint32_t antenna) const {
    return symbol * task.of.y_symbol + tile * task.of.y_tile + antenna;
  }
  CARILLON_GPU Complex received(std::uint32_t antenna, std::uint32_t lane) const {
    if (task.half_y != nullptr) return 1 / kHalfScale * simt::get(task.half_y[y(antenna)], lane);
    return simt::get(task.y[y(antenna)], lane);
  }
  CARILLON_GPU void expect(std::uint32_t antenna, std::uint32_t lane, Complex value) const {
    if (task.half_y == nullptr) return simt::put(task.y[y(antenna)], lane, value);
    constexpr float kMost = 65504;  // of binary16
    const auto within = [](float x) { return std::fmax(-kMost, std::fmin(kHalfScale * x, kMost)); };
    simt::put(task.half_y[y(antenna)], lane, {within(value.re), within(value.im)});
  }
  CARILLON_GPU Complex channel(std::uint32_t antenna, std::uint32_t user,
                               std::uint32_t lane) const {
    const std::uint32_t group = ((task.of.first_tile + tile) * kTileLanes + lane) / task.group;
    return simt::get(task.csi[group / kTileLanes * task.csi_tile + user * task.csi_user + antenna],
                     group % kTileLanes);
  }
  CARILLON_GPU float residual(std::uint32_t user) const {
    return task.residual != nullptr ? task.residual[user] : 0;
  }
  /// Of a symbol, by antennas' noise alone.
  CARILLON_GPU float noise(std::uint32_t user, std::uint32_t lane) const {
    return std::fmax(task.of.noise[row(user, lane)] - residual(user), kPostNoiseFloor);
  }
  /// What Mmse's rows were divided by.
  CARILLON_GPU float gain(std::uint32_t user, std::uint32_t lane) const {
    return task.detector != Detector::Mmse ? 1 : 1 / (1 + noise(user, lane));
  }
  /// An entry of P·Hᴴ.
  CARILLON_GPU Complex weight(std::uint32_t antenna, std::uint32_t user, std::uint32_t lane) const {
    const EqualizeTask& of = task.of;
    const std::size_t at = tile * of.w_tile + std::size_t{user} * of.shape.antenna_stride + antenna;
    float times = gain(user, lane);
    if (of.scale != nullptr) times *= kHalfScale * of.scale[tile * of.shape.users + user];
    if (of.w_tiles != nullptr) return times * simt::get(of.w_tiles[at], lane);
    if (of.w_scalars != nullptr) return times * of.w_scalars[at];
    if (of.half_w_tiles != nullptr) return times * simt::get(of.half_w_tiles[at], lane);
    const HalfComplex half = of.half_w_scalars[at];
    return times * Complex{simt::from_half(half.re), simt::from_half(half.im)};
  }
};

/// Says how many antennas are left and missing, and of the symbol whether any is.
template <typename Cta>
CARILLON_GPU void count_missing(Cta& cta, const LeaveOutPart& part, LeaveOutShared& all) {
  const LeaveOutTask& task = part.task;
  cta.each(1, [&](std::uint32_t) { all.left = all.found = 0; });
  cta.each(task.of.shape.antennas, [&](std::uint32_t antenna) {
    if (task.takes_part[antenna] != 0) Cta::add(part.missing(antenna) ? &all.found : &all.left, 1U);
  });
  cta.each(1, [&](std::uint32_t) {
    if (part.tile == 0) task.of.altered.symbols[part.symbol] = all.found != 0 ? 1 : 0;
  });
}

template <typename Cta>
CARILLON_GPU void list_missing(Cta& cta, const LeaveOutPart& part, LeaveOutShared& all) {
  const auto counts = [&](std::uint32_t antenna) {
    return part.task.takes_part[antenna] != 0 && part.missing(antenna);
  };
  cta.each(part.task.of.shape.antennas, [&](std::uint32_t antenna) {
    if (!counts(antenna)) return;
    std::uint32_t before = 0;
    for (std::uint32_t a = 0; a < antenna; ++a) before += counts(a) ? 1 : 0;
    all.antenna[before] = static_cast<std::uint16_t>(antenna);
  });
}

/// s = W·y without the gains of Mmse.
template <typename Cta>
CARILLON_GPU void combine_others(Cta& cta, const LeaveOutPart& part, Complex* s) {
  const ArrayShape& shape = part.task.of.shape;
  cta.each(shape.users * kTileLanes, [&](std::uint32_t i) {
    const std::uint32_t user = i / kTileLanes, lane = i % kTileLanes;
    Complex sum{0, 0};
    for (std::uint32_t a = 0; a < shape.antennas; ++a)
      if (!part.missing(a))
        simt::multiply_add(sum, part.weight(a, user, lane), part.received(a, lane));
    s[i] = sum;
  });
}

/// I - Hm·Wm and Hm·s.
template <typename Cta>
CARILLON_GPU void meet_channels(Cta& cta, const LeaveOutPart& part, LeaveOutShared& all,
                                const Complex* s) {
  const std::uint32_t users = part.task.of.shape.users, found = all.found;
  cta.each(found * (found + 1) / 2 * kTileLanes, [&](std::uint32_t i) {
    const std::uint32_t lane = i % kTileLanes, place = i / kTileLanes;
    std::uint32_t row = 0;
    while ((row + 1) * (row + 2) / 2 <= place) ++row;
    const std::uint32_t column = place - row * (row + 1) / 2;
    Complex sum{0, 0};
    for (std::uint32_t user = 0; user < users; ++user)
      simt::multiply_add(sum, part.channel(all.antenna[row], user, lane),
                         part.weight(all.antenna[column], user, lane));
    all.matrix[place][lane] = {(row == column ? 1.0F : 0.0F) - sum.re, -sum.im};
  });
  cta.each(found * kTileLanes, [&](std::uint32_t i) {
    const std::uint32_t lane = i % kTileLanes, row = i / kTileLanes;
    Complex sum{0, 0};
    for (std::uint32_t user = 0; user < users; ++user)
      simt::multiply_add(sum, part.channel(all.antenna[row], user, lane),
                         s[user * kTileLanes + lane]);
    all.expected[row][lane] = sum;
  });
}

/// L·D·Lᴴ, and G = L⁻¹ in L's place.
CARILLON_GPU inline void factor(LeaveOutShared& all, std::uint32_t lane) {
  for (std::uint32_t column = 0; column < all.found; ++column)
    for (std::uint32_t row = column; row < all.found; ++row) {
      Complex sum = all.at(row, column, lane);
      for (std::uint32_t i = 0; i < column; ++i) {
        const Complex of_column = -all.at(i, i, lane).re * simt::conj(all.at(column, i, lane));
        simt::multiply_add(sum, all.at(row, i, lane), of_column);
      }
      all.at(row, column, lane) = row == column ? Complex{std::fmax(sum.re, kLeastLeft), 0}
                                                : 1 / all.at(column, column, lane).re * sum;
    }
  for (std::uint32_t row = 0; row < all.found; ++row)
    for (std::uint32_t column = 0; column < row; ++column) {
      Complex sum = all.at(row, column, lane);
      for (std::uint32_t i = column + 1; i < row; ++i)
        simt::multiply_add(sum, all.at(row, i, lane), all.at(i, column, lane));
      all.at(row, column, lane) = -1.0F * sum;
    }
}

/// ŷ = Gᴴ·D⁻¹·G·(Hm·s).
CARILLON_GPU inline void solve(LeaveOutShared& all, std::uint32_t lane) {
  for (std::uint32_t row = all.found; row-- > 0;) {
    Complex sum = all.expected[row][lane];
    for (std::uint32_t i = 0; i < row; ++i)
      simt::multiply_add(sum, all.at(row, i, lane), all.expected[i][lane]);
    all.expected[row][lane] = 1 / all.at(row, row, lane).re * sum;
  }
  for (std::uint32_t row = 0; row < all.found; ++row) {
    Complex sum = all.expected[row][lane];
    for (std::uint32_t i = row + 1; i < all.found; ++i)
      simt::multiply_add(sum, simt::conj(all.at(i, row, lane)), all.expected[i][lane]);
    all.expected[row][lane] = sum;
  }
}

/// What noise·P(k, k) grows by, over the noise.
CARILLON_GPU inline float growth(const LeaveOutPart& part, LeaveOutShared& all, std::uint32_t user,
                                 std::uint32_t lane) {
  float growth = 0;
  for (std::uint32_t row = 0; row < all.found; ++row) {
    Complex sum = simt::conj(part.weight(all.antenna[row], user, lane));
    for (std::uint32_t i = 0; i < row; ++i)
      simt::multiply_add(sum, all.at(row, i, lane),
                         simt::conj(part.weight(all.antenna[i], user, lane)));
    growth += simt::norm(sum) / all.at(row, row, lane).re;
  }
  return growth;
}

CARILLON_GPU inline Alteration altered(const LeaveOutPart& part, LeaveOutShared& all,
                                       std::uint32_t user, std::uint32_t lane) {
  const float gain = part.gain(user, lane);
  const float after =
      gain * part.noise(user, lane) + *part.task.mean_noise * growth(part, all, user, lane);
  const bool biased = part.task.detector == Detector::Mmse;
  const float left = biased ? std::fmax(1 - after, 1 / kPostNoiseCeiling) : 1;
  return {gain / left, std::fmin(after / left + part.residual(user), kPostNoiseCeiling)};
}

/// A matched filter without the antennas: more of everything.
CARILLON_GPU inline Alteration altered_conjugate(const LeaveOutPart& part,
                                                 const LeaveOutShared& all, std::uint32_t user,
                                                 std::uint32_t lane) {
  float left = 1;
  for (std::uint32_t i = 0; i < all.found; ++i) {
    const std::uint32_t antenna = all.antenna[i];
    left -= (part.channel(antenna, user, lane) * part.weight(antenna, user, lane)).re;
  }
  const float times = 1 / std::fmax(left, kLeastLeft);
  return {times,
          std::fmin(times * part.noise(user, lane) + part.residual(user), kPostNoiseCeiling)};
}

/// Grid: tiles, symbols.
template <typename Cta>
CARILLON_GPU void leave_out_block(Cta& cta, const LeaveOutTask& task) {
  const LeaveOutPart part{task, cta.x(), cta.y()};
  LeaveOutShared& all = *cta.template shared<LeaveOutShared>();
  Complex* const s = cta.template shared<Complex>(sizeof(LeaveOutShared));
  count_missing(cta, part, all);
  const std::uint32_t users = task.of.shape.users, found = all.found;
  if (found == 0) return;
  const auto alter = [&](auto&& how) {
    cta.each(users * kTileLanes, [&](std::uint32_t i) {
      part.alteration(i / kTileLanes, i % kTileLanes) = how(i / kTileLanes, i % kTileLanes);
    });
  };
  if (found > kMostLeftOut || all.left < users)
    return alter([](std::uint32_t, std::uint32_t) { return Alteration{0, kPostNoiseCeiling}; });
  list_missing(cta, part, all);
  if (task.detector == Detector::Conjugate)
    return alter([&](std::uint32_t user, std::uint32_t lane) {
      return altered_conjugate(part, all, user, lane);
    });
  combine_others(cta, part, s);
  meet_channels(cta, part, all, s);
  cta.each(kTileLanes, [&](std::uint32_t lane) {
    factor(all, lane);
    solve(all, lane);
  });
  cta.each(found * kTileLanes, [&](std::uint32_t i) {
    const std::uint32_t row = i / kTileLanes, lane = i % kTileLanes;
    part.expect(all.antenna[row], lane, all.expected[row][lane]);
  });
  alter([&](std::uint32_t user, std::uint32_t lane) { return altered(part, all, user, lane); });
}

}  // namespace carillon::phy::cuda
