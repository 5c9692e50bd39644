// Fourier transforms in vectors of numbers (base/simd/fft.inl): what they need to know.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/aligned.hpp"

namespace carillon {

/// A transform in vectors of `lanes` numbers; its rows' transform alone may be used as well.
struct FftTables {
  std::uint32_t lanes = 0;
  std::uint32_t rows = 0;                 ///< size / lanes
  std::uint32_t rotation = 0;             ///< frequency 0's distance above the first, modulo lanes
  std::array<std::uint8_t, 4> radices{};  ///< of the transform over rows; 0 ends the list
  AlignedArray<float> lane_twiddles;      ///< [rows / lanes][lane][re, im][row in block]
  std::array<AlignedArray<float>, 4> twiddles;  ///< per radix: [butterfly][1…radix-1]{re, im}
  std::vector<std::uint16_t> frequency_at;      ///< place in the row buffer → frequency
  std::vector<std::uint16_t> place_of;          ///< the inverse
};

/// Of a power of two from lanes² to 4096·lanes; the first frequency is that of bin -shift, and all
/// that comes out has been multiplied by `scale`.
FftTables fft_tables(std::uint32_t size, std::uint32_t lanes, std::uint32_t shift, double scale);

/// Without lanes' twiddles: for the transform over rows alone, a power of two from 4 to 4096.
FftTables row_tables(std::uint32_t rows);

}  // namespace carillon
