// Who of a decoder's thread block does what, and where its shared memory has it.
//
// A row's checks are words of four lanes, each the business of a team: of one thread, or of two
// that divide the row's edges. As many teams as a group of code blocks has words are a squad. A
// thread block has several squads where a step has several rows: rows of the base graph that have
// no column in common, so that none reads what another writes.
#pragma once

#include "phy/ldpc/cuda.hpp"
#include "phy/ldpc/cuda_row.inl"

namespace carillon::phy::cuda {

inline constexpr std::uint32_t kSquadThreads = 192, kDecodeThreads = 384;  // at most

/// What a thread keeps: its word's four lanes.
struct DecodeThread {
  const std::int8_t* soft[4];  // of each lane, at place 0 of column 2
  std::uint32_t group, member, squad;
  std::uint32_t record;      // its place among those of its squad
  std::uint32_t word, base;  // of the column; bytes from the first column
  std::uint32_t reach;       // to compare with DecodeEdge's limit, whatever its turn
  std::uint32_t core_failed, extension_failed;  // checks of each lane in this iteration
  std::uint32_t active;
};

/// A code block in shared memory. When peeling, `ripe` are those that are peeled, `running` says
/// whether the last round found out a bit, `any` how many; `broken` counts contradictions, and
/// `core_failed` how many soft bits are weak, and this and `extension_failed` what is unknown of
/// information and core parity in the end.
struct DecodeState {
  std::uint32_t running, ripe, core_failed, extension_failed, broken, any;
};

/// Of all threads, after columns and messages.
struct DecodeShared {
  std::uint32_t running, ripe, steps;  // counts
  std::uint32_t received[kMaxRows];    // whether anything was, of a row's own column
  std::uint32_t row[kMaxRows];         // that are worked on, after the core's
  std::uint32_t step[kMaxRows + 1];    // among them: where those begin that need no barrier between
};

CARILLON_BOTH constexpr std::uint32_t column_words(const DecodeShape& shape) {
  return shape.groups * shape.words;
}
CARILLON_BOTH constexpr std::uint32_t decode_columns_bytes(const DecodeTask& task) {
  return (task.info_columns + kCoreRows) * column_words(task.shape) * 4;
}
CARILLON_BOTH constexpr std::uint32_t decode_shared_at(const DecodeTask& task) {
  const std::uint32_t sums =
      task.crc.width == 0 ? 0 : task.shape.groups * task.shape.blocks * task.crc.chunks;
  return decode_columns_bytes(task) + (task.records * task.shape.squad_threads + sums) * 4;
}
CARILLON_BOTH constexpr std::uint32_t decode_edges_at(const DecodeTask& task) {
  const std::uint32_t states =
      task.shape.groups * task.shape.blocks * static_cast<std::uint32_t>(sizeof(DecodeState));
  return simt::round_up(
      decode_shared_at(task) + static_cast<std::uint32_t>(sizeof(DecodeShared)) + states,
      alignof(DecodeEdge));
}
CARILLON_BOTH constexpr std::uint32_t decode_shared_bytes(const DecodeTask& task) {
  // Threads of a team read different edges at once, which the constant bank takes one by one; and
  // past a row's last edge, where these are not a multiple of theirs.
  const std::uint32_t edges = task.shape.team == 1 ? 0 : task.edge_count + task.shape.team;
  return decode_edges_at(task) + edges * static_cast<std::uint32_t>(sizeof(DecodeEdge));
}

/// LLRs of a block.
CARILLON_BOTH constexpr std::uint32_t code_length(const DecodeTask& task) {
  return (task.base_graph == 1 ? 66U : 50U) * task.lifting;
}

/// What a thread knows of a row between reading its edges and writing them: of those edges that are
/// its own the magnitude less the sign, the sign, and where the word was.
template <std::uint32_t kEdges>
struct RowPart {
  RowChecks common;
  std::uint32_t x[kEdges], sign[kEdges];
  std::uint32_t at[kEdges], turn[kEdges];
  std::uint32_t last;  // of the row's own column, as received
};

}  // namespace carillon::phy::cuda
