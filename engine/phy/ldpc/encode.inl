// Encoding, TS 38.212 5.3.2: H·c = 0 solved row by row. A rotation of Z bits is two loads and two
// shifts.

namespace {

// The core rows' sums over the information columns give the four core parity columns: adding all
// four rows leaves the first of them alone, rotated by the one of its three shifts that does not
// cancel.
inline void encode_core(const BaseGraph& graph, std::uint32_t z, const BitPlace* places,
                        BitColumn* columns) {
  Bits sum[kCoreRows], all = {};
  std::uint32_t next[kCoreRows], shift = 0;
  for (std::uint32_t r = 0; r < kCoreRows; ++r) {
    std::uint32_t e = graph.row_begin[r];
    while (graph.column[e] < graph.info_columns) ++e;
    sum[r] = sum_columns<false>(columns, places + graph.row_begin[r], places + e);
    all = all ^ sum[r];
    next[r] = e;
    if (graph.column[e] == graph.info_columns) shift ^= graph.shift[e];
  }
  BitColumn& first = columns[graph.info_columns];
  store_column(first, all, z);
  store_column(first, rotated<false>(first, (z - shift) % z), z);
  for (std::uint32_t r = 0; r + 1 < kCoreRows; ++r) {
    const Bits rest =
        sum_columns<false>(columns, places + next[r], places + graph.row_begin[r + 1] - 1);
    store_column(columns[graph.info_columns + r + 1], sum[r] ^ rest, z);
  }
}

void encode(LdpcCode code, const std::uint8_t* info, std::uint8_t* codeword,
            LdpcScratch& scratch) noexcept {
  auto& work = *reinterpret_cast<LdpcWorkspace*>(scratch.data());
  const BaseGraph graph = base_graph(code);
  const std::uint32_t z = code.lifting, core = graph.info_columns + kCoreRows;
  ColumnWriter out(codeword, code.length(), z);

  const BitPlace* const places = place_edges(code, 1, work);
  reverse_bits(info, work.info, (code.info_bits() + 7) / 8);
  for (std::uint32_t c = 0; c < graph.info_columns; ++c) {
    const Bits column = read_column(work.info, c, z);
    store_column(work.bits[c], column, z);
    if (c >= 2) out.put(column);
  }
  encode_core(graph, z, places, work.bits);
  for (std::uint32_t c = graph.info_columns; c < core; ++c) out.put(load_bits(work.bits[c]));
  for (std::uint32_t r = kCoreRows; r < graph.rows; ++r)
    out.put(sum_columns<false>(work.bits, places + graph.row_begin[r],
                               places + graph.row_begin[r + 1] - 1));
  out.finish();
}

}  // namespace
