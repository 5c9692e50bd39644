// The decoder: rows in the order of the table, messages computed by update_row.

namespace {

// Extension checks that may stay unsatisfied. Only such a check knows its own parity bit, so that
// the information is right even where the channel got that bit wrong and is surer of it than the
// messages, which are clipped, can ever be. Wrong information fails many more.
inline constexpr std::uint32_t kDoubtfulExtensions = 3;

class Decoder {
 public:
  Decoder(LdpcCode code, const std::int8_t* soft, const DecodeOptions& options, LdpcWorkspace& work)
      : graph_(base_graph(code)),
        z_(code.lifting),
        core_(graph_.info_columns + kCoreRows),
        known_(code.info_bits() - std::min(options.fillers, code.info_bits())),
        soft_(soft),
        options_(options),
        work_(work) {
    load_core(code);
    choose_rows(code);
  }

  DecodeResult run(std::uint8_t* info) {
    DecodeResult result;
    for (std::uint32_t i = 0; i < std::max(options_.max_iterations, 1U); ++i) {
      iterate(i == 0);
      result.iterations = static_cast<std::uint16_t>(i + 1);
      if (options_.early_stop && finished(result, info)) return result;
    }
    decide(info);
    judge(result, info);
    return result;
  }

 private:
  // Column c from the channel, filler places certain, its beginning repeated past its end.
  // Returns whether anything was received.
  bool load_column(std::uint32_t c, std::size_t length, std::int8_t* to) const {
    const std::size_t place = (std::size_t{c} - 2) * z_;  // c < 2 was never sent
    Signs received = 0;
    for (std::uint32_t i = 0; i < z_; i += kByteLanes) {
      Vb v = {};
      if (c >= 2) {
        if (place + i + kByteLanes <= length)
          v = load_bytes(soft_ + place + i);
        else
          std::memcpy(&v, soft_ + place + i, length - place - i);
        received |= static_cast<Signs>(nonzero(v) & low_mask(z_ - i));
      }
      store_bytes(to + i, larger_signed(v, broadcast_byte(-127)));
    }
    if (c < graph_.info_columns && (c + 1) * z_ > known_) {
      const std::uint32_t first = std::max(known_, c * z_) - c * z_;
      std::memset(to + first, 127, z_ - first);
    }
    for (std::uint32_t n = z_; n < kByteLanes; n *= 2) store_bytes(to + n, load_bytes(to));
    store_bytes(to + wrap_place(z_), load_bytes(to));
    return received != 0;
  }

  void load_core(LdpcCode code) {
    for (std::uint32_t c = 0; c < core_; ++c) {
      side_[c] = rotation_[c] = 0;
      load_column(c, code.length(), work_.columns[c][0]);
    }
  }

  // The core and every further row whose own column was received: without it a row says nothing.
  void choose_rows(LdpcCode code) {
    for (std::uint32_t r = 0; r < kCoreRows; ++r)
      rows_[row_count_++] = static_cast<std::uint8_t>(r);
    const std::uint32_t sent = std::min(options_.sent, code.length());
    const std::uint32_t columns = 2 + (sent + z_ - 1) / z_;
    for (std::uint32_t c = core_; c < columns; ++c) {
      const std::uint32_t r = c - graph_.info_columns;
      if (load_column(c, code.length(), work_.extension[r]))
        rows_[row_count_++] = static_cast<std::uint8_t>(r);
    }
  }

  void iterate(bool first) {
    core_unsatisfied_ = unsatisfied_ = 0;
    for (std::uint32_t i = 0; i < row_count_; ++i) {
      const std::uint32_t r = rows_[i];
      unsatisfied_ += update(r, first);
      if (r < kCoreRows) core_unsatisfied_ = unsatisfied_;
    }
  }

  std::uint32_t update(std::uint32_t r, bool first) {
    const bool extension = r >= kCoreRows;
    const std::uint32_t begin = graph_.row_begin[r];
    const std::uint32_t degree = graph_.row_begin[r + 1] - begin - (extension ? 1U : 0U);
    Row row;
    row.z = z_;
    row.messages = work_.messages[begin];
    row.extension = work_.extension[r];
    for (std::uint32_t j = 0; j < degree; ++j) {
      const std::uint32_t c = graph_.column[begin + j], shift = graph_.shift[begin + j];
      const std::uint32_t turn = shift - rotation_[c] + (shift < rotation_[c] ? z_ : 0);
      row.place[j] = turn;
      row.from[j] = work_.columns[c][side_[c]];
      side_[c] ^= 1;
      row.to[j] = work_.columns[c][side_[c]];
      rotation_[c] = static_cast<std::uint16_t>(shift);
    }
    return row_update(degree, extension, first)(row);
  }

  // Whether the decoder may stop after an iteration; then the decided bits are in `info`.
  bool finished(DecodeResult& result, std::uint8_t* info) {
    const bool settled = unsatisfied_ <= kDoubtfulExtensions;
    const bool try_crc = options_.crc != Crc::None && core_unsatisfied_ <= z_ / 8;
    if (!settled && !try_crc) return false;
    decide(info);
    judge(result, info);
    return result.parity || result.crc;
  }

  // Hard decisions of the core columns, in their own rotation, and the information bits in order.
  void decide(std::uint8_t* info) {
    ColumnWriter out(work_.info, std::size_t{graph_.info_columns} * z_, z_);
    for (std::uint32_t c = 0; c < core_; ++c) {
      Signs words[64 / sizeof(Signs)] = {};
      std::uint32_t from = rotation_[c] == 0 ? 0 : z_ - rotation_[c];
      for (std::uint32_t i = 0; i < z_; i += kByteLanes) {
        words[i / kByteLanes] = signs(load_bytes(work_.columns[c][side_[c]] + from));
        from += kByteLanes;
        if (from >= z_) from -= z_;
      }
      Bits column;
      std::memcpy(&column, words, sizeof column);
      store_column(work_.bits[c], column, z_);
      if (c < graph_.info_columns) out.put(column);
    }
    out.finish();
    reverse_bits(work_.info, info, (graph_.info_columns * z_ + 7) / 8);
  }

  // The core checks are computed anew from the decided bits, since a sign that changed after its
  // row was read is not in the count of the last iteration.
  void judge(DecodeResult& result, const std::uint8_t* info) const {
    result.parity = unsatisfied_ - core_unsatisfied_ <= kDoubtfulExtensions;
    place_edges(graph_, graph_.row_begin[kCoreRows], work_.places);
    for (std::uint32_t r = 0; r < kCoreRows && result.parity; ++r)
      result.parity = !any(sum_columns<true>(work_.bits, work_.places + graph_.row_begin[r],
                                             work_.places + graph_.row_begin[r + 1]),
                           z_);
    result.crc = options_.crc != Crc::None && options_.crc_span > crc_bits(options_.crc) &&
                 crc(options_.crc, info, options_.crc_span) == 0;
  }

  BaseGraph graph_;
  std::uint32_t z_, core_, known_;  // known_: information bits before the fillers
  const std::int8_t* soft_;
  const DecodeOptions& options_;
  LdpcWorkspace& work_;
  std::uint16_t side_[kMaxCoreColumns];
  std::uint16_t rotation_[kMaxCoreColumns];  // lane 0 of column_[c] is its bit rotation_[c]
  std::uint8_t rows_[kMaxRows];
  std::uint32_t row_count_ = 0, unsatisfied_ = 0, core_unsatisfied_ = 0;
};

DecodeResult decode(LdpcCode code, const std::int8_t* soft, const DecodeOptions& options,
                    std::uint8_t* info, LdpcScratch& scratch) noexcept {
  auto& work = *reinterpret_cast<LdpcWorkspace*>(scratch.data());
  return Decoder(code, soft, options, work).run(info);
}

}  // namespace
