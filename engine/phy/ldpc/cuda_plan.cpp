// What of LDPC on a GPU is the host's: how blocks share threads, and where edges lie.
#include <algorithm>

#include "phy/ldpc/cuda.hpp"
#include "phy/ldpc/cuda.inl"

namespace carillon::phy::cuda {
namespace {

// Two thread blocks on each SM of the largest device come before full warps; then thread blocks
// that leave few lanes of their warps idle.
constexpr std::uint32_t kWorthwhileBlocks = 264;
// Warps that such a device has room for, three in each of 528 sub-partitions by their registers.
// Wider forms pay as long as all of theirs run at once, as measured
// (docs/internals/gpu-decoder.md).
constexpr std::uint32_t kResidentWarps = 1584;

double filled(std::uint32_t threads) {
  return static_cast<double>(threads) / simt::round_up(threads, simt::kWarp);
}

// `most_threads` of a squad.
DecodeShape shape_for(std::uint32_t z, std::uint32_t count, DecodeForm form,
                      std::uint32_t most_threads) {
  DecodeShape shape{};
  shape.blocks = z % 4 == 0 ? 1 : 4;
  shape.words = z / (shape.blocks == 1 ? 4 : 1);
  shape.team = form.team;
  shape.squads = form.squads;
  const std::uint32_t each = shape.words * shape.team;
  const std::uint32_t all = simt::divide_up(count, shape.blocks);
  const std::uint32_t least = std::max(1U, simt::kWarp / each);
  const std::uint32_t most = std::min(all, std::max(least, all / kWorthwhileBlocks));
  shape.groups = std::min(least, most);
  for (std::uint32_t g = shape.groups; g <= most && g * each <= most_threads; ++g)
    if (filled(g * each) > filled(shape.groups * each) + 0.02) shape.groups = g;
  shape.squad_threads = simt::round_up(shape.groups * each, simt::kWarp);
  shape.threads = shape.squad_threads * shape.squads;
  return shape;
}

std::uint32_t core_columns(const BaseGraph& graph, std::uint32_t row) {
  std::uint32_t columns = 0;
  for (std::uint32_t e = graph.row_begin[row]; e < graph.row_begin[row + 1]; ++e)
    if (graph.column[e] < graph.info_columns + kCoreRows) columns |= 1U << graph.column[e];
  return columns;
}

// A row joins the step before it unless they have a column in common. No order of rows that gives
// the same bits needs fewer steps (cuda_test.cpp).
void find_steps(const BaseGraph& graph, DecodeTask& task) {
  std::uint32_t taken = 0, step = 0;
  for (std::uint32_t r = 0; r < task.row_end; ++r) {
    const std::uint32_t columns = core_columns(graph, r);
    if ((taken & columns) != 0) {
      taken = 0;
      ++step;
    }
    taken |= columns;
    task.rows[r].step = static_cast<std::uint8_t>(step);
  }
}

void find_edges(const BaseGraph& graph, DecodeTask& task) {
  const DecodeShape& shape = task.shape;
  for (std::uint32_t r = 0; r < task.row_end; ++r) {
    DecodeRow& row = task.rows[r];
    row.first = graph.row_begin[r];
    row.record = static_cast<std::uint16_t>(task.records);
    row.degree =
        static_cast<std::uint8_t>(graph.row_begin[r + 1] - row.first - (r < kCoreRows ? 0 : 1));
    task.records += record_words(simt::divide_up(row.degree, shape.team));
    for (std::uint32_t e = row.first; e < row.first + row.degree; ++e) {
      const std::uint32_t turn = graph.shift[e] / shape.words, rest = graph.shift[e] % shape.words;
      task.edges[e] = {(graph.column[e] * column_words(shape) + rest) * 4,
                       (shape.words - rest) << 16 | 8 * turn};
    }
  }
  task.edge_count = graph.row_begin[task.row_end];
}

DecodeTask make_task(LdpcCode code, const DecodeOptions& options, std::uint32_t count,
                     DecodeForm form, std::uint32_t most_threads) {
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
  task.shape = shape_for(code.lifting, count, form, most_threads);
  task.info_stride = simt::divide_up(code.info_bits(), 8);
  task.soft_stride = code.length();
  if (options.crc_span > crc_bits(options.crc) && options.crc != Crc::None)
    task.crc =
        crc_chunks(options.crc, options.crc_span,
                   std::max(1U, task.shape.threads / (task.shape.groups * task.shape.blocks)));
  find_edges(graph, task);
  find_steps(graph, task);
  return task;
}

bool fits(const DecodeTask& task) {
  return task.shape.threads <= kDecodeThreads &&
         decode_shared_bytes(task) <= simt::kMostSharedBytes;
}

// Fewer code blocks in a thread block, then fewer threads for each, until it fits: one code block
// with a thread for each of its words does. Teams need memory of their own, squads do not.
DecodeTask largest_task(LdpcCode code, const DecodeOptions& options, std::uint32_t count,
                        DecodeForm form) {
  while (true) {
    DecodeTask task{};
    for (std::uint32_t most = kSquadThreads; most > 0; most -= simt::kWarp) {
      task = make_task(code, options, count, form, most);
      if (fits(task)) return task;
    }
    if (form.team > 1)
      form.team /= 2;
    else if (form.squads > 1)
      form.squads = 1;
    else
      return task;
  }
}

}  // namespace

DecodeTask decode_task(LdpcCode code, const DecodeOptions& options, std::uint32_t count,
                       DecodeForm form) {
  if (form.team != 0) return largest_task(code, options, count, form);
  DecodeTask best = largest_task(code, options, count, kDecodeForms[0]);
  for (const DecodeForm& wider : kDecodeForms) {
    const DecodeTask task = largest_task(code, options, count, wider);
    const simt::Launch launch = launch_of(task);
    if (launch.x * (launch.threads / simt::kWarp) <= kResidentWarps) best = task;
  }
  return best;
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
