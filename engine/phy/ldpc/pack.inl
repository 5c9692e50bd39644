// A pack of code blocks of the same code, a power of two of them: their lanes take turns, block b's
// place n at n·Pack + b. Rotating every block by s is then rotating the pack by s·Pack, so that
// the pack is decoded as one block that is Pack times as long.

namespace {

// The first `count` bytes at p, then zeros.
[[gnu::always_inline]] inline Vb load_first(const std::int8_t* p, std::uint32_t count) {
  Vb v = {};
  std::memcpy(&v, p, std::min<std::size_t>(count, sizeof v));
  return v;
}

// The I-th sixteen bytes.
template <std::size_t I>
[[gnu::always_inline]] inline void store_sixteen(std::int8_t* p, Vb v) {
  const auto words = reinterpret_cast<Words>(v);
  const auto sixteen = __builtin_shufflevector(words, words, 2 * I, 2 * I + 1);
  std::memcpy(p, &sixteen, sizeof sixteen);
}

// Soft bits 0 … count-1 of each block, in turn. Each stage of zips brings one bit of the block's
// number to the low end of the place's. Up to Pack vectors past the end are overwritten.
template <std::uint32_t Pack>
void interleave(const std::int8_t* const* soft, std::uint32_t count, std::int8_t* to) {
  for (std::uint32_t i = 0; i < count; i += kByteLanes) {
    Vb vectors[2][Pack];
    Vb *from = vectors[0], *zipped = vectors[1];
    for (std::uint32_t b = 0; b < Pack; ++b)
      from[b] =
          i + kByteLanes <= count ? load_bytes(soft[b] + i) : load_first(soft[b] + i, count - i);
    for (std::uint32_t stage = 1; stage < Pack; stage *= 2) {
      for (std::uint32_t j = 0; j < Pack / 2; ++j) {
        zipped[2 * j] = zip_low(from[j], from[j + Pack / 2]);
        zipped[2 * j + 1] = zip_high(from[j], from[j + Pack / 2]);
      }
      std::swap(from, zipped);
    }
    for (std::uint32_t j = 0; j < Pack; ++j)
      unroll<kByteLanes / 16>([&](auto sixteen) __attribute__((always_inline)) {
        store_sixteen<sixteen>(to + (i + 16 * sixteen) * Pack + 16 * j, from[j]);
      });
  }
}

inline void interleave(std::uint32_t pack, const std::int8_t* const* soft, std::uint32_t count,
                       std::int8_t* to) {
  switch (pack) {
    case 2: return interleave<2>(soft, count, to);
    case 4: return interleave<4>(soft, count, to);
    case 8: return interleave<8>(soft, count, to);
    case 16: return interleave<16>(soft, count, to);
    case 32: return interleave<32>(soft, count, to);
  }
}

// Every pack-th bit of `from`, from bit b on: `count` of them, then zeros up to a whole word.
inline void pick_bits(const std::uint8_t* from, std::uint32_t pack, std::uint32_t b,
                      std::uint64_t* to, std::uint32_t count) {
  const std::uint64_t mask = (~std::uint64_t{0} / low_mask(pack)) << b;
  const std::uint32_t width = 64 / pack;
  for (std::uint32_t i = 0; i < count; i += 64, ++to) {
    *to = 0;
    for (std::uint32_t shift = 0; shift < 64; shift += width, from += 8) {
      std::uint64_t word;
      std::memcpy(&word, from, sizeof word);
      *to |= _pext_u64(word, mask) << shift;
    }
    *to &= low_mask(count - i);
  }
}

// Bit b: whether one of the bits is set that belong to block b, which are every pack-th.
inline std::uint32_t blocks_of(std::uint64_t bits, std::uint32_t pack) {
  for (std::uint32_t width = 32; width >= pack; width /= 2) bits |= bits >> width;
  return static_cast<std::uint32_t>(bits & low_mask(pack));
}
// Of the first z.
inline std::uint32_t blocks_of(const Bits& bits, std::uint32_t z, std::uint32_t pack) {
  std::uint64_t found = 0;
  for (std::uint32_t i = 0; i * 64 < z; ++i) found |= bits.word(i) & low_mask(z - i * 64);
  return blocks_of(found, pack);
}

// The sum over the lanes of block b, which are every pack-th.
inline std::uint32_t total(Vb counts, std::uint32_t b, std::uint32_t pack) {
  std::uint8_t lanes[kByteLanes];
  std::memcpy(lanes, &counts, sizeof lanes);
  std::uint32_t sum = 0;
  for (std::uint32_t i = b; i < kByteLanes; i += pack) sum += lanes[i];
  return sum;
}

}  // namespace
