#include "dataflow/io/wav.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace carillon::dataflow {
namespace {

constexpr std::uint16_t kPcm = 1, kFloat = 3, kExtensible = 0xfffe;
constexpr std::uint64_t kUnknown = 0xffffffff;  // a length that is elsewhere, or was never told
constexpr std::size_t kLongLengths = 28;        // bytes of ds64, and of what keeps its place
constexpr int kMostChunks = 1000;

struct Chunk {
  std::array<char, 4> name{};
  std::uint64_t begin = 0, bytes = 0;

  bool is(std::string_view other) const { return std::string_view(name.data(), 4) == other; }
};

template <typename T>
T number_at(const std::byte* from) {
  T number;
  std::memcpy(&number, from, sizeof number);
  return number;
}

[[noreturn]] void refuse(const std::string& why) { throw std::runtime_error(why); }

class Reading {
 public:
  Reading(std::uint64_t file_bytes, const ReadAt& read_at)
      : file_bytes_(file_bytes), read_at_(read_at) {}

  Wav read() {
    std::array<std::byte, 12> head{};
    const bool whole = bytes_at(0, head);
    const Chunk riff = {.name = name_at(head.data()), .begin = 0, .bytes = 0};
    if (!whole || !(riff.is("RIFF") || riff.is("RF64") || riff.is("BW64")) ||
        std::memcmp(head.data() + 8, "WAVE", 4) != 0)
      refuse("is no WAV file");
    riff_bytes_ = number_at<std::uint32_t>(head.data() + 4);
    std::uint64_t at = head.size();
    for (int chunks = 0; chunks < kMostChunks; ++chunks) {
      const Chunk chunk = chunk_at(at);
      if (chunk.is("data")) return samples_of(chunk);
      if (chunk.is("fmt ")) read_format(chunk);
      if (chunk.is("ds64")) read_lengths(chunk);
      at = chunk.begin + chunk.bytes + chunk.bytes % 2;
    }
    refuse("has more than 1000 chunks before its samples");
  }

 private:
  bool bytes_at(std::uint64_t at, std::span<std::byte> to) const {
    return at + to.size() <= file_bytes_ && read_at_(at, to) == to.size();
  }
  static std::array<char, 4> name_at(const std::byte* from) {
    return number_at<std::array<char, 4>>(from);
  }

  Chunk chunk_at(std::uint64_t at) const {
    std::array<std::byte, 8> head{};
    if (!bytes_at(at, head)) refuse("ends before its samples begin");
    return {name_at(head.data()), at + head.size(), number_at<std::uint32_t>(head.data() + 4)};
  }

  void read_lengths(const Chunk& chunk) {
    std::array<std::byte, 16> body{};
    if (chunk.bytes < body.size() || !bytes_at(chunk.begin, body))
      refuse("has a ds64 chunk that is too short");
    long_data_bytes_ = number_at<std::uint64_t>(body.data() + 8);
  }

  void read_format(const Chunk& chunk) {
    std::array<std::byte, 40> body{};
    const auto there = std::min<std::uint64_t>(chunk.bytes, body.size());
    if (there < 16 || !bytes_at(chunk.begin, std::span(body).first(there)))
      refuse("has a fmt chunk that is too short");
    auto kind = number_at<std::uint16_t>(body.data());
    if (kind == kExtensible && there == body.size())
      kind = number_at<std::uint16_t>(body.data() + 24);
    const auto channels = number_at<std::uint16_t>(body.data() + 2);
    const auto bits = number_at<std::uint16_t>(body.data() + 14);
    if (channels != 1 && channels != 2)
      refuse("has " + std::to_string(channels) + " channels; one is real samples, two are I and Q");
    const bool is_integer = kind == kPcm && (bits == 8 || bits == 16 || bits == 24 || bits == 32);
    if (!is_integer && !(kind == kFloat && (bits == 32 || bits == 64)))
      refuse("has samples of kind " + std::to_string(kind) + " and " + std::to_string(bits) +
             " bits; PCM of 8, 16, 24 or 32 bits and floats are read");
    Wav wav;
    wav.format = {channels == 2 ? Items::Complex : Items::Real,
                  kind == kFloat ? NumberKind::Float
                  : bits == 8    ? NumberKind::Unsigned
                                 : NumberKind::Signed,
                  static_cast<std::uint8_t>(bits / 8), false};
    wav.rate_hz = number_at<std::uint32_t>(body.data() + 4);
    if (wav.rate_hz == 0) refuse("has 0 samples a second");
    if (number_at<std::uint16_t>(body.data() + 12) != wav.format.item_bytes())
      refuse("has samples of another length than its bits make");
    wav_ = wav;
  }

  Wav samples_of(const Chunk& data) const {
    if (!wav_) refuse("has samples before it says of what kind they are");
    Wav wav = *wav_;
    const std::uint64_t there = file_bytes_ - data.begin;
    const bool is_long = data.bytes == kUnknown && long_data_bytes_;
    const bool never_told = data.bytes == 0 && riff_bytes_ + 8 <= data.begin;
    const bool to_the_end = never_told || (data.bytes == kUnknown && !is_long);
    const std::uint64_t told = to_the_end ? there : is_long ? *long_data_bytes_ : data.bytes;
    wav.offset_bytes = data.begin;
    wav.samples = std::min(told, there) / wav.format.item_bytes();
    wav.missing_bytes = told - std::min(told, there);
    return wav;
  }

  std::uint64_t file_bytes_;
  const ReadAt& read_at_;
  std::uint64_t riff_bytes_ = 0;
  std::optional<std::uint64_t> long_data_bytes_;
  std::optional<Wav> wav_;
};

class Header {
 public:
  Header& name(std::string_view four) { return put(four.data(), 4); }
  template <typename T>
  Header& number(T value) {
    return put(&value, sizeof value);
  }
  /// The nearest that 32 bits hold.
  Header& number32(std::uint64_t value) {
    return number(static_cast<std::uint32_t>(std::min(value, kUnknown)));
  }
  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  Header& put(const void* from, std::size_t count) {
    const auto* const first = static_cast<const std::byte*>(from);
    bytes_.insert(bytes_.end(), first, first + count);
    return *this;
  }
  std::vector<std::byte> bytes_;
};

}  // namespace

Wav read_wav(std::uint64_t file_bytes, const ReadAt& read_at) {
  return Reading(file_bytes, read_at).read();
}

std::vector<std::byte> wav_header(const Format& format, std::uint32_t rate_hz,
                                  std::uint64_t data_bytes) {
  const bool is_float = format.kind == NumberKind::Float;
  const std::size_t item = format.item_bytes();
  const std::uint32_t format_bytes = is_float ? 18 : 16;
  const std::uint64_t before_data =
      12 + 8 + kLongLengths + 8 + format_bytes + (is_float ? 12U : 0U) + 8;
  const std::uint64_t riff = before_data - 8 + data_bytes + data_bytes % 2;
  const bool is_long = riff >= kUnknown;
  Header header;
  header.name(is_long ? "RF64" : "RIFF").number32(riff).name("WAVE");
  if (is_long) {
    header.name("ds64").number32(kLongLengths).number(riff).number(data_bytes);
    header.number(data_bytes / item).number32(0);
  }
  header.name("fmt ").number(format_bytes).number(is_float ? kFloat : kPcm);
  header.number(static_cast<std::uint16_t>(floats_of(format.items)));
  header.number(rate_hz).number32(rate_hz * item);
  header.number(static_cast<std::uint16_t>(item));
  header.number(static_cast<std::uint16_t>(8 * format.number_bytes));
  if (is_float) header.number(std::uint16_t{0}).name("fact").number32(4);
  if (is_float) header.number32(is_long ? kUnknown : data_bytes / item);
  // The place of ds64, where readers that expect the format first do not meet it.
  if (!is_long) {
    header.name("JUNK").number32(kLongLengths).number(std::uint64_t{0}).number(std::uint64_t{0});
    header.number(std::uint64_t{0}).number32(0);
  }
  header.name("data").number32(is_long ? kUnknown : data_bytes);
  return std::move(header.bytes());
}

}  // namespace carillon::dataflow
