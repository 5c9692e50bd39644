#include "base/fft.hpp"

#include <bit>
#include <cmath>
#include <numbers>

namespace carillon {
namespace {

// exp(-j2π·exponent/period)
void put_root(float* to, std::size_t distance, std::int64_t exponent, std::int64_t period,
              double scale = 1) {
  const auto turns = static_cast<double>(exponent % period) / static_cast<double>(period);
  const double angle = -2 * std::numbers::pi * turns;
  to[0] = static_cast<float>(scale * std::cos(angle));
  to[distance] = static_cast<float>(scale * std::sin(angle));
}

std::array<std::uint8_t, 4> factor(std::uint32_t rows) {
  std::array<std::uint8_t, 4> radices{};
  // As few passes as radices 4 and 8 allow; 16 would leave too few registers to gain from.
  const auto bits = static_cast<std::uint32_t>(std::countr_zero(rows));
  const std::uint32_t fours = (3 - bits % 3) % 3, eights = (bits - 2 * fours) / 3;
  for (std::uint32_t i = 0; i < radices.size(); ++i)
    radices[i] = i < fours ? 4 : i < fours + eights ? 8 : 0;
  return radices;
}

}  // namespace

FftTables row_tables(std::uint32_t rows) {
  FftTables tables;
  tables.rows = rows;
  tables.radices = factor(rows);
  tables.frequency_at.assign(rows, 0);
  tables.place_of.assign(rows, 0);
  std::uint32_t length = rows, step = 1;
  for (std::size_t pass = 0; tables.radices[pass] != 0; ++pass) {
    const std::uint32_t radix = tables.radices[pass], distance = length / radix;
    tables.twiddles[pass] = AlignedArray<float>(std::size_t{2} * distance * (radix - 1));
    for (std::uint32_t p = 0; p < distance; ++p)
      for (std::uint32_t j = 1; j < radix; ++j)
        put_root(&tables.twiddles[pass][2 * (p * (radix - 1) + j - 1)], 1, std::int64_t{p} * j,
                 length);
    for (std::uint32_t place = 0; place < rows; ++place)
      tables.frequency_at[place] =
          static_cast<std::uint16_t>(tables.frequency_at[place] + place / distance % radix * step);
    length = distance;
    step *= radix;
  }
  for (std::uint32_t place = 0; place < rows; ++place)
    tables.place_of[tables.frequency_at[place]] = static_cast<std::uint16_t>(place);
  return tables;
}

FftTables fft_tables(std::uint32_t size, std::uint32_t lanes, std::uint32_t shift, double scale) {
  const std::uint32_t rows = size / lanes;
  FftTables tables = row_tables(rows);
  tables.lanes = lanes;
  tables.rotation = shift % lanes;
  tables.lane_twiddles = AlignedArray<float>(2 * std::size_t{size});
  for (std::uint32_t row = 0; row < rows; ++row)
    for (std::uint32_t lane = 0; lane < lanes; ++lane)
      put_root(&tables.lane_twiddles[((row / lanes * lanes + lane) * 2) * lanes + row % lanes],
               lanes, std::int64_t{row} * (std::int64_t{lane} - shift), size, scale);
  return tables;
}

}  // namespace carillon
