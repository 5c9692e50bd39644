// Headers of WAV files that no test could write: of more than 4 GiB.
#include "dataflow/io/wav.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>

namespace carillon::dataflow {
namespace {

Wav read_back(const std::vector<std::byte>& header, std::uint64_t data_bytes) {
  return read_wav(header.size() + data_bytes, [&](std::uint64_t at, std::span<std::byte> to) {
    if (at >= header.size()) return std::size_t{0};
    const std::size_t there = std::min<std::size_t>(to.size(), header.size() - at);
    std::copy_n(header.begin() + static_cast<std::ptrdiff_t>(at), there, to.begin());
    return there;
  });
}

TEST(Wav, HeadersOfAllLengthsReadBackAndAreAsLong) {
  for (const std::uint8_t bytes : std::initializer_list<std::uint8_t>{2, 3, 4})
    for (const NumberKind kind : {NumberKind::Signed, NumberKind::Float})
      for (const Items items : {Items::Real, Items::Complex}) {
        if (kind == NumberKind::Float && bytes != 4) continue;
        const Format format{items, kind, bytes, false};
        const std::uint64_t item = format.item_bytes();
        for (const std::uint64_t samples : {std::uint64_t{0}, 7 * item, 0xfffffe00 / item,
                                            0xffffffff / item + 1, std::uint64_t{1} << 40}) {
          const auto header = wav_header(format, 96000, samples * item);
          const Wav wav = read_back(header, samples * item);
          EXPECT_EQ(header.size(), wav_header(format, 96000, 0).size());
          EXPECT_EQ(wav.offset_bytes, header.size());
          EXPECT_EQ(wav.samples, samples);
          EXPECT_EQ(wav.missing_bytes, 0);
          EXPECT_EQ(wav.rate_hz, 96000);
          EXPECT_EQ(wav.format.items, items);
          EXPECT_EQ(wav.format.kind, kind);
          EXPECT_EQ(wav.format.number_bytes, bytes);
          const bool is_long = samples * item > 0xfffffff0 - header.size();
          EXPECT_EQ(static_cast<char>(header[3]), is_long ? '4' : 'F');
        }
      }
}

}  // namespace
}  // namespace carillon::dataflow
