// A recorded air holds what the generator makes.
#include "emulator/recorded_air.hpp"

#include <vector>

#include "emulator/payload.hpp"
#include "emulator/uplink_generator.hpp"
#include "frame/cell.hpp"

namespace {

using namespace carillon;
using namespace carillon::emulator;

frame::FrameFormat format() {
  frame::FrameFormat format = test::small_format();
  format.schedule = "PPUGUDD";
  format.symbols_per_slot = 7;
  format.deadlines.precoder_age = 1;
  return format;
}

TEST(RecordedAir, EachOfItsFramesIsTheGenerators) {
  const frame::Frame frame(format());
  const RecordedAir air(frame, test::clear_air());
  ASSERT_EQ(air.frames(), frame.format().ring);
  UplinkGenerator generator(frame, test::clear_air());
  std::vector<std::int16_t> made(std::size_t{2} * frame.samples() * frame.format().antennas);
  const auto at = [&](std::uint32_t symbol, std::uint32_t antenna) {
    return &made[2 * (std::size_t{antenna} * frame.samples() + frame.symbol(symbol).first_sample)];
  };
  for (std::uint32_t number = 0; number < air.frames(); ++number) {
    generator.generate(number, at);
    EXPECT_TRUE(std::ranges::equal(air.payload(number), generator.payload()));
    for (const auto kind : {frame::SymbolKind::Pilot, frame::SymbolKind::Uplink})
      for (const std::uint32_t symbol : frame.symbols_of(kind))
        for (std::uint32_t a = 0; a < frame.format().antennas; ++a) {
          const auto samples = air.samples(number, symbol, a);
          ASSERT_EQ(samples.size(), std::size_t{2} * frame.symbol(symbol).samples);
          ASSERT_TRUE(std::equal(samples.begin(), samples.end(), at(symbol, a)));
        }
    std::vector<std::uint8_t> sent(frame.room(frame::Direction::Downlink).payload_bytes);
    fill_payload(frame, 1, frame::Direction::Downlink, number, sent);
    EXPECT_TRUE(std::ranges::equal(air.downlink(number), sent));
  }
}

TEST(RecordedAir, FramesDiffer) {
  const frame::Frame frame(format());
  const RecordedAir air(frame, test::clear_air());
  EXPECT_FALSE(std::ranges::equal(air.payload(0), air.payload(1)));
  EXPECT_FALSE(std::ranges::equal(air.samples(0, 2, 0), air.samples(1, 2, 0)));
}

}  // namespace
