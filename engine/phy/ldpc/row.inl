// One row of the base graph: Z parity checks, one per lane. Offset-min-sum: with bit-to-check
// messages t, the check's message to edge j is f(min over the others of |t|) with the product of
// the others' signs, f(x) = min(x, kClip) - kOffset, at least 0.
//
// Columns lie rotated as their last row left them and are read at the difference of the shifts;
// what is written lies in this row's rotation. A buffer holds the column and then its beginning
// again, at least a vector of it. So a vector that starts anywhere in the column is one load, and
// lanes past Z compute exactly what the lanes they repeat compute: no size needs a mask.

namespace {

inline constexpr int kOffset = 2;  // 0.5 in units of the LLR scale 4
inline constexpr int kClip = 30;   // largest magnitude looked at: messages stay within ±28

struct Row {
  const std::int8_t* from[kMaxDegree];
  std::int8_t* to[kMaxDegree];
  std::uint32_t offset[kMaxDegree];  // where in `from` this row's check 0 reads
  std::int8_t* messages;             // [vector][edge] of this row, kByteLanes each
  const std::int8_t* extension;      // channel LLRs of the column that only this row knows
  std::uint32_t z;
};

template <std::uint32_t N, typename F>
[[gnu::always_inline]] inline void unroll(F&& f) {
  [&]<std::size_t... J>(std::index_sequence<J...>) __attribute__((always_inline)) {
    (f(std::integral_constant<std::size_t, J>{}), ...);
  }
  (std::make_index_sequence<N>{});
}

// Where the beginning of a column is repeated: a multiple of Z, so that every place p < wrap + 1
// starts a whole vector.
constexpr std::uint32_t wrap_place(std::uint32_t z) {
  return z >= kByteLanes ? z : kByteLanes / z * z;
}

// Returns the number of checks that do not hold for the signs they were given.
template <std::uint32_t Degree, bool Extension, bool First>
std::uint32_t update_row(Row& row) {
  const std::uint32_t z = row.z, wrap = wrap_place(z);
  std::int8_t* messages = row.messages;
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < z; i += kByteLanes, messages += Degree * kByteLanes) {
    Vb t[Degree], a[Degree];
    Vb least = broadcast_byte(kClip), second = least, parity = {};
    unroll<Degree>([&](auto j) __attribute__((always_inline)) {
      t[j] = load_bytes(row.from[j] + row.offset[j]);
      row.offset[j] += kByteLanes;
      if (row.offset[j] >= z) row.offset[j] -= z;
      if constexpr (!First) t[j] = subtract_saturated(t[j], load_bytes(messages + j * kByteLanes));
      a[j] = magnitude(t[j]);
      parity ^= t[j];
      second = smaller(second, larger(least, a[j]));
      least = smaller(least, a[j]);
    });
    const Vb offset = broadcast_byte(kOffset);
    Vb unsatisfied = parity;
    if constexpr (Extension) {
      // The column itself goes with the channel or with the others, who are certain at kClip: the
      // check fails where the channel is against them and stronger.
      const Vb last = load_bytes(row.extension + i), strength = magnitude(last);
      const Vb others = choose_equal(least, broadcast_byte(kClip), broadcast_byte(127),
                                     subtract_to_zero(least, offset));
      parity ^= last;
      unsatisfied = parity & (others - strength);
      second = smaller(second, larger(least, strength));
      least = smaller(least, strength);
    }
    const Vb low = negated(subtract_to_zero(least, offset), parity);
    const Vb high = negated(subtract_to_zero(second, offset), parity);
    unroll<Degree>([&](auto j) __attribute__((always_inline)) {
      const Vb message = negated(choose_equal(a[j], least, high, low), t[j]);
      store_bytes(messages + j * kByteLanes, message);
      store_bytes(row.to[j] + i, add_saturated(t[j], message));
    });
    const std::uint32_t lanes = std::min(z - i, kByteLanes);
    count += static_cast<std::uint32_t>(
        std::popcount(static_cast<Signs>(signs(unsatisfied) & low_mask(lanes))));
  }
  unroll<Degree>([&](auto j) __attribute__((always_inline)) {
    store_bytes(row.to[j] + wrap, load_bytes(row.to[j]));
  });
  return count;
}

using UpdateRow = std::uint32_t (*)(Row&);

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
