// What the tests of combiners on a GPU share: channels, and tasks with all the room they need.
#pragma once

#include <algorithm>
#include <vector>

#include "phy/zeroforce/array.hpp"
#include "phy/zeroforce/cuda.inl"
#include "support/place.hpp"

namespace carillon::phy::cuda {

namespace array = carillon::phy::testing;
using array::Tiles;
using test::Place;

template <typename T>
std::vector<T> copy_of(const AlignedArray<T>& from) {
  return {from.begin(), from.end()};
}

/// Some tiles of csi.
struct Channels {
  ArrayShape shape;
  std::uint32_t tiles;
  Tiles csi;

  std::size_t block() const { return array::block_of(shape); }
  const Tile* at(std::uint32_t tile) const { return csi.data() + tile * block(); }
};

inline Channels random_channels(ArrayShape shape, std::uint32_t tiles, unsigned seed) {
  const ArrayShape all{shape.antennas, shape.users * tiles, shape.antenna_stride};
  return {shape, tiles, array::random_block(all, seed)};
}

inline CombineTask task_of(Place& place, Detector detector, float noise, const Channels& c,
                           std::uint32_t slices) {
  const std::size_t lanes = c.tiles * kTileLanes;
  CombineTask task{};
  task.detector = detector;
  task.antennas = c.shape.antennas;
  task.users = c.shape.users;
  task.tiles = c.tiles;
  task.csi = place.put(copy_of(c.csi));
  task.w = place.put(copy_of(array::filled(c.csi.size(), array::kNan)));
  task.tile_stride = c.block();
  task.user_stride = c.shape.antenna_stride;
  // Their mean times the gain is `noise`.
  std::vector<float> measured(2 * c.shape.antennas, noise);
  std::fill_n(measured.begin(), c.shape.antennas, 0.0F);
  task.noise = place.put(measured);
  task.pilots = 2;
  task.noise_gain = 2;
  task.slices = slices;
  task.squares = place.room<SquareBlock>(lanes * slices * triangle(user_blocks(c.shape.users)));
  task.gains = place.room<float>(lanes * c.shape.users);
  task.mean_noise = place.room<float>(1);
  task.takes_part = place.put(std::vector<std::uint8_t>(c.shape.antennas, 1));
  task.variances = place.room<float>(lanes * c.shape.users);
  task.flags = place.room<std::uint32_t>(lanes);
  return task;
}

}  // namespace carillon::phy::cuda
