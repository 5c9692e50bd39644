#include "dataflow/io/format.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace carillon::dataflow {
namespace {

// A number of memory, and the word that holds its bits.
template <std::size_t kBytes>
using Word = std::conditional_t<
    kBytes == 1, std::uint8_t,
    std::conditional_t<kBytes == 2, std::uint16_t,
                       std::conditional_t<kBytes <= 4, std::uint32_t, std::uint64_t>>>;

template <std::size_t kBytes>
Word<kBytes> swapped(Word<kBytes> word) {
  if constexpr (kBytes == 2) return __builtin_bswap16(word);
  if constexpr (kBytes == 4) return __builtin_bswap32(word);
  if constexpr (kBytes == 8) return __builtin_bswap64(word);
  return word;
}

template <std::size_t kBytes, bool kBig>
Word<kBytes> load(const std::byte* from) {
  Word<kBytes> word = 0;
  std::memcpy(&word, from, kBytes);
  return kBig ? swapped<kBytes>(word) : word;
}
template <std::size_t kBytes, bool kBig>
void store(Word<kBytes> word, std::byte* to) {
  if (kBig) word = swapped<kBytes>(word);
  std::memcpy(to, &word, kBytes);
}

// Integers: those without a sign are those with one whose highest bit is the other way around.
template <std::size_t kBytes>
struct Integer {
  static constexpr std::int64_t kMost = (std::int64_t{1} << (8 * kBytes - 1)) - 1;
  static constexpr std::int64_t kLeast = -kMost - 1;
  static constexpr float kScale = static_cast<float>(-kLeast);
  static constexpr Word<kBytes> kTop = Word<kBytes>{1} << (8 * kBytes - 1);
};

template <std::size_t kBytes, bool kBig>
void decode_integers(Word<kBytes> flip, const std::byte* from, float* to, std::size_t count) {
  using Word = Word<kBytes>;
  constexpr auto kUnused = 8 * (sizeof(Word) - kBytes);  // so that the sign is in the highest bit
  constexpr float kScale = 1 / static_cast<float>(std::uint64_t{1} << (8 * sizeof(Word) - 1));
  for (std::size_t i = 0; i < count; ++i) {
    const auto word = static_cast<Word>((load<kBytes, kBig>(from + i * kBytes) ^ flip) << kUnused);
    to[i] = static_cast<float>(static_cast<std::make_signed_t<Word>>(word)) * kScale;
  }
}

template <std::size_t kBytes, bool kBig>
std::uint64_t encode_integers(Word<kBytes> flip, const float* from, std::byte* to,
                              std::size_t count) {
  using Range = Integer<kBytes>;
  constexpr float kBelow = static_cast<float>(static_cast<double>(Range::kLeast) - 0.5);
  constexpr float kAbove = static_cast<float>(static_cast<double>(Range::kMost) + 0.5);
  std::uint64_t clipped = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const float x = from[i] * Range::kScale;
    const bool fits = x >= kBelow && x < kAbove;
    const std::int64_t nearest = x > 0 ? Range::kMost : x < 0 ? Range::kLeast : 0;
    const std::int64_t number = fits ? std::lrint(x) : nearest;
    clipped += !fits;
    store<kBytes, kBig>(static_cast<Word<kBytes>>(number) ^ flip, to + i * kBytes);
  }
  return clipped;
}

template <typename Float, bool kBig>
void decode_floats(const std::byte* from, float* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    to[i] = static_cast<float>(
        std::bit_cast<Float>(load<sizeof(Float), kBig>(from + i * sizeof(Float))));
}
template <typename Float, bool kBig>
void encode_floats(const float* from, std::byte* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    store<sizeof(Float), kBig>(std::bit_cast<Word<sizeof(Float)>>(static_cast<Float>(from[i])),
                               to + i * sizeof(Float));
}

// Calls `as` with the format's number of bytes and order of bytes as constants.
template <typename As>
auto with_constants(const Format& format, As&& as) {
  const auto ordered = [&](auto bytes) {
    return format.is_big ? as(bytes, std::true_type{}) : as(bytes, std::false_type{});
  };
  switch (format.number_bytes) {
    case 1: return as(std::integral_constant<std::size_t, 1>{}, std::false_type{});
    case 2: return ordered(std::integral_constant<std::size_t, 2>{});
    case 3: return as(std::integral_constant<std::size_t, 3>{}, std::false_type{});
    default: return ordered(std::integral_constant<std::size_t, 4>{});
  }
}

template <std::size_t kBytes>
Word<kBytes> flip_of(const Format& format) {
  return format.kind == NumberKind::Unsigned ? Integer<kBytes>::kTop : Word<kBytes>{0};
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const char* const items : {"c", "r"}) {
    for (const char* const number : {"f32", "f64", "i32", "u32", "i16", "u16"})
      for (const char* const order : {"_le", "_be"})
        names.push_back(std::string(items) + number + order);
    for (const char* const number : {"i8", "u8"}) names.push_back(std::string(items) + number);
  }
  return names;
}

}  // namespace

const std::vector<std::string>& format_names() {
  static const std::vector<std::string> names = all_names();
  return names;
}

Format format_of(std::string_view name) {
  Format format;
  format.items = name[0] == 'c' ? Items::Complex : Items::Real;
  format.kind = name[1] == 'f'   ? NumberKind::Float
                : name[1] == 'i' ? NumberKind::Signed
                                 : NumberKind::Unsigned;
  const std::string_view bits = name.substr(2, name.find('_') - 2);
  format.number_bytes = bits == "64" ? 8 : bits == "32" ? 4 : bits == "16" ? 2 : 1;
  format.is_big = name.ends_with("_be");
  return format;
}

Parameter datatype_parameter() {
  return {.name = "datatype",
          .text = "How samples lie there, by SigMF's names.",
          .kind = ParameterKind::Text,
          .standard = "cf32_le",
          .choices = format_names()};
}

void decode(const Format& format, const std::byte* from, float* to, std::size_t numbers) noexcept {
  if (format.kind == NumberKind::Float && format.number_bytes == 8)
    return (format.is_big ? decode_floats<double, true> : decode_floats<double, false>)(from, to,
                                                                                        numbers);
  if (format.kind == NumberKind::Float)
    return (format.is_big ? decode_floats<float, true> : decode_floats<float, false>)(from, to,
                                                                                      numbers);
  with_constants(format, [&](auto bytes, auto big) {
    decode_integers<bytes(), big()>(flip_of<bytes()>(format), from, to, numbers);
  });
}

std::uint64_t encode(const Format& format, const float* from, std::byte* to,
                     std::size_t numbers) noexcept {
  if (format.kind != NumberKind::Float)
    return with_constants(format, [&](auto bytes, auto big) {
      return encode_integers<bytes(), big()>(flip_of<bytes()>(format), from, to, numbers);
    });
  if (format.number_bytes == 8)
    (format.is_big ? encode_floats<double, true> : encode_floats<double, false>)(from, to, numbers);
  else
    (format.is_big ? encode_floats<float, true> : encode_floats<float, false>)(from, to, numbers);
  return 0;
}

}  // namespace carillon::dataflow
