// How samples lie in files and datagrams, by the names that SigMF has for it: cf32_le, ci16_le,
// cu8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dataflow/blocks/type.hpp"

namespace carillon::dataflow {

enum class NumberKind : std::uint8_t { Signed, Unsigned, Float };

/// Integers are fractions: the least is -1, and the middle of unsigned ones 0.
struct Format {
  Items items = Items::Complex;
  NumberKind kind = NumberKind::Float;
  std::uint8_t number_bytes = 4;  ///< 1, 2, 4, 8 of floats, or 3 of little-endian integers (WAV)
  bool is_big = false;            ///< big-endian

  std::size_t item_bytes() const { return number_bytes * floats_of(items); }
};

/// All that SigMF has.
const std::vector<std::string>& format_names();
/// Of one of these.
Format format_of(std::string_view name);
/// `datatype`, one of these names.
Parameter datatype_parameter();

/// `numbers`: two of a complex sample.
void decode(const Format& format, const std::byte* from, float* to, std::size_t numbers) noexcept;
/// Returns how many numbers the format cannot hold: they become the nearest that it can, and NaN
/// becomes 0.
std::uint64_t encode(const Format& format, const float* from, std::byte* to,
                     std::size_t numbers) noexcept;

}  // namespace carillon::dataflow
