// What of LDPC on a GPU is the host's: how blocks share threads, and where edges lie.
#include <algorithm>

#include "phy/ldpc/cuda.hpp"
#include "phy/ldpc/cuda.inl"

namespace carillon::phy::cuda {
namespace {

// Two thread blocks on each SM of the largest device come before full warps; then thread blocks
// that leave few lanes of their warps idle.
constexpr std::uint32_t kWorthwhileBlocks = 264;

double filled(std::uint32_t threads) {
  return static_cast<double>(threads) / simt::round_up(threads, simt::kWarp);
}

DecodeShape shape_for(std::uint32_t z, std::uint32_t count, std::uint32_t most_threads) {
  DecodeShape shape{};
  shape.blocks = z % 4 == 0 ? 1 : 4;
  shape.words = z / (shape.blocks == 1 ? 4 : 1);
  const std::uint32_t all = simt::divide_up(count, shape.blocks);
  const std::uint32_t least = std::max(1U, simt::kWarp / shape.words);
  const std::uint32_t most = std::min(all, std::max(least, all / kWorthwhileBlocks));
  shape.groups = std::min(least, most);
  for (std::uint32_t g = shape.groups; g <= most && g * shape.words <= most_threads; ++g)
    if (filled(g * shape.words) > filled(shape.groups * shape.words) + 0.02) shape.groups = g;
  shape.threads = simt::round_up(shape.groups * shape.words, simt::kWarp);
  return shape;
}

DecodeTask make_task(LdpcCode code, const DecodeOptions& options, std::uint32_t count,
                     std::uint32_t most_threads) {
  const BaseGraph graph = base_graph(code);
  DecodeTask task{};
  task.count = count;
  task.base_graph = code.base_graph;
  task.early_stop = options.early_stop;
  task.try_crc = options.crc != Crc::None;
  task.lifting = code.lifting;
  task.info_columns = static_cast<std::uint16_t>(graph.info_columns);
  const std::uint32_t columns =
      2 + simt::divide_up(std::min(options.sent, code.length()), code.lifting);
  task.row_end = std::max(graph.info_columns + kCoreRows, columns) - graph.info_columns;
  task.known = code.info_bits() - std::min(options.fillers, code.info_bits());
  task.max_iterations = std::max(options.max_iterations, 1U);
  task.tolerated = code.lifting / 8U;
  task.shape = shape_for(code.lifting, count, most_threads);
  task.info_stride = simt::divide_up(code.info_bits(), 8);
  task.soft_stride = code.length();
  if (options.crc_span > crc_bits(options.crc) && options.crc != Crc::None)
    task.crc =
        crc_chunks(options.crc, options.crc_span,
                   std::max(1U, task.shape.threads / (task.shape.groups * task.shape.blocks)));

  const DecodeShape& shape = task.shape;
  for (std::uint32_t r = 0; r < task.row_end; ++r) {
    DecodeRow& row = task.rows[r];
    row.first = graph.row_begin[r];
    row.record = static_cast<std::uint16_t>(task.records);
    row.degree =
        static_cast<std::uint16_t>(graph.row_begin[r + 1] - row.first - (r < kCoreRows ? 0 : 1));
    task.records += record_words(row.degree);
    for (std::uint32_t e = row.first; e < row.first + row.degree; ++e) {
      const std::uint32_t turn = graph.shift[e] / shape.words, rest = graph.shift[e] % shape.words;
      task.edges[e] = {(graph.column[e] * column_words(shape) + rest) * 4,
                       (shape.words - rest) << 16 | 8 * turn};
    }
  }
  return task;
}

}  // namespace

DecodeTask decode_task(LdpcCode code, const DecodeOptions& options, std::uint32_t count) {
  for (std::uint32_t most = kDecodeThreads;; most -= simt::kWarp) {
    const DecodeTask task = make_task(code, options, count, most);
    if (decode_shared_bytes(task) <= simt::kMostSharedBytes || most == simt::kWarp) return task;
  }
}

EncodeTable encode_table(LdpcCode code, std::uint32_t sent) {
  const BaseGraph graph = base_graph(code);
  EncodeTable table{};
  table.lifting = code.lifting;
  table.info_columns = static_cast<std::uint16_t>(graph.info_columns);
  const std::uint32_t columns = 2 + simt::divide_up(std::min(sent, code.length()), code.lifting);
  table.row_end = static_cast<std::uint16_t>(std::max(graph.info_columns + kCoreRows, columns) -
                                             graph.info_columns);
  std::copy_n(graph.row_begin, graph.rows + 1, table.row_begin);
  for (std::uint32_t e = 0; e < graph.row_begin[graph.rows]; ++e)
    table.edges[e] = {graph.column[e], graph.shift[e]};
  // Adding the core rows leaves that of the first parity column's three shifts which does not
  // cancel, as in encode.inl.
  for (std::uint32_t r = 0; r < kCoreRows; ++r) {
    std::uint16_t& e = table.core_parity[r];
    for (e = graph.row_begin[r]; graph.column[e] < graph.info_columns;) ++e;
    if (graph.column[e] == graph.info_columns) table.first_shift ^= graph.shift[e];
  }
  return table;
}

simt::Launch launch_of(const DecodeTask& task) {
  return {.x = simt::divide_up(task.count, task.shape.groups * task.shape.blocks),
          .threads = task.shape.threads,
          .shared_bytes = decode_shared_bytes(task)};
}

}  // namespace carillon::phy::cuda
