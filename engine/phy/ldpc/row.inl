// One row of the base graph: Z parity checks, one per lane. Offset-min-sum: with bit-to-check
// messages t, the check's message to edge j is f(min over the others of |t|) with the product of
// the others' signs, f(x) = min(x, kClip) - kOffset, at least 0.
//
// Columns lie rotated as their last row left them and are read at the difference of the shifts;
// what is written lies in this row's rotation. A buffer holds the column and then its beginning
// again, at least a vector of it. So a vector that starts anywhere in the column is one load, and
// lanes past Z compute what the lanes they repeat compute, or, in the last vector of a longer
// column, what is then overwritten: no size needs a mask.

namespace {

inline constexpr int kOffset = 2;  // 0.5 in units of the LLR scale 4
inline constexpr int kClip = 30;   // largest magnitude looked at: messages stay within ±28

struct Row {
  std::int8_t* buffers;          // of all columns
  const std::uint16_t* starts;   // [vector][edge]: where each edge's vector is read, in `buffers`
  const std::uint16_t* to;       // [edge]: where its column is written
  std::int8_t* messages;         // [vector][edge] of this row, kByteLanes each
  const std::int8_t* extension;  // channel LLRs of the column that only this row knows
  std::uint32_t z;
};

// From `inside(count)` on, -1 for `count` lanes, then 0 for a vector.
alignas(64) inline constexpr auto kInside = [] {
  std::array<std::int8_t, kMaxLanes + kMaxByteLanes> table{};
  for (std::size_t i = 0; i < kMaxLanes; ++i) table[i] = -1;
  return table;
}();
[[gnu::always_inline]] inline const std::int8_t* inside(std::uint32_t count) {
  return &kInside[kMaxLanes - count];
}

// Over the edges seen so far.
struct Minima {
  Vb least, second;  // magnitudes, at most kClip
  Vb parity;         // negative: an odd number of ones
};

// What a row says to its edges: f(least), to the one that was the least itself f(second); both
// negated where the parity is odd, so that an edge has only its own sign to take out.
struct Outcome {
  Vb least, low, high;
};

// Where the beginning of a column is repeated: a multiple of Z, so that every place p < wrap + 1
// starts a whole vector.
constexpr std::uint32_t wrap_place(std::uint32_t z) {
  return z >= kByteLanes ? z : kByteLanes / z * z;
}

// The messages of one vector are written while the next is read: reading is bound by minima,
// writing by masks and stores, and neither waits for the other. About 11.5 operations an edge.
// Loads of addresses are not hidden behind them: one for four edges is left.
template <std::uint32_t Degree, bool Extension, bool First>
class RowUpdate {
 public:
  [[gnu::always_inline]] explicit RowUpdate(const Row& row)
      : row_(row), inside_(inside(row.z)), extension_(row.extension) {}

  // Returns, by lane, the number of checks that do not hold for the signs they were given.
  [[gnu::always_inline]] Vb run() {
    std::int8_t* messages = row_.messages;
    std::int8_t* const buffers = row_.buffers;
    const std::uint32_t z = row_.z;
    Vb t[Degree], strength[Degree];
    Outcome outcome;
    Minima minima;
    const std::uint16_t* starts = row_.starts;
    const Places to(row_.to);
    {
      const Places from(starts);
      unroll<Degree>([&](auto j) __attribute__((always_inline)) {
        read(j, buffers + from.template at<j>(), messages, t[j], strength[j], minima);
      });
    }
    Vb failed = finish(Vb{}, 0, minima, outcome);
    std::uint32_t i = 0;
    for (; i + kByteLanes < z; messages += Degree * kByteLanes) {
      starts += places_for(Degree);
      const Places from(starts);
      unroll<Degree>([&](auto j) __attribute__((always_inline)) {
        write(j, buffers + i + to.template at<j>(), messages, t[j], strength[j], outcome);
        read(j, buffers + from.template at<j>(), messages + Degree * kByteLanes, t[j], strength[j],
             minima);
      });
      i += kByteLanes;
      failed = finish(failed, i, minima, outcome);
    }
    unroll<Degree>([&](auto j) __attribute__((always_inline)) {
      std::int8_t* const column = buffers + to.template at<j>();
      write(j, column + i, messages, t[j], strength[j], outcome);
      store_bytes(column + wrap_place(z), load_bytes(column));
    });
    return failed;
  }

 private:
  // A place in `buffers` for each edge, four in a register.
  class Places {
   public:
    [[gnu::always_inline]] explicit Places(const std::uint16_t* from) {
      std::memcpy(words_, from, sizeof words_);
    }
    template <std::size_t J>
    [[gnu::always_inline]] std::size_t at() const {
      std::uint64_t word = words_[J / kPlacesAtOnce];
      asm("" : "+r"(word));  // else each place that a row keeps would be kept apart, in memory
      return word >> (J % kPlacesAtOnce * 16) & 0xffff;
    }

   private:
    std::uint64_t words_[places_for(Degree) / kPlacesAtOnce];
  };

  // Where there are registers for it.
  static constexpr bool kKeepsStrength = kByteLanes == 64 && Degree <= 10;

  [[gnu::always_inline]] void include(Vb magnitude, Minima& minima) const {
    minima.second = smaller(minima.second, larger(minima.least, magnitude));
    minima.least = smaller(minima.least, magnitude);
  }

  [[gnu::always_inline]] void read(std::size_t j, const std::int8_t* from,
                                   const std::int8_t* messages, Vb& t, Vb& strength,
                                   Minima& minima) const {
    t = load_bytes(from);
    if constexpr (!First) t = subtract_saturated(t, load_bytes(messages + j * kByteLanes));
    strength = magnitude(t);
    if (j == 0) {
      minima = {smaller(strength, broadcast_byte(kClip)), broadcast_byte(kClip), t};
    } else {
      minima.parity ^= t;
      include(strength, minima);
    }
  }

  [[gnu::always_inline]] void write(std::size_t j, std::int8_t* to, std::int8_t* messages, Vb t,
                                    Vb strength, const Outcome& outcome) {
    if constexpr (!kKeepsStrength)
      strength = negated(t, t);  // again, by the mask that the sign needs
    const Vb chosen = choose_equal(strength, outcome.least, outcome.high, outcome.low);
    const Vb message = negated(chosen, t);
    store_bytes(messages + j * kByteLanes, message);
    store_bytes(to, add_saturated(t, message));
  }

  [[gnu::always_inline]] Vb finish(Vb counts, std::uint32_t i, Minima minima, Outcome& outcome) {
    Vb failed = minima.parity;
    if constexpr (Extension) {
      // The column itself goes with the stronger side, channel or others, who are certain at kClip:
      // the check fails where the channel is against the others and stronger.
      const Vb last = load_bytes(extension_ + i);
      const Vb strength = smaller(magnitude(last), broadcast_byte(kClip));
      minima.parity ^= last;
      failed = minima.parity & (minima.least - strength);
      include(strength, minima);
    } else if constexpr (First) {
      // At first the core's checks know nothing of the columns that were never sent, and recover
      // them on the way. Whether they hold is found out from the decided bits in the end, so that a
      // block without errors need not wait for another iteration.
      failed &= Vb{} - minima.least;
    }
    const Vb offset = broadcast_byte(kOffset);
    outcome.least = minima.least;
    outcome.low = negated(subtract_to_zero(minima.least, offset), minima.parity);
    outcome.high = negated(subtract_to_zero(minima.second, offset), minima.parity);
    return count_negative(counts, failed & load_bytes(inside_ + i));
  }

  const Row& row_;
  const std::int8_t* const inside_;
  const std::int8_t* const extension_;
};

template <std::uint32_t Degree, bool Extension, bool First>
Vb update_row(const Row& row) {
  return RowUpdate<Degree, Extension, First>(row).run();
}

using UpdateRow = Vb (*)(const Row&);

// [extension][first iteration][degree without the extension column]
template <bool Extension, bool First, std::size_t... D>
constexpr std::array<UpdateRow, 11> row_updates(std::index_sequence<D...>) {
  return {(D < 2 ? nullptr : &update_row<(D < 2 ? 2 : D), Extension, First>)...};
}
template <bool Extension, bool First>
inline constexpr auto kRowUpdates = row_updates<Extension, First>(std::make_index_sequence<11>{});

inline UpdateRow row_update(std::uint32_t degree, bool extension, bool first) {
  if (extension) return first ? kRowUpdates<true, true>[degree] : kRowUpdates<true, false>[degree];
  if (degree == kMaxDegree)
    return first ? &update_row<kMaxDegree, false, true> : &update_row<kMaxDegree, false, false>;
  return first ? kRowUpdates<false, true>[degree] : kRowUpdates<false, false>[degree];
}

}  // namespace
