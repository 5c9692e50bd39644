// What the tests of the antenna-array stages share: random tiles, complex matrices in double
// precision with the plainest of algorithms, and the reference vectors.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "phy/zeroforce/zeroforce.hpp"

namespace carillon::phy::testing {

using Value = std::complex<double>;
using Tiles = AlignedArray<Tile>;

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

inline std::size_t block_of(ArrayShape shape) {
  return std::size_t{shape.users} * shape.antenna_stride;
}

inline Value get(const Tile& tile, std::uint32_t lane) { return {tile.re[lane], tile.im[lane]}; }
inline void put(Tile& tile, std::uint32_t lane, Value v) {
  tile.re[lane] = static_cast<float>(v.real());
  tile.im[lane] = static_cast<float>(v.imag());
}

inline Tiles filled(std::size_t count, float value) {
  Tiles tiles(count);
  for (Tile& tile : tiles) {
    std::fill(std::begin(tile.re), std::end(tile.re), value);
    std::fill(std::begin(tile.im), std::end(tile.im), value);
  }
  return tiles;
}

/// Circular Gaussian values of unit power in all lanes.
inline Tiles random_tiles(std::size_t count, unsigned seed) {
  Tiles tiles(count);
  std::mt19937 generator(seed);
  std::normal_distribution<double> part(0, std::sqrt(0.5));
  for (Tile& tile : tiles)
    for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
      put(tile, lane, {part(generator), part(generator)});
  return tiles;
}

/// A random block whose padding is not a number: reading it would show in every result.
inline Tiles random_block(ArrayShape shape, unsigned seed) {
  Tiles tiles = random_tiles(block_of(shape), seed);
  const Tiles nan = filled(1, kNan);
  for (std::size_t i = 0; i < tiles.size(); ++i)
    if (i % shape.antenna_stride >= shape.antennas) tiles[i] = nan[0];
  return tiles;
}

struct Matrix {
  Matrix(std::size_t rows, std::size_t columns)
      : rows(rows), columns(columns), values(rows * columns) {}
  Value& operator()(std::size_t i, std::size_t j) { return values[i * columns + j]; }
  const Value& operator()(std::size_t i, std::size_t j) const { return values[i * columns + j]; }

  std::size_t rows, columns;
  std::vector<Value> values;
};

/// [users][antennas] of a block as users×antennas.
inline Matrix rows_of(ArrayShape shape, const Tile* block, std::uint32_t lane) {
  Matrix m(shape.users, shape.antennas);
  for (std::uint32_t k = 0; k < shape.users; ++k)
    for (std::uint32_t a = 0; a < shape.antennas; ++a)
      m(k, a) = get(block[k * shape.antenna_stride + a], lane);
  return m;
}

inline Matrix conjugate_transpose(const Matrix& m) {
  Matrix result(m.columns, m.rows);
  for (std::size_t i = 0; i < m.rows; ++i)
    for (std::size_t j = 0; j < m.columns; ++j) result(j, i) = std::conj(m(i, j));
  return result;
}

inline Matrix transpose(const Matrix& m) {
  Matrix result(m.columns, m.rows);
  for (std::size_t i = 0; i < m.rows; ++i)
    for (std::size_t j = 0; j < m.columns; ++j) result(j, i) = m(i, j);
  return result;
}

inline Matrix operator*(const Matrix& a, const Matrix& b) {
  Matrix result(a.rows, b.columns);
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t n = 0; n < a.columns; ++n)
      for (std::size_t j = 0; j < b.columns; ++j) result(i, j) += a(i, n) * b(n, j);
  return result;
}

/// Gauss-Jordan with row pivoting.
inline Matrix inverse(Matrix a) {
  const std::size_t n = a.rows;
  Matrix result(n, n);
  for (std::size_t i = 0; i < n; ++i) result(i, i) = 1;
  for (std::size_t c = 0; c < n; ++c) {
    std::size_t best = c;
    for (std::size_t r = c; r < n; ++r)
      if (std::abs(a(r, c)) > std::abs(a(best, c))) best = r;
    for (std::size_t j = 0; j < n; ++j) {
      std::swap(a(c, j), a(best, j));
      std::swap(result(c, j), result(best, j));
    }
    const Value pivot = a(c, c);
    for (std::size_t j = 0; j < n; ++j) {
      a(c, j) /= pivot;
      result(c, j) /= pivot;
    }
    for (std::size_t r = 0; r < n; ++r) {
      if (r == c) continue;
      const Value factor = a(r, c);
      for (std::size_t j = 0; j < n; ++j) {
        a(r, j) -= factor * a(c, j);
        result(r, j) -= factor * result(c, j);
      }
    }
  }
  return result;
}

/// Frobenius norm.
inline double norm(const Matrix& m) {
  double sum = 0;
  for (const Value& v : m.values) sum += std::norm(v);
  return std::sqrt(sum);
}

/// One case of mimo.bin (tests/data/README.md): n subcarriers.
struct Vectors {
  std::uint32_t antennas, users, subcarriers;
  float noise;
  std::vector<Value> channel, received;  // [n][M][K], [n][M]
  std::vector<Value> zf, mmse;           // [n][K]
  std::vector<double> zf_noise, mmse_noise;
};

inline std::vector<Vectors> reference_vectors() {
  std::ifstream file(CARILLON_TEST_DATA "/mimo.bin", std::ios::binary);
  const auto number = [&] {
    float x = kNan;
    file.read(reinterpret_cast<char*>(&x), sizeof x);
    return x;
  };
  const auto reals = [&](std::size_t count) {
    std::vector<double> list(count);
    for (double& x : list) x = number();
    return list;
  };
  const auto complexes = [&](std::size_t count) {
    std::vector<Value> list(count);
    for (Value& x : list) {
      const float re = number();
      x = {re, number()};
    }
    return list;
  };
  std::vector<Vectors> all;
  while (file.peek() != std::ifstream::traits_type::eof()) {
    Vectors v;
    v.antennas = static_cast<std::uint32_t>(number());
    v.users = static_cast<std::uint32_t>(number());
    v.subcarriers = static_cast<std::uint32_t>(number());
    v.noise = number();
    const std::size_t n = v.subcarriers;
    v.channel = complexes(n * v.antennas * v.users);
    v.received = complexes(n * v.antennas);
    v.zf = complexes(n * v.users);
    v.zf_noise = reals(n * v.users);
    v.mmse = complexes(n * v.users);
    v.mmse_noise = reals(n * v.users);
    all.push_back(std::move(v));
  }
  return all;
}

inline ArrayShape shape_of(const Vectors& v) { return {v.antennas, v.users, v.antennas + 1}; }

/// [user][antenna] tiles, one subcarrier a lane.
inline Tiles channel_tiles(const Vectors& v) {
  const ArrayShape shape = shape_of(v);
  Tiles csi(block_of(shape));
  for (std::uint32_t n = 0; n < v.subcarriers; ++n)
    for (std::uint32_t a = 0; a < v.antennas; ++a)
      for (std::uint32_t k = 0; k < v.users; ++k)
        put(csi[k * shape.antenna_stride + a], n, v.channel[(n * v.antennas + a) * v.users + k]);
  return csi;
}

inline Tiles received_tiles(const Vectors& v) {
  Tiles y(v.antennas);
  for (std::uint32_t n = 0; n < v.subcarriers; ++n)
    for (std::uint32_t a = 0; a < v.antennas; ++a) put(y[a], n, v.received[n * v.antennas + a]);
  return y;
}

}  // namespace carillon::phy::testing
