// What message passing leaves open, as in peel.inl: a check that lacks one bit gives it. In place,
// a word of four checks by one thread, a barrier after every row: this is seldom needed, and takes
// as long as several iterations.
#pragma once

#include "phy/ldpc/cuda_layout.inl"

namespace carillon::phy::cuda {

/// Of a decoder whose last iteration is over. Its ripe blocks are those that failed; they get
/// another result if what is unknown of them follows from the rest and nothing contradicts it.
template <typename Decoder>
class Peeling {
 public:
  CARILLON_GPU explicit Peeling(Decoder& decoder)
      : in_(decoder), task_(decoder.task_), blocks_(decoder.blocks_), states_(decoder.states_) {}

  CARILLON_GPU void run(std::uint32_t iteration) {
    leave_out_doubtful();
    const std::uint32_t rows = kCoreRows + in_.all_->step[in_.all_->steps];
    do {
      for (std::uint32_t i = 0; i < rows; ++i) {
        if (!some([](const DecodeState& state) { return state.ripe; })) return;
        row(i < kCoreRows ? i : in_.all_->row[i - kCoreRows]);
      }
      in_.cta_.each(blocks_, [&](std::uint32_t b) {
        DecodeState& state = states_[b];
        state.running = state.any != 0 ? state.ripe : 0;
        state.any = state.core_failed = state.extension_failed = 0;
      });
    } while (some([](const DecodeState& state) { return state.running; }));
    conclude(iteration);
  }

 private:
  /// Whether it is so of a block; all threads see the same.
  template <typename Is>
  CARILLON_GPU bool some(Is&& is) const {
    std::uint32_t found = 0;
    for (std::uint32_t b = 0; b < blocks_; ++b) found |= is(states_[b]);
    return found != 0;
  }

  /// Blocks of which not all that was received can be right.
  CARILLON_GPU void leave_out_doubtful() const {
    in_.cta_.each(blocks_, [&](std::uint32_t b) { states_[b].core_failed = 0; });
    in_.cta_.each_thread([&](std::uint32_t thread) {
      for (std::uint32_t b = 0; b < blocks_; ++b)
        if (states_[b].ripe != 0) in_.cta_.add(&states_[b].core_failed, weak_of(b, thread));
    });
    in_.cta_.each(blocks_, [&](std::uint32_t b) {
      if (states_[b].core_failed > kMostWeak) states_[b].ripe = 0;
      states_[b].core_failed = 0;
    });
  }
  /// How many of a thread's part of a block's soft bits are weak.
  CARILLON_GPU std::uint32_t weak_of(std::uint32_t b, std::uint32_t thread) const {
    const std::int8_t* const soft = in_.soft_of(in_.block_of(b));
    const std::uint32_t length = code_length(task_), unsent = 2 * task_.lifting;
    const std::uint32_t info = task_.info_columns * task_.lifting;
    std::uint32_t weak = 0;
    for (std::uint32_t i = thread; i < length; i += task_.shape.threads) {
      const bool filler = i + unsent >= task_.known && i + unsent < info;
      weak += !filler && soft[i] != 0 && soft[i] >= -kWeak && soft[i] <= kWeak ? 1 : 0;
    }
    return weak;
  }

  CARILLON_GPU void row(std::uint32_t r) const {
    in_.cta_.each_thread([&](std::uint32_t thread) {
      const DecodeThread& own = in_.threads_[thread];
      if (own.active != 0 && in_.sharer(own) == 0) checks(own, r);
    });
    in_.cta_.each(blocks_, [&](std::uint32_t b) {
      if (states_[b].broken != 0) states_[b].ripe = 0;
    });
  }

  /// A thread's four checks of a row.
  CARILLON_GPU void checks(const DecodeThread& own, std::uint32_t r) const {
    const DecodeRow& row = task_.rows[r];
    std::uint32_t odd = r < kCoreRows ? 0 : in_.received(own, task_.info_columns + r - 2);
    std::uint32_t once = r < kCoreRows ? 0 : zeros(odd), twice = 0;
    for (std::uint32_t j = 0; j < row.degree; ++j) {
      const auto found = in_.find(own, task_.edges[row.first + j]);
      const std::uint32_t word = simt::rotate_right(in_.word_at(found.at), found.turn);
      odd ^= word;
      twice |= once & zeros(word);
      once |= zeros(word);
    }
    in_.add_lanes(own, &DecodeState::broken, odd & kByteSigns & ~once);
    const std::uint32_t lacks_one = once & ~twice;
    if (lacks_one == 0) return;
    for (std::uint32_t j = 0; j < row.degree; ++j) {
      const auto found = in_.find(own, task_.edges[row.first + j]);
      std::uint32_t& word = in_.word_at(found.at);
      const std::uint32_t given = zeros(simt::rotate_right(word, found.turn)) & lacks_one;
      in_.add_lanes(own, &DecodeState::any, given);
      // 1, or -1 where the other bits are odd.
      word |= simt::rotate_left(given >> 7 | simt::sign_bytes(given & odd), found.turn);
    }
  }

  CARILLON_GPU void conclude(std::uint32_t iteration) const {
    const std::uint32_t stride = column_words(task_.shape) * 4;
    in_.cta_.each_thread([&](std::uint32_t thread) {
      const DecodeThread& own = in_.threads_[thread];
      if (own.active == 0) return;
      for (std::uint32_t c = in_.sharer(own); c < task_.info_columns + kCoreRows;
           c += in_.sharers())
        in_.add_lanes(
            own,
            c < task_.info_columns ? &DecodeState::core_failed : &DecodeState::extension_failed,
            zeros(in_.word_at(own.base + c * stride)));
    });
    in_.cta_.each(blocks_, [&](std::uint32_t b) {
      if (states_[b].core_failed != 0) states_[b].ripe = 0;
    });
    in_.write_decided();
    in_.cta_.each(blocks_, [&](std::uint32_t b) {
      if (states_[b].ripe != 0)
        task_.results[in_.block_of(b)] =
            in_.result_of(b, iteration, states_[b].extension_failed == 0);
    });
  }

  Decoder& in_;
  const DecodeTask& task_;
  std::uint32_t blocks_;
  DecodeState* states_;
};

}  // namespace carillon::phy::cuda
