#include "telemetry/trace.hpp"

#include <thread>
#include <vector>

#include "support/test.hpp"

namespace carillon::telemetry {
namespace {

// Every field follows from the number, so that a torn event is recognised.
TraceEvent numbered(std::uint32_t n) {
  return {.start = Tick{n} * 1'000'003,
          .duration = n,
          .frame = ~n,
          .first = n * 3,
          .count = static_cast<std::uint16_t>(n),
          .instruction = static_cast<std::uint16_t>(n * 5),
          .step = static_cast<std::uint16_t>(n * 7),
          .code = static_cast<std::uint16_t>(n * 11),
          .worker = static_cast<std::uint16_t>(n * 13)};
}

TEST(Trace, ReturnsWhatWasWrittenInOrder) {
  TraceRing ring(8);
  for (std::uint32_t n = 0; n < 5; ++n) ring.write(numbered(n));
  TraceRing::Cursor cursor;
  std::vector<TraceEvent> out(3);
  ASSERT_EQ(ring.read(cursor, out), 3U);
  EXPECT_TRUE(out[0] == numbered(0) && out[2] == numbered(2));
  ASSERT_EQ(ring.read(cursor, out), 2U);
  EXPECT_TRUE(out[1] == numbered(4));
  EXPECT_EQ(ring.read(cursor, out), 0U);
  EXPECT_EQ(cursor.lost, 0U);
}

TEST(Trace, AReaderThatFallsBehindKnowsHowManyEventsItLost) {
  TraceRing ring(8);
  for (std::uint32_t n = 0; n < 21; ++n) ring.write(numbered(n));
  TraceRing::Cursor cursor;
  std::vector<TraceEvent> out(100);
  ASSERT_EQ(ring.read(cursor, out), 8U);
  EXPECT_EQ(cursor.lost, 13U);
  EXPECT_TRUE(out[0] == numbered(13) && out[7] == numbered(20));
}

TEST(Trace, CapacityIsAPowerOfTwoAndZeroKeepsNothing) {
  EXPECT_EQ(TraceRing(100).capacity(), 128U);
  EXPECT_EQ(TraceRing(1).capacity(), 2U);
  TraceRing none;
  none.write(numbered(1));
  TraceRing::Cursor cursor;
  std::vector<TraceEvent> out(1);
  EXPECT_EQ(none.read(cursor, out), 0U);
  EXPECT_EQ(none.capacity(), 0U);
}

TEST(Trace, AConcurrentReaderSeesOnlyWholeEventsAndCountsTheRest) {
  constexpr std::uint32_t kEvents = 200'000;
  TraceRing ring(64);
  std::thread writer([&] {
    for (std::uint32_t n = 0; n < kEvents; ++n) {
      ring.write(numbered(n));
      if (n % 50 == 0) std::this_thread::yield();
    }
  });
  TraceRing::Cursor cursor;
  std::vector<TraceEvent> out(40);
  std::uint64_t seen = 0, wrong = 0, next = 0;
  while (seen + cursor.lost < kEvents) {
    const std::size_t count = ring.read(cursor, out);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t n = out[i].duration;
      wrong += n < next || !(out[i] == numbered(n));
      next = n + 1;
    }
    seen += count;
    if (count == 0) std::this_thread::yield();
  }
  writer.join();
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(seen + cursor.lost, kEvents);
  EXPECT_LT(0U, seen);
}

TEST(Trace, LongDurationsSaturate) {
  EXPECT_EQ(saturate<std::uint32_t>(Tick{1} << 40), 0xffffffffU);
  EXPECT_EQ(saturate<std::uint16_t>(65535U), 65535U);
  EXPECT_EQ(saturate<std::uint16_t>(65536U), 65535U);
}

}  // namespace
}  // namespace carillon::telemetry
