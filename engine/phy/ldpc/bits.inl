// Columns as bits: Z of them, least significant first, in 512. Bits past Z are arbitrary unless a
// function says otherwise.

namespace {

template <std::uint32_t N, typename F>
[[gnu::always_inline]] inline void unroll(F&& f) {
  [&]<std::size_t... J>(std::index_sequence<J...>) __attribute__((always_inline)) {
    (f(std::integral_constant<std::size_t, J>{}), ...);
  }
  (std::make_index_sequence<N>{});
}

using Words [[gnu::vector_size(kLanes * 4)]] = std::uint64_t;

struct Bits {
  static constexpr std::size_t kParts = 64 / sizeof(Words);
  Words part[kParts];

  std::uint64_t word(std::size_t i) const { return part[i / (kLanes / 2)][i % (kLanes / 2)]; }
};

template <typename F>
[[gnu::always_inline]] inline Bits each_part(F&& f) {
  Bits result;
  unroll<Bits::kParts>([&](auto i) __attribute__((always_inline)) { result.part[i] = f(i); });
  return result;
}
[[gnu::always_inline]] inline Bits operator^(const Bits& a, const Bits& b) {
  return each_part([&](auto i) __attribute__((always_inline)) { return a.part[i] ^ b.part[i]; });
}
[[gnu::always_inline]] inline Bits load_bits(const std::uint8_t* p) {
  return each_part([&](auto i) __attribute__((always_inline)) {
    Words v;
    std::memcpy(&v, p + i * sizeof v, sizeof v);
    return v;
  });
}
[[gnu::always_inline]] inline void store_bits(std::uint8_t* p, const Bits& v) {
  unroll<Bits::kParts>([&](auto i) __attribute__((always_inline)) {
    std::memcpy(p + i * sizeof(Words), &v.part[i], sizeof(Words));
  });
}

constexpr std::uint64_t low_mask(std::uint32_t bits) {
  return bits >= 64 ? ~0ULL : (1ULL << bits) - 1;
}

// Stores a column twice in a row, so that bits s … s+Z-1 are the column rotated by s < Z. Sizes
// from 64 on are whole bytes.
[[gnu::always_inline]] inline void store_column(std::uint8_t* to, const Bits& column,
                                                std::uint32_t z) {
  if (z >= 64) {
    store_bits(to, column);
    store_bits(to + z / 8, column);
  } else {
    const std::uint64_t x = column.word(0) & low_mask(z);
    const std::uint64_t twice[2] = {x | x << z, x >> (64 - z)};
    std::memcpy(to, twice, sizeof twice);
  }
}

// The column rotated by s. Two loads one byte apart give every 64-bit lane the bits it needs; the
// lanes' common bits agree.
[[gnu::always_inline]] inline Bits rotated(const std::uint8_t* column, std::uint32_t s) {
  const Bits low = load_bits(column + s / 8), high = load_bits(column + s / 8 + 1);
  return each_part([&](auto i) __attribute__((always_inline)) {
    return low.part[i] >> (s % 8) | high.part[i] << (8 - s % 8);
  });
}

// Modulo-2 sum of the rotated columns of edges first … last-1: Z parity checks at once.
[[gnu::always_inline]] inline Bits sum_edges(const BaseGraph& graph, std::uint32_t first,
                                             std::uint32_t last,
                                             const std::uint8_t (*columns)[128]) {
  Bits sum = {};
  for (std::uint32_t e = first; e < last; ++e)
    sum = sum ^ rotated(columns[graph.column[e]], graph.shift[e]);
  return sum;
}

inline bool any(const Bits& column, std::uint32_t z) {
  std::uint64_t found = 0;
  for (std::uint32_t i = 0; i * 64 < z; ++i) found |= column.word(i) & low_mask(z - i * 64);
  return found != 0;
}

// Reverses the bits of every byte: payload order to coded order and back.
inline void reverse_bits(const std::uint8_t* from, std::uint8_t* to, std::size_t bytes) {
  const auto reverse = [](Words v) __attribute__((always_inline)) {
    constexpr std::uint64_t k1 = 0x5555555555555555, k2 = 0x3333333333333333,
                            k4 = 0x0f0f0f0f0f0f0f0f;
    v = (v >> 1 & k1) | (v & k1) << 1;
    v = (v >> 2 & k2) | (v & k2) << 2;
    return (v >> 4 & k4) | (v & k4) << 4;
  };
  for (std::size_t i = 0; i < bytes; i += sizeof(Words)) {
    const std::size_t count = std::min(sizeof(Words), bytes - i);
    Words v = {};
    std::memcpy(&v, from + i, count);
    v = reverse(v);
    std::memcpy(to + i, &v, count);
  }
}

// Column c of a run of columns without gaps, of which 64 bytes past the end can be read.
[[gnu::always_inline]] inline Bits read_column(const std::uint8_t* run, std::uint32_t c,
                                               std::uint32_t z) {
  const std::size_t bit = std::size_t{c} * z;
  if (z >= 64) return load_bits(run + bit / 8);
  std::uint64_t word;  // holds Z bits from any place: the sizes above 56 are multiples of four
  std::memcpy(&word, run + bit / 8, sizeof word);
  Bits column = {};
  column.part[0][0] = word >> (bit % 8);
  return column;
}

// Writes columns one after the other without gaps, and nothing past the last.
class ColumnWriter {
 public:
  ColumnWriter(std::uint8_t* to, std::size_t bits, std::uint32_t z)
      : to_(to), end_(to + (bits + 7) / 8), z_(z) {}

  [[gnu::always_inline]] void put(const Bits& column) {
    if (z_ >= 64) {
      if (end_ - to_ >= 64)
        store_bits(to_, column);
      else
        std::memcpy(to_, &column, z_ / 8);
      to_ += z_ / 8;
      return;
    }
    const std::uint64_t x = column.word(0) & low_mask(z_);
    pending_ |= x << count_;
    count_ += z_;
    if (count_ < 64) return;
    std::memcpy(to_, &pending_, 8);
    to_ += 8;
    count_ -= 64;
    pending_ = count_ == 0 ? 0 : x >> (z_ - count_);
  }

  void finish() { std::memcpy(to_, &pending_, (count_ + 7) / 8); }

 private:
  std::uint8_t* to_;
  std::uint8_t* end_;
  std::uint64_t pending_ = 0;
  std::uint32_t count_ = 0;  // pending bits
  std::uint32_t z_;
};

}  // namespace
