// The decoder: row after row, every thread a word of four lanes of a row's checks.
//
// What bounds it is integer arithmetic, of which a GPU does half as much as of floating point, so
// four 8-bit lanes share a word. No GPU from sm_80 on adds or compares bytes by one instruction;
// but messages stay within ±28, and in ones' complement relative to its own sign a value with 7
// bits plus a message never carries into the next byte: plain additions, and one permutation
// (sign_bytes) for each decision. By sm_90's machine code an edge of four checks is 52
// instructions, of which 34 need the integer unit, and a row 60 more; pairs in 16 bits would need
// about 40 for two, and Hopper's instructions for these are emulated elsewhere.
//
// A word's lanes are bits w, w + Z/4, w + 2Z/4, w + 3Z/4 of a column: rotated by any shift they are
// another word with its bytes rotated. So nothing is ever unaligned, a row touches each word of a
// column once, and it can be updated in place: one barrier for each row. Where four does not divide
// Z, four code blocks share a word. Small blocks share a thread block.
//
// Posteriors and messages stay in shared memory, which limits how many threads an SM holds: of a
// row's messages only two magnitudes are kept, and of each edge which one it is and its sign, as
// bits between them. 66 KB for the longest block: three of them on an H200's SM.
#pragma once

#include "phy/crc/cuda.inl"
#include "phy/ldpc/cuda.hpp"

namespace carillon::phy::cuda {

inline constexpr std::uint32_t kByteOnes = 0x01010101, kByteSigns = 0x80808080,
                               kByteRests = 0x7f7f7f7f;
inline constexpr std::uint32_t kMessageOffset = 2, kMessageClip = 30;  // as in row.inl
inline constexpr std::uint32_t kDecodeThreads = 192;                   // at most
inline constexpr std::uint32_t kMayFail = 3;  // extension checks, as in decode.inl

// --- A row's messages: words 0 and 1 have the two magnitudes, 5 bits a lane. Flags fill up the
// rest of these bytes and then further words.

CARILLON_BOTH constexpr std::uint32_t flag_word(std::uint32_t flag) {
  return flag < 6 ? flag / 3 : 2 + (flag - 6) / 8;
}
CARILLON_BOTH constexpr std::uint32_t flag_bit(std::uint32_t flag) {
  return flag < 6 ? 5 + flag % 3 : (flag - 6) % 8;
}
CARILLON_BOTH constexpr std::uint32_t sign_flag(std::uint32_t edge) { return 2 * edge; }
CARILLON_BOTH constexpr std::uint32_t least_flag(std::uint32_t edge) { return 2 * edge + 1; }

CARILLON_BOTH constexpr std::uint32_t record_words(std::uint32_t degree) {
  return degree <= 3 ? 2 : flag_word(2 * degree - 1) + 1;
}

/// The bits of a record that are signs. A variable of this type has to be constexpr: what a loop
/// over edges would compute otherwise takes a GPU longer than the row does.
template <std::uint32_t kDegree>
struct SignBits {
  std::uint32_t word[record_words(kDegree)] = {};

  CARILLON_BOTH constexpr SignBits() {
    for (std::uint32_t j = 0; j < kDegree; ++j)
      word[flag_word(sign_flag(j))] |= kByteOnes << flag_bit(sign_flag(j));
  }
};

// --- Bytes

CARILLON_GPU inline std::uint32_t choose(std::uint32_t mask, std::uint32_t yes, std::uint32_t no) {
  return (mask & yes) | (~mask & no);
}

/// value & ~bits, by a subtraction: compilers would repeat the mask wherever the result is used.
CARILLON_GPU inline std::uint32_t without(std::uint32_t value, std::uint32_t bits) {
  return value - simt::opaque(value & bits);
}

/// Of bytes a < 128 with their highest bit set and b <= 128: max(a - b, 0).
CARILLON_GPU inline std::uint32_t excess(std::uint32_t a_marked, std::uint32_t b) {
  const std::uint32_t difference = a_marked - b;
  return difference & simt::sign_bytes(difference) & kByteRests;
}

/// The two least of the magnitudes seen, at most kMessageClip; highest bits set.
struct TwoLeast {
  std::uint32_t least = kByteSigns | kMessageClip * kByteOnes;
  std::uint32_t second = kByteSigns | kMessageClip * kByteOnes;

  CARILLON_GPU void include(std::uint32_t magnitude) {
    const std::uint32_t over = excess(least, magnitude);
    least -= over;
    second -= excess(second, magnitude + over);
  }
};

/// What a thread keeps: its word's four lanes.
struct DecodeThread {
  const std::int8_t* soft[4];  // of each lane, at place 0 of column 2
  std::uint32_t word, base;    // of the column; bytes from the first column
  std::uint32_t reach;         // to compare with DecodeEdge's limit, whatever its turn
  std::uint32_t core_failed, extension_failed;  // checks of each lane in this iteration
  std::uint32_t active;
};

/// A code block in shared memory.
struct DecodeState {
  std::uint32_t running, ripe, core_failed, extension_failed, broken;
};

/// Of all threads, after columns and messages.
struct DecodeShared {
  std::uint32_t running, ripe, rows;  // counts
  std::uint32_t received[kMaxRows];   // whether anything was, of a row's own column
  std::uint32_t row[kMaxRows];        // that are worked on, after the core's
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
  return decode_columns_bytes(task) + (task.records * task.shape.threads + sums) * 4;
}
CARILLON_BOTH constexpr std::uint32_t decode_shared_bytes(const DecodeTask& task) {
  return decode_shared_at(task) + static_cast<std::uint32_t>(sizeof(DecodeShared)) +
         task.shape.groups * task.shape.blocks * static_cast<std::uint32_t>(sizeof(DecodeState));
}

/// LLRs of a block.
CARILLON_BOTH constexpr std::uint32_t code_length(const DecodeTask& task) {
  return (task.base_graph == 1 ? 66U : 50U) * task.lifting;
}

template <typename Cta>
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
        for (std::uint32_t r = 0; r < kCoreRows; ++r) update<19, false>(r, first);
      } else {
        update<8, false>(0, first);
        update<10, false>(1, first);
        update<8, false>(2, first);
        update<10, false>(3, first);
      }
      const std::uint32_t rows = all_->rows;
      for (std::uint32_t i = 0; i < rows; ++i) extension<kGraph>(all_->row[i], first);
      end_iteration(iteration);
    }
    if (task_.judged != nullptr) conclude();
  }

 private:
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
      const std::uint32_t group = thread / shape.words;
      own.word = thread % shape.words;
      own.base = thread * 4;
      own.reach = own.word << 16 | 0xffff;
      own.core_failed = own.extension_failed = 0;
      own.active = group < shape.groups && block_of(group * shape.blocks) < task_.count ? 1 : 0;
      CARILLON_UNROLL
      for (std::uint32_t k = 0; k < 4; ++k) {
        const bool shared = shape.blocks == 4;
        own.soft[k] = soft_of(block_of(shared ? group * 4 + k : group)) + own.word +
                      (shared ? 0 : k * shape.words);
      }
      if (own.active != 0) load(own);
    });
    cta_.each(kMaxRows, [&](std::uint32_t r) { all_->received[r] = 0; });
    cta_.each(blocks_, [&](std::uint32_t b) {
      states_[b] = {block_of(b) < task_.count ? 1U : 0U, 0, 0, 0, 0};
    });
  }

  /// The core's columns: the first two were never sent, fillers are certain.
  CARILLON_GPU void load(DecodeThread& own) {
    const std::uint32_t stride = column_words(task_.shape) * 4;
    for (std::uint32_t c = 0; c < task_.info_columns + kCoreRows; ++c) {
      std::uint32_t word = c < 2 ? 0 : received(own, c - 2);
      const std::uint32_t least = word ^ kByteSigns;  // 0 where a byte is -128, which becomes -127
      word += ~(((least & kByteRests) + kByteRests) | least) >> 7 & kByteOnes;
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
      for (std::uint32_t r = kCoreRows; r < task_.row_end; ++r)
        if (received(own, task_.info_columns + r - 2) != 0) cta_.add(&all_->received[r], 1U);
    });
    cta_.each(1, [&](std::uint32_t) {
      all_->rows = 0;
      for (std::uint32_t r = kCoreRows; r < task_.row_end; ++r)
        if (all_->received[r] != 0) all_->row[all_->rows++] = r;
      all_->ripe = 0;
      all_->running = 0;
      for (std::uint32_t b = 0; b < blocks_; ++b) all_->running += states_[b].running;
    });
  }

  template <std::uint32_t kGraph>
  CARILLON_GPU void extension(std::uint32_t r, bool first) {
    switch (task_.rows[r].degree) {
      case 2: return update<2, true>(r, first);
      case 3: return update<3, true>(r, first);
      case 4: return update<4, true>(r, first);
      case 5: return update<5, true>(r, first);
      default: break;
    }
    if constexpr (kGraph == 1) {
      switch (task_.rows[r].degree) {
        case 6: return update<6, true>(r, first);
        case 7: return update<7, true>(r, first);
        case 8: return update<8, true>(r, first);
        default: return update<9, true>(r, first);
      }
    }
  }

  struct Found {
    std::uint32_t at, turn;
  };
  CARILLON_GPU Found find(const DecodeThread& own, const DecodeEdge& edge) const {
    const bool back = own.reach >= edge.limit_and_turn;
    return {own.base + edge.start - (back ? wrap_ : 0), edge.limit_and_turn + (back ? step_ : 0)};
  }

  template <std::uint32_t kDegree, bool kExtension>
  CARILLON_GPU void update(std::uint32_t r, bool first) {
    cta_.each_thread([&](std::uint32_t thread) {
      DecodeThread& own = threads_[thread];
      if (own.active == 0) return;
      update<kDegree, kExtension>(task_.rows[r], own, first, messages_ + thread,
                                  kExtension ? received(own, task_.info_columns + r - 2) : 0);
    });
  }

  // With x and the mask s of the sign in place of a value: v = x ^ s, |v| = x + (s & 1).
  template <std::uint32_t kDegree, bool kExtension>
  CARILLON_GPU void update(const DecodeRow& row, DecodeThread& own, bool first,
                           std::uint32_t* messages, std::uint32_t last) {
    constexpr std::uint32_t kWords = record_words(kDegree);
    messages += row.record * task_.shape.threads;
    std::uint32_t record[kWords];
    CARILLON_UNROLL
    for (std::uint32_t i = 0; i < kWords; ++i)
      record[i] = first ? 0 : messages[i * task_.shape.threads];
    const std::uint32_t old_low = without(record[0], 0xe0 * kByteOnes),
                        old_high = without(record[1], 0xe0 * kByteOnes);

    std::uint32_t x[kDegree], sign[kDegree];
    Found found[kDegree];
    TwoLeast two;
    std::uint32_t parity = 0;
    CARILLON_UNROLL
    for (std::uint32_t j = 0; j < kDegree; ++j) {
      found[j] = find(own, task_.edges[row.first + j]);
      const std::uint32_t value = simt::rotate_right(word_at(found[j].at), found[j].turn);
      // What the row said last is taken out: minus it is `strength`, negative by `minus`.
      const std::uint32_t minus = flag(record, sign_flag(j));
      const std::uint32_t strength = choose(flag(record, least_flag(j)), old_high, old_low);
      const std::uint32_t turned = value ^ minus;
      const std::uint32_t sum = (turned & kByteRests) + strength;
      const std::uint32_t negative = simt::sign_bytes(turned & ~sum);
      const std::uint32_t over = simt::sign_bytes(sum & ~turned);
      x[j] = ((sum ^ negative) | over) & kByteRests;
      sign[j] = negative ^ minus;
      parity ^= sign[j];
      two.include(x[j] + (sign[j] & kByteOnes));
    }

    // Core checks that know all their columns but in the first iteration, as in row.inl.
    const std::uint32_t known = first && !kExtension ? two.least - kByteOnes : kByteSigns;
    std::uint32_t failed = parity;
    if constexpr (kExtension) {
      // The column itself goes with the stronger side, as in row.inl.
      const std::uint32_t negative = simt::sign_bytes(last);
      const std::uint32_t magnitude = (last ^ negative) + (negative & kByteOnes);
      const std::uint32_t strength =
          kMessageClip * kByteOnes - excess(kByteSigns | kMessageClip * kByteOnes, magnitude);
      parity ^= negative;
      failed = parity & ~(two.least - strength);
      two.include(strength);
    }
    (kExtension ? own.extension_failed : own.core_failed) += (failed & known) >> 7 & kByteOnes;
    const std::uint32_t low = excess(two.least, kMessageOffset * kByteOnes);
    const std::uint32_t high = excess(two.second, kMessageOffset * kByteOnes);

    record[0] = low;
    record[1] = high;
    CARILLON_UNROLL
    for (std::uint32_t i = 2; i < kWords; ++i) record[i] = 0;
    const std::uint32_t odd = without(parity, kByteSigns);
    CARILLON_UNROLL
    for (std::uint32_t j = 0; j < kDegree; ++j) {
      const std::uint32_t is_least = simt::sign_bytes(two.least - (x[j] + (sign[j] & kByteOnes)));
      record[flag_word(sign_flag(j))] +=
          simt::opaque(sign[j] & kByteOnes << flag_bit(sign_flag(j)));
      raise(record, least_flag(j), is_least);
      // Relative to the sign of the value: where parity is odd, 127 - x + strength is 127 less the
      // result; else the result, which may be above 127.
      std::uint32_t sum = (x[j] ^ odd) + choose(is_least, high, low);
      sum = choose(simt::sign_bytes(sum & ~parity), kByteRests, sum);
      word_at(found[j].at) = simt::rotate_left(sum ^ odd ^ sign[j], found[j].turn);
    }
    constexpr SignBits<kDegree> signs;
    CARILLON_UNROLL
    for (std::uint32_t i = 0; i < kWords; ++i)
      messages[i * task_.shape.threads] = record[i] ^ (~parity & signs.word[i]);
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
      count(thread, own);
      own.core_failed = own.extension_failed = 0;
    });
    cta_.each(blocks_, [&](std::uint32_t b) {
      DecodeState& state = states_[b];
      if (state.running == 0) return;
      const bool settled = state.core_failed + state.extension_failed <= kMayFail;
      const bool try_crc = task_.try_crc && state.core_failed <= task_.tolerated;
      state.ripe = last || (task_.early_stop && (settled || try_crc)) ? 1 : 0;
      state.broken = 0;
      state.core_failed = 0;
      if (state.ripe == 0)
        state.extension_failed = 0;
      else
        cta_.add(&all_->ripe, 1U);
    });
    if (all_->ripe != 0) judge(iteration, last);
  }

  CARILLON_GPU void count(std::uint32_t thread, const DecodeThread& own) const {
    const std::uint32_t group = thread / task_.shape.words;
    if (task_.shape.blocks == 1) {
      DecodeState& state = states_[group];
      if (own.core_failed != 0) cta_.add(&state.core_failed, own.core_failed * kByteOnes >> 24);
      if (own.extension_failed != 0)
        cta_.add(&state.extension_failed, own.extension_failed * kByteOnes >> 24);
      return;
    }
    for (std::uint32_t k = 0; k < 4; ++k) {
      DecodeState& state = states_[group * 4 + k];
      cta_.add(&state.core_failed, own.core_failed >> 8 * k & 0xff);
      cta_.add(&state.extension_failed, own.extension_failed >> 8 * k & 0xff);
    }
  }

  CARILLON_GPU std::uint8_t* info_of(std::uint32_t b) const {
    return task_.info_list != nullptr ? task_.info_list[block_of(b)]
                                      : task_.info + block_of(b) * task_.info_stride;
  }

  CARILLON_GPU void judge(std::uint32_t iteration, bool last) {
    const std::uint32_t bytes = simt::divide_up(task_.info_columns * task_.lifting, 8);
    cta_.each(blocks_ * bytes, [&](std::uint32_t i) {
      const std::uint32_t b = i / bytes, byte = i % bytes;
      if (states_[b].ripe != 0) info_of(b)[byte] = decided(b, byte);
    });
    cta_.each_thread([&](std::uint32_t thread) {
      if (threads_[thread].active != 0) find_broken(thread);
    });
    std::uint32_t* const sums = messages_ + task_.records * task_.shape.threads;
    if (task_.crc.width != 0)
      crc_registers(
          cta_, task_.crc, blocks_, sums, [&](std::uint32_t b) { return states_[b].ripe != 0; },
          [&](std::uint32_t b, std::uint32_t n) {
            const std::uint8_t* const from = info_of(b) + n / 8;
            std::uint32_t word = 0;
            for (std::uint32_t k = 0; k < 4; ++k)
              word |= n / 8 + k < bytes ? std::uint32_t{from[k]} << (24 - 8 * k) : 0;
            return word;
          });
    cta_.each(blocks_, [&](std::uint32_t b) {
      if (b == 0) all_->ripe = 0;
      DecodeState& state = states_[b];
      if (state.ripe == 0) return;
      DecodeResult result;
      result.iterations = static_cast<std::uint16_t>(iteration);
      result.parity = state.broken == 0 && state.extension_failed <= kMayFail;
      result.crc = task_.crc.width != 0 && crc_parity(task_.crc, sums[b * task_.crc.chunks]) == 0;
      state.ripe = 0;
      state.extension_failed = 0;
      if (!last && !result.parity && !result.crc) return;
      task_.results[block_of(b)] = result;
      state.running = 0;
      cta_.add(&all_->running, ~0U);
    });
    cta_.each_thread([&](std::uint32_t thread) {
      DecodeThread& own = threads_[thread];
      if (own.active == 0) return;
      own.active = 0;
      const std::uint32_t first = thread / task_.shape.words * task_.shape.blocks;
      for (std::uint32_t b = first; b < first + task_.shape.blocks; ++b)
        own.active |= states_[b].running;
    });
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
  CARILLON_GPU void find_broken(std::uint32_t thread) const {
    const DecodeThread& own = threads_[thread];
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
    if (broken == 0) return;
    const std::uint32_t group = thread / task_.shape.words;
    if (task_.shape.blocks == 1) return cta_.add(&states_[group].broken, 1U);
    for (std::uint32_t k = 0; k < 4; ++k)
      cta_.add(&states_[group * 4 + k].broken, broken >> (8 * k + 7) & 1);
  }

  Cta& cta_;
  const DecodeTask& task_;
  unsigned char* columns_;
  std::uint32_t* messages_;  // [record word][thread], then [block][chunk] for CRCs
  DecodeShared* all_;
  DecodeState* states_;
  std::uint32_t blocks_;       // of the thread block
  std::uint32_t wrap_, step_;  // past a column's end: bytes back, bits to turn
  mutable typename Cta::template Own<DecodeThread> threads_;
};

template <std::uint32_t kGraph, typename Cta>
CARILLON_GPU void decode_blocks(Cta& cta, const DecodeTask& task) {
  Decoder<Cta>(cta, task).template run<kGraph>();
}

/// What a launch of launch_of(task) runs.
template <typename Cta>
CARILLON_GPU void decode_block(Cta& cta, const DecodeTask& task) {
  if (task.base_graph == 1) return decode_blocks<1>(cta, task);
  decode_blocks<2>(cta, task);
}

}  // namespace carillon::phy::cuda
