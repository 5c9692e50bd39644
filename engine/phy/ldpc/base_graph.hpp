// The base graphs of TS 38.212 tables 5.3.2-2 and 5.3.2-3.
#pragma once

#include <cstdint>

#include "phy/ldpc/ldpc.hpp"

namespace carillon::phy {

inline constexpr std::uint32_t kCoreRows = 4;  // rows that tie the four core parity columns
inline constexpr std::uint32_t kMaxRows = 46;
inline constexpr std::uint32_t kMaxColumns = 68;
inline constexpr std::uint32_t kMaxCoreColumns = 26;
inline constexpr std::uint32_t kMaxEdges = 316;
inline constexpr std::uint32_t kMaxDegree = 19;

/// A base graph lifted to one size. Edges are sorted by row, then column. Edge e says: check i of
/// its row contains bit (i + shift[e]) mod Z of column[e]. Every row but 3 ends in an edge of shift
/// 0 that solves it for a new column: info_columns + r + 1 in core rows 0, 1, 2, and
/// info_columns + r, which occurs nowhere else, from row 4 on.
struct BaseGraph {
  std::uint32_t rows;
  std::uint32_t info_columns;
  const std::uint16_t* row_begin;  // [rows + 1]
  const std::uint8_t* column;      // [edges]
  const std::uint16_t* shift;      // [edges], below Z
};

BaseGraph base_graph(LdpcCode code) noexcept;

}  // namespace carillon::phy
