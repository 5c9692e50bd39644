// The decoder: rows in the order of the table, messages computed by update_row; a pack of code
// blocks as if it were one.

namespace {

// Extension checks that may stay unsatisfied. Only such a check knows its own parity bit, so that
// the information is right even where the channel got that bit wrong and is surer of it than the
// messages, which are clipped, can ever be. Wrong information fails many more.
inline constexpr std::uint32_t kDoubtfulExtensions = 3;

class Decoder {
 public:
  Decoder(LdpcCode code, std::span<DecodeBlock> blocks, const DecodeOptions& options,
          LdpcWorkspace& work)
      : graph_(base_graph(code)),
        code_(code),
        blocks_(blocks),
        pack_(std::bit_ceil(static_cast<std::uint32_t>(blocks.size()))),
        z_(code.lifting * pack_),
        length_(code.length() * pack_),
        core_(graph_.info_columns + kCoreRows),
        columns_(std::max(
            core_, 2 + (std::min(options.sent, code.length()) + code.lifting - 1) / code.lifting)),
        known_((code.info_bits() - std::min(options.fillers, code.info_bits())) * pack_),
        options_(options),
        work_(work) {
    gather();
    choose_extensions();
    turn_columns();
    load_core();
  }

  // Every block's result is that of the iteration in which it could stop, whatever the others do.
  void run() {
    const std::uint32_t most = std::max(options_.max_iterations, 1U);
    auto running = static_cast<std::uint32_t>(low_mask(static_cast<std::uint32_t>(blocks_.size())));
    for (std::uint32_t i = 1; i <= most && running != 0; ++i) {
      iterate(i);
      const std::uint32_t ripe = i == most ? running : running & may_stop();
      if (ripe == 0) continue;
      decide(i);
      running &= ~judge(ripe, i);
    }
    if (running != 0) peel(without_doubtful(running), most);
  }

 private:
  // The soft bits of the columns that will be read; a single block's stay where they are.
  void gather() {
    soft_ = blocks_[0].soft;
    if (pack_ == 1) return;
    const std::int8_t* from[kMaxPack];
    for (std::uint32_t b = 0; b < pack_; ++b) from[b] = blocks_[b < blocks_.size() ? b : 0].soft;
    interleave(pack_, from, (columns_ - 2) * code_.lifting, work_.soft);
    soft_ = work_.soft;
  }

  // How many of column c's places are no fillers.
  std::uint32_t places(std::uint32_t c) const {
    return c < graph_.info_columns ? std::min(z_, known_ - std::min(known_, c * z_)) : z_;
  }

  // Column c from the channel, filler places certain, its beginning repeated past its end.
  void load_column(std::uint32_t c, std::int8_t* to) const {
    const bool sent = c >= 2;  // the first two never are
    const std::uint32_t from = sent ? (c - 2) * z_ : 0;
    std::uint32_t i = 0;
    const auto take = [&](Vb v) __attribute__((always_inline)) {
      store_bytes(to + i, larger_signed(v, broadcast_byte(-127)));
    };
    for (; sent && i + kByteLanes <= z_; i += kByteLanes) take(load_bytes(soft_ + from + i));
    for (; i < z_; i += kByteLanes)
      take(sent ? load_first(soft_ + from + i, length_ - from - i) : Vb{});
    if (places(c) < z_) std::memset(to + places(c), 127, z_ - places(c));
    for (std::uint32_t n = z_; n < kByteLanes; n *= 2) store_bytes(to + n, load_bytes(to));
    store_bytes(to + wrap_place(z_), load_bytes(to));
  }

  // As the last rows of an iteration leave them.
  void load_core() {
    for (std::uint32_t c = 0; c < core_; ++c) {
      std::int8_t *const to = work_.columns[c][0], *const straight = work_.columns[c][1];
      load_column(c, straight);
      std::uint32_t from = turns_->rotation[c];
      for (std::uint32_t i = 0; i < z_; i += kByteLanes) {
        store_bytes(to + i, load_bytes(straight + from));
        from += kByteLanes;
        if (from >= z_) from -= z_;
      }
      store_bytes(to + wrap_place(z_), load_bytes(to));
    }
  }

  // The rows past the core whose own column was received: without it a row says nothing. They read
  // it where it is, unless vectors would be longer than it or reach past the channel's LLRs.
  void choose_extensions() {
    std::uint32_t copied = 0;
    for (std::uint32_t c = core_; c < columns_; ++c) {
      const std::uint32_t r = c - graph_.info_columns, from = (c - 2) * z_;
      const std::uint32_t end = from + (z_ + kByteLanes - 1) / kByteLanes * kByteLanes;
      const std::int8_t* column = soft_ + from;
      if (z_ < kByteLanes || end > length_) {
        load_column(c, work_.extension[copied]);
        column = work_.extension[copied++];
      }
      Vb received = {};
      for (std::uint32_t i = 0; i < z_; i += kByteLanes)
        received |= load_bytes(column + i) & load_bytes(inside(z_) + i);
      if (signs(received != Vb{}) == 0) continue;
      own_[r] = column;
      extensions_[extension_count_++] = static_cast<std::uint8_t>(r);
    }
  }

  template <typename Visit>
  void each_row(Visit&& visit) const {
    for (std::uint32_t r = 0; r < kCoreRows; ++r) visit(r);
    for (std::uint32_t i = 0; i < extension_count_; ++i) visit(std::uint32_t{extensions_[i]});
  }

  // Without the extension column.
  std::uint32_t degree(std::uint32_t r) const {
    return graph_.row_begin[r + 1] - graph_.row_begin[r] - (r < kCoreRows ? 0U : 1U);
  }

  static std::uint32_t place_of(std::uint32_t column, std::uint32_t buffer) {
    return (2 * column + buffer) * kColumnBytes;
  }

  std::uint32_t vectors() const { return (z_ + kByteLanes - 1) / kByteLanes; }

  // visit(row, the first of its places) of all rows that take part.
  template <typename Visit>
  void each_row_with_places(Visit&& visit) const {
    std::uint32_t place = 0;
    each_row([&](std::uint32_t r) {
      visit(r, place);
      place += places_for(degree(r));
    });
  }

  // Among LdpcTurns::to and LdpcTurns::starts: of an edge, and from one vector's to the next.
  struct Place {
    std::uint32_t to, start, stride;
  };
  // visit(edge, its column, its place).
  template <typename Visit>
  void each_edge(Visit&& visit) const {
    each_row_with_places([&](std::uint32_t r, std::uint32_t first) {
      const std::uint32_t begin = graph_.row_begin[r];
      for (std::uint32_t j = 0; j < degree(r); ++j)
        visit(begin + j, graph_.column[begin + j],
              Place{first + j, first * vectors() + j, places_for(degree(r))});
    });
  }

  // Every row finds a column as the row before left it, in the buffer that one wrote; in an odd
  // iteration the first row in buffer 0. Where an odd number of rows write, a column's two buffers
  // change roles every time. Blocks of one code mostly have the same rows, and so the same turns.
  // Computed anew, they take about as long as an iteration.
  void turn_columns() {
    LdpcKey key{.lifting = code_.lifting,
                .base_graph = code_.base_graph,
                .vector_bytes = kByteLanes,
                .pack = pack_};
    each_row([&key](std::uint32_t r) { key.rows |= std::uint64_t{1} << r; });
    turns_ = &work_.turns.get(key, [this](LdpcTurns& turns) { turn_columns(turns); });
  }

  void turn_columns(LdpcTurns& turns) const {
    const auto rotate = [&](std::uint32_t e, std::uint32_t c) {
      turns.rotation[c] = static_cast<std::uint16_t>(graph_.shift[e] * pack_);
    };
    turns.odd = 0;
    each_edge([&](std::uint32_t e, std::uint32_t c, const Place&) {
      rotate(e, c);
      turns.odd ^= 1U << c;
    });
    std::uint32_t buffers = 0;  // that the columns lie in, as bits
    each_edge([&](std::uint32_t e, std::uint32_t c, const Place& place) {
      // In even iterations the other buffer, if the column has changed it.
      const std::uint32_t read = buffers >> c & 1, other = turns.odd >> c & 1;
      const std::uint32_t odd = place_of(c, read), even = place_of(c, read ^ other);
      std::uint32_t start = graph_.shift[e] * pack_ + z_ - turns.rotation[c];
      start -= start >= z_ ? z_ : 0;
      for (std::uint32_t v = 0, at = place.start; v < vectors(); ++v, at += place.stride) {
        turns.starts[0][at] = static_cast<std::uint16_t>(odd + start);
        turns.starts[1][at] = static_cast<std::uint16_t>(even + start);
        start += kByteLanes;
        while (start >= z_) start -= z_;
      }
      turns.to[0][place.to] = static_cast<std::uint16_t>(place_of(c, read ^ 1));
      turns.to[1][place.to] = static_cast<std::uint16_t>(place_of(c, read ^ 1 ^ other));
      rotate(e, c);
      buffers ^= 1U << c;
    });
  }

  void iterate(std::uint32_t iteration) {
    core_failed_ = extension_failed_ = Vb{};
    const std::uint32_t even = (iteration - 1) % 2;
    each_row_with_places([&](std::uint32_t r, std::uint32_t place) {
      const Row row{.buffers = work_.columns[0][0],
                    .starts = turns_->starts[even] + place * vectors(),
                    .to = turns_->to[even] + place,
                    .messages = work_.messages[graph_.row_begin[r]],
                    .extension = own_[r],
                    .z = z_};
      Vb& failed = r < kCoreRows ? core_failed_ : extension_failed_;
      failed = add_counts(failed, row_update(degree(r), r >= kCoreRows, iteration == 1)(row));
    });
  }

  // The blocks that are worth judging after an iteration, as bits.
  std::uint32_t may_stop() const {
    if (!options_.early_stop) return 0;
    std::uint32_t found = 0;
    for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
      const std::uint32_t core = total(core_failed_, b, pack_);
      const bool settled = core + total(extension_failed_, b, pack_) <= kDoubtfulExtensions;
      const bool try_crc = options_.crc != Crc::None && core <= code_.lifting / 8U;
      found |= static_cast<std::uint32_t>(settled || try_crc) << b;
    }
    return found;
  }

  // The signs of what `of` makes of a column's vectors, the column read around from `from` on.
  template <typename Of>
  [[gnu::always_inline]] Bits signs_of(const std::int8_t* column, std::uint32_t from,
                                       const Of& of) const {
    Signs words[64 / sizeof(Signs)] = {};
    const std::uint32_t z = z_;
    for (std::uint32_t i = 0; i < z; i += kByteLanes) {
      words[i / kByteLanes] = signs(of(load_bytes(column + from)));
      from += kByteLanes;
      if (from >= z) from -= z;
    }
    return load_bits(reinterpret_cast<const std::uint8_t*>(words));
  }
  static constexpr auto kItself = [](Vb v) __attribute__((always_inline)) { return v; };
  static constexpr auto kIsZero = [](Vb v) __attribute__((always_inline)) { return v == Vb{}; };

  // Where core columns lie after an iteration, as bits.
  std::uint32_t buffers_after(std::uint32_t iteration) const {
    return iteration % 2 == 0 ? 0 : turns_->odd;
  }

  // Of core column c, in its own rotation.
  template <typename Of>
  [[gnu::always_inline]] Bits core_signs(std::uint32_t c, std::uint32_t buffers,
                                         const Of& of) const {
    const std::uint32_t from = turns_->rotation[c] == 0 ? 0 : z_ - turns_->rotation[c];
    return signs_of(work_.columns[c][buffers >> c & 1], from, of);
  }

  // Hard decisions of the core columns, and all information bits in order.
  void decide(std::uint32_t iteration) {
    const std::uint32_t buffers = buffers_after(iteration);
    ColumnWriter out(work_.info, std::size_t{graph_.info_columns} * z_, z_);
    for (std::uint32_t c = 0; c < core_; ++c) {
      const Bits column = core_signs(c, buffers, kItself);
      store_column(work_.bits[c], column, z_);
      if (c < graph_.info_columns) out.put(column);
    }
    out.finish();
  }

  // The blocks with core checks that the decided bits do not satisfy. These are computed anew,
  // since a sign that changed after its row was read is not in the count of the last iteration.
  std::uint32_t broken_cores() const {
    const BitPlace* const places = place_edges(code_, pack_, work_);
    std::uint32_t broken = 0;
    for (std::uint32_t r = 0; r < kCoreRows; ++r)
      broken |= blocks_of(sum_columns<true>(work_.bits, places + graph_.row_begin[r],
                                            places + graph_.row_begin[r + 1]),
                          z_, pack_);
    return broken;
  }

  // Judges the blocks of a mask after an iteration; returns those that may stop.
  std::uint32_t judge(std::uint32_t ripe, std::uint32_t iteration) {
    const std::uint32_t broken = broken_cores();
    std::uint32_t stopped = 0;
    for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
      if ((ripe >> b & 1) == 0) continue;
      const bool parity =
          (broken >> b & 1) == 0 && total(extension_failed_, b, pack_) <= kDoubtfulExtensions;
      stopped |= static_cast<std::uint32_t>(conclude(b, iteration, parity)) << b;
    }
    return stopped;
  }

  // Those of the failed blocks of which all that was received may be right.
  std::uint32_t without_doubtful(std::uint32_t failed) const {
    const std::uint32_t info = code_.info_bits() - 2U * code_.lifting, fillers = options_.fillers;
    const std::uint32_t known = info - std::min(fillers, info);
    for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
      if ((failed >> b & 1) == 0) continue;
      const std::int8_t* const soft = blocks_[b].soft;
      std::uint32_t weak = count_weak(soft, known, 0);
      weak = count_weak(soft + info, (columns_ - 2) * code_.lifting - info, weak);
      if (weak > kMostWeak) failed &= ~(1U << b);
    }
    return failed;
  }

  // Blocks that failed in the last iteration get another result if what is unknown of them, which
  // is what is neither 0 nor 1, follows from the rest, and nothing contradicts it.
  [[gnu::noinline]] void peel(std::uint32_t failed, std::uint32_t iteration) {
    if (failed == 0) return;
    const std::uint32_t buffers = buffers_after(iteration);
    for (std::uint32_t c = 0; c < core_; ++c)
      store_column(work_.unknown[c], core_signs(c, buffers, kIsZero), z_);
    const Peeling peeling(graph_, code_, pack_, work_);
    for (std::uint32_t solved = failed; (solved & failed) != 0;) {
      solved = 0;
      each_row([&](std::uint32_t r) {
        if (failed == 0) return;
        const bool own = r >= kCoreRows;
        const auto found = peeling.row(r, degree(r), own ? signs_of(own_[r], 0, kItself) : Bits{},
                                       own ? signs_of(own_[r], 0, kIsZero) : Bits{});
        solved |= found.solved;
        failed &= ~found.contradicted;
      });
    }
    if (failed == 0 || (failed &= ~peeling.open(0, graph_.info_columns)) == 0) return;
    ColumnWriter out(work_.info, std::size_t{graph_.info_columns} * z_, z_);
    for (std::uint32_t c = 0; c < graph_.info_columns; ++c) out.put(load_bits(work_.bits[c]));
    out.finish();
    const std::uint32_t open = peeling.open(graph_.info_columns, core_);
    for (std::uint32_t b = 0; b < blocks_.size(); ++b)
      if ((failed >> b & 1) != 0) conclude(b, iteration, (open >> b & 1) == 0);
  }

  // Sets a block's result and information; returns whether it may stop with them.
  bool conclude(std::uint32_t b, std::uint32_t iterations, bool parity) {
    DecodeBlock& block = blocks_[b];
    const std::uint32_t bits = code_.info_bits();
    std::uint64_t picked[22 * kMaxLifting / 64];
    const std::uint8_t* words = work_.info;
    if (pack_ > 1) {
      pick_bits(work_.info, pack_, b, picked, bits);
      words = reinterpret_cast<const std::uint8_t*>(picked);
    }
    reverse_bits(words, block.info, (bits + 7) / 8);
    auto& result = block.result;
    result.iterations = static_cast<std::uint16_t>(iterations);
    result.parity = parity;
    result.crc = options_.crc != Crc::None && options_.crc_span > crc_bits(options_.crc) &&
                 crc(options_.crc, block.info, options_.crc_span) == 0;
    // Zeros, which is what bits that were not received are decided to be, satisfy every CRC.
    const auto any = [](std::uint8_t byte) { return byte != 0; };
    return result.parity ||
           (result.crc && std::any_of(block.info, block.info + (bits + 7) / 8, any));
  }

  BaseGraph graph_;
  LdpcCode code_;
  std::span<DecodeBlock> blocks_;
  std::uint32_t pack_;                    // blocks, of which the last may be nobody's
  std::uint32_t z_, length_;              // lanes: of a column, of all that are sent
  std::uint32_t core_, columns_, known_;  // known_: information lanes before the fillers
  const DecodeOptions& options_;
  LdpcWorkspace& work_;
  const LdpcTurns* turns_ = nullptr;
  const std::int8_t* soft_ = nullptr;
  std::uint8_t extensions_[kMaxRows];  // rows
  const std::int8_t* own_[kMaxRows];   // their columns
  std::uint32_t extension_count_ = 0;
  Vb core_failed_, extension_failed_;  // checks of each lane in the last iteration, at most 255
};

void decode(LdpcCode code, std::span<DecodeBlock> blocks, const DecodeOptions& options,
            LdpcScratch& scratch) noexcept {
  Decoder(code, blocks, options, *reinterpret_cast<LdpcWorkspace*>(scratch.data())).run();
}

}  // namespace
