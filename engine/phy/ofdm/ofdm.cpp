#include "phy/ofdm/ofdm.hpp"

#include <bit>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>

namespace carillon::phy {
namespace avx2 {
extern const OfdmKernels ofdm_kernels;
}
namespace avx512 {
extern const OfdmKernels ofdm_kernels;
}
namespace avx512fp16 {
extern const OfdmKernels ofdm_kernels;
}

const OfdmKernels& ofdm_kernels(Isa isa) {
  switch (isa) {
    case Isa::Amx:
    case Isa::Avx512Fp16: return avx512fp16::ofdm_kernels;
    case Isa::Avx512: return avx512::ofdm_kernels;
    case Isa::Avx2: break;
  }
  return avx2::ofdm_kernels;
}

namespace {

void check(OfdmShape shape) {
  const std::uint32_t size = shape.fft_size, most = shape.dc_hole ? size - 1 : size;
  if (!std::has_single_bit(size) || size < 128 || size > 4096)
    throw std::invalid_argument("fft_size " + std::to_string(size) +
                                " is not a power of two from 128 to 4096");
  if (shape.subcarriers < 1 || shape.subcarriers > most)
    throw std::invalid_argument(
        "subcarriers " + std::to_string(shape.subcarriers) + " is not within 1 to " +
        std::to_string(most) +
        (shape.dc_hole ? " (fft_size - 1: the bin at DC stays empty)" : " (fft_size)"));
}

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
  std::size_t count = 0;
  // As few passes as radices 4 and 8 allow; 16 would leave too few registers to gain from.
  // eights.
  const auto bits = static_cast<std::uint32_t>(std::countr_zero(rows));
  const std::uint32_t fours = (3 - bits % 3) % 3, eights = (bits - 2 * fours) / 3;
  for (std::uint32_t i = 0; i < fours; ++i) radices[count++] = 4;
  for (std::uint32_t i = 0; i < eights; ++i) radices[count++] = 8;
  return radices;
}

FftTables make_tables(const OfdmShape& shape, std::uint32_t lanes) {
  const std::uint32_t size = shape.fft_size, rows = size / lanes, shift = shape.subcarriers / 2;
  FftTables tables;
  tables.lanes = lanes;
  tables.rows = rows;
  tables.rotation = shift % lanes;
  tables.radices = factor(rows);

  // Samples are converted as int16 << 16, where 2^31 is 1.0.
  const double scale = std::ldexp(1 / std::sqrt(size), -31);
  tables.lane_twiddles = AlignedArray<float>(2 * std::size_t{size});
  for (std::uint32_t row = 0; row < rows; ++row)
    for (std::uint32_t lane = 0; lane < lanes; ++lane)
      put_root(&tables.lane_twiddles[((row / lanes * lanes + lane) * 2) * lanes + row % lanes],
               lanes, std::int64_t{row} * (std::int64_t{lane} - shift), size, scale);

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

}  // namespace

OfdmPlan::OfdmPlan(OfdmShape shape) : shape_(shape) {
  check(shape);
  const std::uint32_t band = shape.subcarriers + (shape.dc_hole ? 1 : 0);
  const std::uint32_t unused = shape.fft_size - band, margin = (unused + 7) / 8;
  noise_first_ = band + margin;
  noise_bins_ = unused > 2 * margin ? unused - 2 * margin : 0;
  eight_ = make_tables(shape, 8);
  if (shape.fft_size >= 256) sixteen_ = make_tables(shape, 16);
}

}  // namespace carillon::phy
