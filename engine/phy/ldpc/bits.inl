// Columns as bits: Z of them, least significant first, in 512. Bits past Z are arbitrary unless a
// function says otherwise.

namespace {

using Words [[gnu::vector_size(kLanes * 4)]] = std::uint64_t;

// Shifts of every word, zero for a count of 64; and a table of 16 bytes looked up by every byte.
#if CARILLON_SIMD_AVX512
[[gnu::always_inline]] inline Words shift_right(Words v, __m128i count) {
  return reinterpret_cast<Words>(_mm512_maskz_srl_epi64(0xff, reinterpret_cast<__m512i>(v), count));
}
[[gnu::always_inline]] inline Words shift_left(Words v, __m128i count) {
  return reinterpret_cast<Words>(_mm512_maskz_sll_epi64(0xff, reinterpret_cast<__m512i>(v), count));
}
[[gnu::always_inline]] inline Words look_up(Words table, Words v) {
  return reinterpret_cast<Words>(_mm512_maskz_shuffle_epi8(
      ~std::uint64_t{0}, reinterpret_cast<__m512i>(table), reinterpret_cast<__m512i>(v)));
}
#else
[[gnu::always_inline]] inline Words shift_right(Words v, __m128i count) {
  return reinterpret_cast<Words>(_mm256_srl_epi64(reinterpret_cast<__m256i>(v), count));
}
[[gnu::always_inline]] inline Words shift_left(Words v, __m128i count) {
  return reinterpret_cast<Words>(_mm256_sll_epi64(reinterpret_cast<__m256i>(v), count));
}
[[gnu::always_inline]] inline Words look_up(Words table, Words v) {
  return reinterpret_cast<Words>(
      _mm256_shuffle_epi8(reinterpret_cast<__m256i>(table), reinterpret_cast<__m256i>(v)));
}
#endif

// Each word the next one, the last the first.
[[gnu::always_inline]] inline Words turned(Words v) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
    return __builtin_shufflevector(v, v, (I + 1) % sizeof...(I)...);
  }
  (std::make_index_sequence<kLanes / 2>{});
}

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
[[gnu::always_inline]] inline Bits operator&(const Bits& a, const Bits& b) {
  return each_part([&](auto i) __attribute__((always_inline)) { return a.part[i] & b.part[i]; });
}
[[gnu::always_inline]] inline Bits operator|(const Bits& a, const Bits& b) {
  return each_part([&](auto i) __attribute__((always_inline)) { return a.part[i] | b.part[i]; });
}
[[gnu::always_inline]] inline Bits without(const Bits& a, const Bits& b) {
  return each_part([&](auto i) __attribute__((always_inline)) { return a.part[i] & ~b.part[i]; });
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

// The first `bytes` of 64.
[[gnu::always_inline]] inline void store_first(std::uint8_t* p, const Bits& v,
                                               std::uint32_t bytes) {
#if CARILLON_SIMD_AVX512
  _mm512_mask_storeu_epi8(p, low_mask(bytes), reinterpret_cast<__m512i>(v.part[0]));
#else
  const Bits copy = v;  // so that the other can stay in registers
  std::memcpy(p, &copy, bytes);
#endif
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

// Counts as the vector shifts read them.
struct alignas(16) BitShift {
  std::uint64_t right[2], left[2];
};
inline constexpr auto kBitShifts = [] {
  std::array<BitShift, 8> shifts{};
  for (std::uint64_t n = 0; n < 8; ++n) shifts[n] = {{n, 0}, {64 - n, 0}};
  return shifts;
}();

// The bits that begin in the byte at p: each word takes what it lacks from the next. Columns of up
// to 448 bits leave the last word free, so that the next one need not be loaded for it.
template <bool Full>
[[gnu::always_inline]] inline Bits bits_at(const std::uint8_t* p, const BitShift& by) {
  const Bits words = load_bits(p);
  const __m128i right = _mm_load_si128(reinterpret_cast<const __m128i*>(by.right));
  const __m128i left = _mm_load_si128(reinterpret_cast<const __m128i*>(by.left));
  return each_part([&](auto i) __attribute__((always_inline)) {
    Words next;
    if constexpr (Full || i + 1 < Bits::kParts)
      std::memcpy(&next, p + 8 + i * sizeof next, sizeof next);
    else
      next = turned(words.part[i]);
    return shift_right(words.part[i], right) | shift_left(next, left);
  });
}

// The column rotated by s.
template <bool Full>
[[gnu::always_inline]] inline Bits rotated(const BitColumn& column, std::uint32_t s) {
  return bits_at<Full>(column + s / 8, kBitShifts[s % 8]);
}

inline const BitPlace* place_edges(LdpcCode code, std::uint32_t pack, LdpcWorkspace& work) {
  static_assert(sizeof(BitShift) == 32, "the places are the same for every instruction set");
  const LdpcKey key{.lifting = code.lifting, .base_graph = code.base_graph, .pack = pack};
  const LdpcPlaces& places = work.places.get(key, [&](LdpcPlaces& fill) {
    const BaseGraph graph = base_graph(code);
    const std::uint32_t edges = graph.row_begin[graph.rows];
    for (std::uint32_t e = 0; e < edges; ++e) {
      const std::uint32_t s = graph.shift[e] * pack;
      fill.at[e].byte = static_cast<std::uint16_t>(graph.column[e] * sizeof(BitColumn) + s / 8);
      fill.at[e].shift = static_cast<std::uint16_t>(s % 8 * sizeof(BitShift));
    }
  });
  return places.at;
}

// Modulo-2 sum of the rotated columns of some edges: Z parity checks at once.
template <bool Full>
[[gnu::always_inline]] inline Bits sum_columns(const BitColumn* columns, const BitPlace* first,
                                               const BitPlace* last) {
  Bits sum = {};
  for (; first < last; ++first) {
    const auto* by = reinterpret_cast<const char*>(kBitShifts.data()) + first->shift;
    sum = sum ^ bits_at<Full>(columns[0] + first->byte, *reinterpret_cast<const BitShift*>(by));
  }
  return sum;
}

// Reverses the bits of every byte: payload order to coded order and back.
inline void reverse_bits(const std::uint8_t* from, std::uint8_t* to, std::size_t bytes) {
  // What 0 … 7 and 8 … 15 become, shifted to the high half of the byte.
  constexpr std::uint64_t low = 0xe060a020c0408000, high = 0xf070b030d0509010;
  Words table = {};
  for (std::size_t i = 0; i < sizeof table / 8; ++i) table[i] = i % 2 == 0 ? low : high;
  const auto reverse = [&](Words v) __attribute__((always_inline)) {
    constexpr std::uint64_t nibbles = 0x0f0f0f0f0f0f0f0f;
    return look_up(table, v & nibbles) | look_up(table, v >> 4 & nibbles) >> 4;
  };
  Words v;
  std::size_t i = 0;
  for (; i + sizeof v <= bytes; i += sizeof v) {
    std::memcpy(&v, from + i, sizeof v);
    v = reverse(v);
    std::memcpy(to + i, &v, sizeof v);
  }
  if (i == bytes) return;
  v = Words{};
  std::memcpy(&v, from + i, bytes - i);
  v = reverse(v);
  std::memcpy(to + i, &v, bytes - i);
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
      if (end_ - to_ >= 64) {
        store_bits(to_, column);
      } else {
        store_first(to_, column, z_ / 8);
      }
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
