// Antenna arrays to measure with, and tiles of noise to fill them.
#pragma once

#include <random>
#include <string>

#include "base/aligned.hpp"
#include "phy/tile.hpp"
#include "phy/zeroforce/array_shape.hpp"

namespace carillon::bench {

inline constexpr phy::ArrayShape kShapes[] = {
    {8, 8, 9}, {16, 8, 17}, {64, 16, 65}, {128, 32, 129}, {256, 128, 257}};

inline std::string name_of(phy::ArrayShape shape) {
  return std::to_string(shape.antennas) + "x" + std::to_string(shape.users);
}

inline AlignedArray<phy::Tile> random_tiles(std::size_t count) {
  AlignedArray<phy::Tile> tiles(count);
  std::minstd_rand random(1);
  const auto uniform = [&] { return static_cast<float>(random() % 2000) / 1000 - 1; };
  for (auto& tile : tiles)
    for (std::uint32_t i = 0; i < phy::kTileLanes; ++i) {
      tile.re[i] = uniform();
      tile.im[i] = uniform();
    }
  return tiles;
}

}  // namespace carillon::bench
