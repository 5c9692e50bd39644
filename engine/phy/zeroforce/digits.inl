// Combiners and precoders in digits of a byte.
#if CARILLON_SIMD_FP16

namespace {

// Of 16 pairs the high digits, then the low ones, each in the order of DigitBlock: of pair n, in
// bytes 4n … 4n + 3, the digits are low and high of re, low and high of im.
[[gnu::always_inline]] inline Vi apart(Vi pairs) {
  static constexpr auto kOrder = [] {
    std::array<std::uint8_t, 64> order{};
    for (std::size_t to = 0; to < 64; ++to) {
      const std::size_t high = to < 32 ? 1 : 0, component = to / 2 % 2;
      order[to] = static_cast<std::uint8_t>(to % 32 / 4 * 8 + to % 2 * 4 + component * 2 + high);
    }
    return order;
  }();
  return reinterpret_cast<Vi>(_mm512_maskz_permutexvar_epi8(
      ~__mmask64{}, _mm512_loadu_si512(kOrder.data()), reinterpret_cast<__m512i>(pairs)));
}

[[gnu::always_inline]] inline void put_digits(Vi pairs, DigitBlock::Plane (&planes)[2],
                                              std::uint32_t sum, std::uint32_t first) {
  constexpr std::size_t half = sizeof(Vi) / 2;
  alignas(64) std::int8_t digits[sizeof(Vi)];
  const Vi both = apart(pairs);
  std::memcpy(digits, &both, sizeof both);
  std::memcpy(planes[DigitBlock::High][sum] + 2 * first, digits, half);
  std::memcpy(planes[DigitBlock::Low][sum] + 2 * first, digits + half, half);
}

void expand_digits(ProductShape shape, std::uint32_t tiles, const Int16Tile* w_groups,
                   DigitBlock* w) noexcept {
  const std::size_t of_sum = digit_blocks(1, shape.terms),
                    of_tile = digit_blocks(shape.sums, shape.terms);
  alignas(64) float pairs[kTileLanes][kLanes];
  for (std::uint32_t sum = 0; sum < shape.sums; ++sum)
    for (std::uint32_t n = 0; n < shape.terms; n += kLanes) {
      const Int16Tile* from = w_groups + sum * shape.across + n * shape.along;
      lanes_to_rows(from, shape.along, std::min(kLanes, shape.terms - n), pairs);
      DigitBlock* to = w + sum / DigitBlock::kSums * of_sum + n / DigitBlock::kTerms;
      for (std::uint32_t t = 0; t < tiles; ++t, to += of_tile) {
        const auto pair = reinterpret_cast<Vi>(load(pairs[t]));
        const Vi conjugate = (pair & 0xFFFF) | -(pair >> 16) << 16;
        const Vi swapped = pair << 16 | (pair >> 16 & 0xFFFF);
        put_digits(conjugate, to->real, sum % DigitBlock::kSums, n % DigitBlock::kTerms);
        put_digits(swapped, to->imaginary, sum % DigitBlock::kSums, n % DigitBlock::kTerms);
      }
    }
}

}  // namespace

#else
namespace {
constexpr decltype(ZeroForceKernels::expand_digits) expand_digits = nullptr;
}  // namespace
#endif
