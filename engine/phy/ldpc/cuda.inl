// The decoder: row after row, every thread a word of four lanes of a row's checks.
//
// What bounds it is integer arithmetic, of which a GPU does half as much as of floating point, so
// four 8-bit lanes share a word. No GPU from sm_80 on adds or compares bytes by one instruction;
// but messages stay within ±28, and in ones' complement relative to its own sign a value with 7
// bits plus a message never carries into the next byte: plain additions, and one permutation
// (sign_bytes) for each decision. By sm_90's machine code an edge of four checks is 44 to 48
// instructions, of which 34 need the integer unit, and a row some 90 more; pairs in 16 bits would
// need about 40 for two, and Hopper's instructions for these are emulated elsewhere.
//
// A word's lanes are bits w, w + Z/4, w + 2Z/4, w + 3Z/4 of a column: rotated by any shift they are
// another word with its bytes rotated. So nothing is ever unaligned, a row touches each word of a
// column once, and it can be updated in place. A barrier ends a step, which is the rows one after
// the other that have no column in common: 32 steps for 46 rows, 28 for 42 of base graph 2. Where
// four does not divide Z, four code blocks share a word. Small blocks share a thread block.
//
// Where there are too few code blocks for a device, a word gets more threads (DecodeForm): two
// squads work on two rows of a step, and teams divide a row's edges.
// docs/internals/gpu-decoder.md compares them.
//
// Posteriors and messages stay in shared memory, which limits how many threads an SM holds: of a
// row's messages only two magnitudes are kept, and of each edge which one it is and its sign, as
// bits between them. 66 KB for the longest block: three of them on an H200's SM.
#pragma once

#include "phy/crc/cuda.inl"
#include "phy/ldpc/cuda_layout.inl"
#include "phy/ldpc/cuda_peel.inl"

namespace carillon::phy::cuda {

inline constexpr std::uint32_t kMayFail = 3;  // extension checks, as in decode.inl

template <typename Cta, std::uint32_t kTeam>
class Decoder {
 public:
  CARILLON_GPU Decoder(Cta& cta, const DecodeTask& task)
      : cta_(cta),
        task_(task),
        columns_(cta.template shared<unsigned char>()),
        messages_(cta.template shared<std::uint32_t>(decode_columns_bytes(task))),
        all_(cta.template shared<DecodeShared>(decode_shared_at(task))),
        states_(cta.template shared<DecodeState>(decode_shared_at(task) +
                                                 std::uint32_t{sizeof(DecodeShared)})),
        edges_(cta.template shared<DecodeEdge>(decode_edges_at(task))),
        blocks_(task.shape.groups * task.shape.blocks),
        wrap_(task.shape.words * 4),
        step_(task.shape.blocks == 1 ? 8 : 0),
        threads_(cta) {}

  template <std::uint32_t kGraph>
  CARILLON_GPU void run() {
    begin();
    choose_rows();
    for (std::uint32_t iteration = 1; all_->running != 0; ++iteration) {
      const bool first = iteration == 1;
      if constexpr (kGraph == 1) {
        for (std::uint32_t r = 0; r < kCoreRows; ++r) core<19>(r, first);
      } else {
        core<8>(0, first);
        core<10>(1, first);
        core<8>(2, first);
        core<10>(3, first);
      }
      const std::uint32_t steps = all_->steps;
      for (std::uint32_t s = 0; s < steps; ++s) extensions<kGraph>(s, first);
      end_iteration(iteration);
    }
    if (task_.judged != nullptr) conclude();
  }

 private:
  friend class Peeling<Decoder>;

  CARILLON_GPU std::uint32_t& word_at(std::uint32_t byte) const {
    return *reinterpret_cast<std::uint32_t*>(columns_ + byte);
  }

  /// The block of all blocks; those past the last are copies of the first.
  CARILLON_GPU std::uint32_t block_of(std::uint32_t state) const {
    return cta_.x() * blocks_ + state;
  }
  CARILLON_GPU const std::int8_t* soft_of(std::uint32_t block) const {
    if (block >= task_.count) block = 0;
    return task_.soft_list != nullptr ? task_.soft_list[block]
                                      : task_.soft + block * task_.soft_stride;
  }

  /// Four lanes, `column` columns after the third.
  CARILLON_GPU std::uint32_t received(const DecodeThread& own, std::uint32_t column) const {
    std::uint32_t word = 0;
    CARILLON_UNROLL
    for (std::uint32_t k = 0; k < 4; ++k)
      word |=
          static_cast<std::uint32_t>(static_cast<std::uint8_t>(own.soft[k][column * task_.lifting]))
          << 8 * k;
    return word;
  }

  CARILLON_GPU void begin() {
    const DecodeShape& shape = task_.shape;
    cta_.each_thread([&](std::uint32_t thread) {
      DecodeThread& own = threads_[thread];
      own.squad = thread / shape.squad_threads;
      own.record = thread % shape.squad_threads;
      own.member = own.record % kTeam;
      const std::uint32_t place = own.record / kTeam;
      own.group = place / shape.words;
      own.word = place % shape.words;
      own.base = place * 4;
      own.reach = own.word << 16 | 0xffff;
      own.core_failed = own.extension_failed = 0;
      own.active =
          own.group < shape.groups && block_of(own.group * shape.blocks) < task_.count ? 1 : 0;
      CARILLON_UNROLL
      for (std::uint32_t k = 0; k < 4; ++k) {
        const bool shared = shape.blocks == 4;
        own.soft[k] = soft_of(block_of(shared ? own.group * 4 + k : own.group)) + own.word +
                      (shared ? 0 : k * shape.words);
      }
      if (own.active != 0) load(own);
    });
    if constexpr (kTeam > 1)
      cta_.each(task_.edge_count, [&](std::uint32_t e) { edges_[e] = task_.edges[e]; });
    cta_.each(kMaxRows, [&](std::uint32_t r) { all_->received[r] = 0; });
    cta_.each(blocks_, [&](std::uint32_t b) {
      states_[b] = {block_of(b) < task_.count ? 1U : 0U, 0, 0, 0, 0, 0};
    });
  }

  /// The core's columns: the first two were never sent, fillers are certain.
  CARILLON_GPU void load(DecodeThread& own) {
    const std::uint32_t stride = column_words(task_.shape) * 4;
    for (std::uint32_t c = sharer(own); c < task_.info_columns + kCoreRows; c += sharers()) {
      std::uint32_t word = c < 2 ? 0 : received(own, c - 2);
      word += zeros(word ^ kByteSigns) >> 7;  // -128 becomes -127
      CARILLON_UNROLL
      for (std::uint32_t k = 0; k < 4; ++k) {
        const std::uint32_t place =
            own.word + (task_.shape.blocks == 4 ? 0 : k * task_.shape.words);
        if (c < task_.info_columns && c * task_.lifting + place >= task_.known)
          word = (word & ~(0xffU << 8 * k)) | 0x7fU << 8 * k;
      }
      word_at(own.base + c * stride) = word;
    }
  }

  /// The rows past the core whose own column was received: without it a row says nothing.
  CARILLON_GPU void choose_rows() {
    cta_.each_thread([&](std::uint32_t thread) {
      const DecodeThread& own = threads_[thread];
      if (own.active == 0) return;
      for (std::uint32_t r = kCoreRows + sharer(own); r < task_.row_end; r += sharers())
        if (received(own, task_.info_columns + r - 2) != 0) cta_.add(&all_->received[r], 1U);
    });
    cta_.each(1, [&](std::uint32_t) {
      std::uint32_t rows = 0, steps = 0, step = ~0U;
      for (std::uint32_t r = kCoreRows; r < task_.row_end; ++r) {
        if (all_->received[r] == 0) continue;
        if (task_.rows[r].step != step) all_->step[steps++] = rows;
        step = task_.rows[r].step;
        all_->row[rows++] = r;
      }
      all_->step[steps] = rows;
      all_->steps = steps;
      all_->ripe = 0;
      all_->running = 0;
      for (std::uint32_t b = 0; b < blocks_; ++b) all_->running += states_[b].running;
    });
  }

  /// Which of the threads that have a word it is, and how many these are.
  CARILLON_GPU std::uint32_t sharer(const DecodeThread& own) const {
    return own.squad * kTeam + own.member;
  }
  CARILLON_GPU std::uint32_t sharers() const { return task_.shape.squads * kTeam; }

  template <std::uint32_t kDegree>
  CARILLON_GPU void core(std::uint32_t r, bool first) {
    cta_.template each_team<kTeam>([&](const auto& team) {
      if (threads_[team.first()].squad == 0)
        update<simt::divide_up(kDegree, kTeam), false>(team, r, first);
    });
  }

  /// The rows of a step, which have no column in common, each by one squad.
  template <std::uint32_t kGraph>
  CARILLON_GPU void extensions(std::uint32_t step, bool first) {
    cta_.template each_team<kTeam>([&](const auto& team) {
      const std::uint32_t end = all_->step[step + 1];
      std::uint32_t i = all_->step[step] + threads_[team.first()].squad;
      for (; i < end; i += task_.shape.squads) extension<kGraph>(team, all_->row[i], first);
    });
  }

  template <std::uint32_t kGraph, typename Team>
  CARILLON_GPU void extension(const Team& team, std::uint32_t r, bool first) {
    switch (simt::divide_up(task_.rows[r].degree, kTeam)) {
      case 1: return extension<kGraph, 1>(team, r, first);
      case 2: return extension<kGraph, 2>(team, r, first);
      case 3: return extension<kGraph, 3>(team, r, first);
      case 4: return extension<kGraph, 4>(team, r, first);
      case 5: return extension<kGraph, 5>(team, r, first);
      case 6: return extension<kGraph, 6>(team, r, first);
      case 7: return extension<kGraph, 7>(team, r, first);
      case 8: return extension<kGraph, 8>(team, r, first);
      default: return extension<kGraph, 9>(team, r, first);
    }
  }
  /// Nothing where no row leaves a thread so many edges: they are 2 to 9, or 2 to 5.
  template <std::uint32_t kGraph, std::uint32_t kEdges, typename Team>
  CARILLON_GPU void extension(const Team& team, std::uint32_t r, bool first) {
    constexpr std::uint32_t kLeast = simt::divide_up(2, kTeam);
    constexpr std::uint32_t kMost = simt::divide_up(kGraph == 1 ? 9 : 5, kTeam);
    if constexpr (kLeast <= kEdges && kEdges <= kMost) update<kEdges, true>(team, r, first);
  }

  /// A row by a team, whose thread m has the edges m, m + kTeam, m + 2 kTeam, …: kEdges of them, or
  /// one less.
  template <std::uint32_t kEdges, bool kExtension, typename Team>
  CARILLON_GPU void update(const Team& team, std::uint32_t r, bool first) {
    using Part = RowPart<kEdges>;
    const DecodeRow& row = task_.rows[r];
    if (kTeam == 1 && threads_[team.first()].active == 0) return;
    team.template together<Part>(
        [&](std::uint32_t thread, Part& part) {
          const DecodeThread& own = threads_[thread];
          part.last = kExtension ? received(own, task_.info_columns + r - 2) : 0;
          read(row, own, first, part);
        },
        [&](std::uint32_t thread, Part& part) {
          write<kExtension>(row, threads_[thread], first, part);
        });
  }

  struct Found {
    std::uint32_t at, turn;
  };
  CARILLON_GPU Found find(const DecodeThread& own, const DecodeEdge& edge) const {
    const bool back = own.reach >= edge.limit_and_turn;
    return {own.base + edge.start - (back ? wrap_ : 0), edge.limit_and_turn + (back ? step_ : 0)};
  }
  CARILLON_GPU std::uint32_t* record_of(const DecodeRow& row, const DecodeThread& own) const {
    return messages_ + row.record * task_.shape.squad_threads + own.record;
  }

  /// The edge of the row that is a thread's `j`th, and whether the row has it.
  CARILLON_GPU static std::uint32_t edge_of(const DecodeThread& own, std::uint32_t j) {
    return kTeam == 1 ? j : j * kTeam + own.member;
  }
  template <std::uint32_t kEdges>
  CARILLON_GPU static bool has(const DecodeRow& row, const DecodeThread& own, std::uint32_t j) {
    return kTeam == 1 || j + 1 < kEdges || edge_of(own, j) < row.degree;
  }
  /// Whether a thread may touch an edge's word. Where teams exchange what they know, all threads of
  /// a warp come along, also those that have nothing to do.
  template <std::uint32_t kEdges>
  CARILLON_GPU static bool may_touch(const DecodeRow& row, const DecodeThread& own,
                                     std::uint32_t j) {
    return kTeam == 1 || (own.active != 0 && has<kEdges>(row, own, j));
  }

  // With x and the mask s of the sign in place of a value: v = x ^ s, |v| = x + (s & 1).
  template <std::uint32_t kEdges>
  CARILLON_GPU void read(const DecodeRow& row, const DecodeThread& own, bool first,
                         RowPart<kEdges>& part) const {
    constexpr std::uint32_t kWords = record_words(kEdges);
    const DecodeEdge* const edges = (kTeam == 1 ? task_.edges : edges_) + row.first;
    const std::uint32_t* const messages = record_of(row, own);
    std::uint32_t record[kWords];
    CARILLON_UNROLL
    for (std::uint32_t i = 0; i < kWords; ++i)
      record[i] = first ? 0 : messages[i * task_.shape.squad_threads];
    const std::uint32_t old_low = without(record[0], 0xe0 * kByteOnes),
                        old_high = without(record[1], 0xe0 * kByteOnes);
    CARILLON_UNROLL
    for (std::uint32_t j = 0; j < kEdges; ++j) {
      const Found found = find(own, edges[edge_of(own, j)]);
      part.at[j] = found.at;
      part.turn[j] = found.turn;
      const std::uint32_t word = may_touch<kEdges>(row, own, j) ? word_at(found.at) : 0;
      const std::uint32_t value = simt::rotate_right(word, found.turn);
      // What the row said last is taken out: minus it is `strength`, negative by `minus`.
      const std::uint32_t minus = flag(record, sign_flag(j));
      const std::uint32_t strength = choose(flag(record, least_flag(j)), old_high, old_low);
      const std::uint32_t turned = value ^ minus;
      const std::uint32_t sum = (turned & kByteRests) + strength;
      const std::uint32_t negative = simt::sign_bytes(turned & ~sum);
      const std::uint32_t over = simt::sign_bytes(sum & ~turned);
      // Where there is no edge: what changes neither minima nor parity.
      const bool is_edge = has<kEdges>(row, own, j);
      part.x[j] = is_edge ? ((sum ^ negative) | over) & kByteRests : kByteRests;
      part.sign[j] = is_edge ? negative ^ minus : 0;
      part.common.include(part.sign[j], part.x[j] + (part.sign[j] & kByteOnes));
    }
  }

  template <bool kExtension, std::uint32_t kEdges>
  CARILLON_GPU void write(const DecodeRow& row, DecodeThread& own, bool first,
                          const RowPart<kEdges>& part) const {
    TwoLeast two = part.common.two;
    std::uint32_t parity = part.common.parity;
    // Core checks that know all their columns but in the first iteration, as in row.inl.
    const std::uint32_t known = first && !kExtension ? two.least - kByteOnes : kByteSigns;
    std::uint32_t failed = parity;
    if constexpr (kExtension) {
      // The column itself goes with the stronger side, as in row.inl.
      const std::uint32_t negative = simt::sign_bytes(part.last);
      const std::uint32_t magnitude = (part.last ^ negative) + (negative & kByteOnes);
      const std::uint32_t strength =
          kMessageClip * kByteOnes - excess(kByteSigns | kMessageClip * kByteOnes, magnitude);
      parity ^= negative;
      failed = parity & ~(two.least - strength);
      two.include(strength);
    }
    (kExtension ? own.extension_failed : own.core_failed) += (failed & known) >> 7 & kByteOnes;
    answer(row, own, part, two, parity);
  }

  /// What the row says to a thread's edges, and the record of it.
  template <std::uint32_t kEdges>
  CARILLON_GPU void answer(const DecodeRow& row, const DecodeThread& own,
                           const RowPart<kEdges>& part, const TwoLeast& two,
                           std::uint32_t parity) const {
    constexpr std::uint32_t kWords = record_words(kEdges);
    const std::uint32_t low = excess(two.least, kMessageOffset * kByteOnes);
    const std::uint32_t high = excess(two.second, kMessageOffset * kByteOnes);
    std::uint32_t record[kWords] = {low, high};
    const std::uint32_t odd = without(parity, kByteSigns);
    CARILLON_UNROLL
    for (std::uint32_t j = 0; j < kEdges; ++j) {
      const std::uint32_t x = part.x[j], sign = part.sign[j];
      const std::uint32_t is_least = simt::sign_bytes(two.least - (x + (sign & kByteOnes)));
      record[flag_word(sign_flag(j))] += simt::opaque(sign & kByteOnes << flag_bit(sign_flag(j)));
      raise(record, least_flag(j), is_least);
      // Relative to the sign of the value: where parity is odd, 127 - x + strength is 127 less the
      // result; else the result, which may be above 127.
      std::uint32_t sum = (x ^ odd) + choose(is_least, high, low);
      sum = choose(simt::sign_bytes(sum & ~parity), kByteRests, sum);
      if (may_touch<kEdges>(row, own, j))
        word_at(part.at[j]) = simt::rotate_left(sum ^ odd ^ sign, part.turn[j]);
    }
    std::uint32_t* const messages = record_of(row, own);
    constexpr SignBits<kEdges> signs;
    CARILLON_UNROLL
    for (std::uint32_t i = 0; i < kWords; ++i)
      messages[i * task_.shape.squad_threads] = record[i] ^ (~parity & signs.word[i]);
  }

  CARILLON_GPU static std::uint32_t flag(const std::uint32_t* record, std::uint32_t which) {
    return simt::sign_bytes(record[flag_word(which)] << (7 - flag_bit(which)));
  }
  CARILLON_GPU static void raise(std::uint32_t* record, std::uint32_t which, std::uint32_t mask) {
    record[flag_word(which)] |= mask & kByteOnes << flag_bit(which);
  }

  /// Stops the blocks that may stop.
  CARILLON_GPU void end_iteration(std::uint32_t iteration) {
    const bool last = iteration >= task_.max_iterations;
    cta_.each_thread([&](std::uint32_t thread) {
      DecodeThread& own = threads_[thread];
      if (own.active == 0) return;
      if (own.member == 0) count(own);  // the others of its team counted the same
      own.core_failed = own.extension_failed = 0;
    });
    cta_.each(blocks_, [&](std::uint32_t b) {
      DecodeState& state = states_[b];
      if (state.running == 0) return;
      const bool settled = state.core_failed + state.extension_failed <= kMayFail;
      const bool try_crc = task_.try_crc && state.core_failed <= task_.tolerated;
      state.ripe = last || (task_.early_stop && (settled || try_crc)) ? 1 : 0;
      state.broken = state.any = 0;
      state.core_failed = 0;
      if (state.ripe == 0)
        state.extension_failed = 0;
      else
        cta_.add(&all_->ripe, 1U);
    });
    if (all_->ripe != 0) judge(iteration, last);
  }

  CARILLON_GPU void count(const DecodeThread& own) const {
    if (task_.shape.blocks == 1) {
      DecodeState& state = states_[own.group];
      if (own.core_failed != 0) cta_.add(&state.core_failed, own.core_failed * kByteOnes >> 24);
      if (own.extension_failed != 0)
        cta_.add(&state.extension_failed, own.extension_failed * kByteOnes >> 24);
      return;
    }
    for (std::uint32_t k = 0; k < 4; ++k) {
      DecodeState& state = states_[own.group * 4 + k];
      cta_.add(&state.core_failed, own.core_failed >> 8 * k & 0xff);
      cta_.add(&state.extension_failed, own.extension_failed >> 8 * k & 0xff);
    }
  }

  CARILLON_GPU std::uint8_t* info_of(std::uint32_t b) const {
    return task_.info_list != nullptr ? task_.info_list[block_of(b)]
                                      : task_.info + block_of(b) * task_.info_stride;
  }

  /// Information of the ripe blocks, and what is left of its CRC.
  CARILLON_GPU void write_decided() {
    const std::uint32_t bytes = simt::divide_up(task_.info_columns * task_.lifting, 8);
    cta_.each(blocks_ * bytes, [&](std::uint32_t i) {
      const std::uint32_t b = i / bytes, byte = i % bytes;
      if (states_[b].ripe == 0) return;
      const std::uint8_t bits = decided(b, byte);
      info_of(b)[byte] = bits;
      if (bits != 0) cta_.add(&states_[b].any, 1U);
    });
    if (task_.crc.width != 0)
      crc_registers(
          cta_, task_.crc, blocks_, sums(), [&](std::uint32_t b) { return states_[b].ripe != 0; },
          [&](std::uint32_t b, std::uint32_t n) {
            const std::uint8_t* const from = info_of(b) + n / 8;
            std::uint32_t word = 0;
            for (std::uint32_t k = 0; k < 4; ++k)
              word |= n / 8 + k < bytes ? std::uint32_t{from[k]} << (24 - 8 * k) : 0;
            return word;
          });
  }
  /// [block][chunk] for CRCs.
  CARILLON_GPU std::uint32_t* sums() const {
    return messages_ + task_.records * task_.shape.squad_threads;
  }

  CARILLON_GPU DecodeResult result_of(std::uint32_t b, std::uint32_t iteration, bool parity) const {
    DecodeResult result;
    result.iterations = static_cast<std::uint16_t>(iteration);
    result.parity = parity;
    result.crc = task_.crc.width != 0 && crc_parity(task_.crc, sums()[b * task_.crc.chunks]) == 0;
    return result;
  }

  CARILLON_GPU void judge(std::uint32_t iteration, bool last) {
    write_decided();
    cta_.each_thread([&](std::uint32_t thread) {
      const DecodeThread& own = threads_[thread];
      if (own.active != 0 && sharer(own) == 0) find_broken(own);
    });
    cta_.each(blocks_, [&](std::uint32_t b) {
      if (b == 0) all_->ripe = 0;
      DecodeState& state = states_[b];
      if (state.ripe == 0) return;
      const bool parity = state.broken == 0 && state.extension_failed <= kMayFail;
      const DecodeResult result = result_of(b, iteration, parity);
      // Zeros, which is what bits that were not received are decided to be, satisfy every CRC.
      const bool stops = parity || (result.crc && state.any != 0);
      state.ripe = last && !stops ? 1 : 0;
      state.extension_failed = state.broken = state.any = 0;
      if (!last && !stops) return;
      task_.results[block_of(b)] = result;
      state.running = 0;
      cta_.add(&all_->running, ~0U);
    });
    cta_.each_thread([&](std::uint32_t thread) {
      DecodeThread& own = threads_[thread];
      if (own.active == 0) return;
      own.active = 0;
      const std::uint32_t first = own.group * task_.shape.blocks;
      for (std::uint32_t b = first; b < first + task_.shape.blocks; ++b)
        own.active |= states_[b].running | states_[b].ripe;
    });
    if (!last) return;
    Peeling<Decoder>(*this).run(iteration);
    cta_.each(0, [](std::uint32_t) {});  // some threads may look at states yet
  }

  /// How many of a thread's four lanes are marked, for the blocks that they belong to.
  CARILLON_GPU void add_lanes(const DecodeThread& own, std::uint32_t DecodeState::*count,
                              std::uint32_t marks) const {
    if (marks == 0) return;
    if (task_.shape.blocks == 1)
      return cta_.add(&(states_[own.group].*count), (marks >> 7) * kByteOnes >> 24);
    for (std::uint32_t k = 0; k < 4; ++k)
      cta_.add(&(states_[own.group * 4 + k].*count), marks >> (8 * k + 7) & 1);
  }

  /// Hands payloads out, and says which blocks to believe. The states are free for counts: `ripe`
  /// of information that is not zero, `broken` of soft bits that are not.
  CARILLON_GPU void conclude() {
    cta_.each(blocks_, [&](std::uint32_t b) { states_[b].ripe = states_[b].broken = 0; });
    cta_.each_thread([&](std::uint32_t thread) {
      for (std::uint32_t b = 0; b < blocks_ && block_of(b) < task_.count; ++b)
        if (hand_out(b, thread)) cta_.add(&states_[b].ripe, 1U);
    });
    cta_.each_thread([&](std::uint32_t thread) {
      for (std::uint32_t b = 0; b < blocks_ && block_of(b) < task_.count; ++b)
        if (states_[b].ripe == 0 && any_received(b, thread)) cta_.add(&states_[b].broken, 1U);
    });
    cta_.each(blocks_, [&](std::uint32_t b) {
      if (block_of(b) >= task_.count) return;
      const DecodeResult& result = task_.results[block_of(b)];
      const bool holds = task_.try_crc ? result.crc : result.parity;
      const bool believed = states_[b].ripe != 0 || (result.parity && states_[b].broken != 0);
      task_.judged[block_of(b)] = holds && believed ? 1 : 0;
    });
  }

  /// A thread's part of a block's payload; whether any of its part of the information is not zero.
  CARILLON_GPU bool hand_out(std::uint32_t b, std::uint32_t thread) const {
    const std::uint32_t bytes = simt::divide_up(task_.info_columns * task_.lifting, 8);
    const std::uint8_t* const info = info_of(b);
    bool any = false;
    for (std::uint32_t i = thread; i < bytes; i += task_.shape.threads) {
      const std::uint32_t byte = info[i];
      any |= byte != 0;
      if (task_.payload_list == nullptr || i * 8 >= task_.payload_bits) continue;
      const std::uint32_t left = task_.payload_bits - i * 8, spare = left < 8 ? 8 - left : 0;
      task_.payload_list[block_of(b)][i] = static_cast<std::uint8_t>(byte >> spare << spare);
    }
    return any;
  }

  CARILLON_GPU bool any_received(std::uint32_t b, std::uint32_t thread) const {
    const std::int8_t* const soft = soft_of(block_of(b));
    const std::uint32_t length = code_length(task_);
    for (std::uint32_t i = thread; i < length; i += task_.shape.threads)
      if (soft[i] != 0) return true;
    return false;
  }

  /// Eight information bits of a block.
  CARILLON_GPU std::uint8_t decided(std::uint32_t b, std::uint32_t byte) const {
    const DecodeShape& shape = task_.shape;
    const std::uint32_t bits = task_.info_columns * task_.lifting;
    const std::uint32_t group = b / shape.blocks;
    std::uint32_t c = byte * 8 / task_.lifting, place = byte * 8 % task_.lifting, result = 0;
    for (std::uint32_t i = 0; i < 8 && byte * 8 + i < bits; ++i) {
      const std::uint32_t word = shape.blocks == 4 ? place : place % shape.words;
      const std::uint32_t lane = shape.blocks == 4 ? b % 4 : place / shape.words;
      const std::uint32_t value =
          word_at((c * column_words(shape) + group * shape.words + word) * 4);
      result |= (value >> (8 * lane + 7) & 1) << (7 - i);
      if (++place == task_.lifting) {
        place = 0;
        ++c;
      }
    }
    return static_cast<std::uint8_t>(result);
  }

  /// Marks the blocks with core checks that the decided bits do not satisfy. A sign that changed
  /// after its row was read is not in the count of the last iteration.
  CARILLON_GPU void find_broken(const DecodeThread& own) const {
    std::uint32_t broken = 0;
    for (std::uint32_t r = 0; r < kCoreRows; ++r) {
      const DecodeRow& row = task_.rows[r];
      std::uint32_t sum = 0;
      for (std::uint32_t j = 0; j < row.degree; ++j) {
        const Found found = find(own, task_.edges[row.first + j]);
        sum ^= simt::rotate_right(word_at(found.at), found.turn);
      }
      broken |= sum & kByteSigns;
    }
    add_lanes(own, &DecodeState::broken, broken);
  }

  Cta& cta_;
  const DecodeTask& task_;
  unsigned char* columns_;
  std::uint32_t* messages_;  // [record word][thread], then [block][chunk] for CRCs
  DecodeShared* all_;
  DecodeState* states_;
  DecodeEdge* edges_;          // of the task, for teams
  std::uint32_t blocks_;       // of the thread block
  std::uint32_t wrap_, step_;  // past a column's end: bytes back, bits to turn
  mutable typename Cta::template Own<DecodeThread> threads_;
};

template <std::uint32_t kGraph, std::uint32_t kTeam, typename Cta>
CARILLON_GPU void decode_blocks(Cta& cta, const DecodeTask& task) {
  Decoder<Cta, kTeam>(cta, task).template run<kGraph>();
}

/// What a launch of launch_of(task) runs.
template <std::uint32_t kGraph, typename Cta>
CARILLON_GPU void decode_block_of(Cta& cta, const DecodeTask& task) {
  if (task.shape.team == 1) return decode_blocks<kGraph, 1>(cta, task);
  decode_blocks<kGraph, 2>(cta, task);
}
template <typename Cta>
CARILLON_GPU void decode_block(Cta& cta, const DecodeTask& task) {
  if (task.base_graph == 1) return decode_block_of<1>(cta, task);
  decode_block_of<2>(cta, task);
}

}  // namespace carillon::phy::cuda
