#include "app/silence.hpp"

#include "support/test.hpp"

using namespace carillon;
using app::Silence;

TEST(Silence, LastsAMinuteBeforeTheFirstPacketAndTenSecondsAfterIt) {
  Silence silence(5 * kSecond);
  silence.look(60 * kSecond, 0);
  EXPECT_FALSE(silence.heard());
  EXPECT_FALSE(silence.too_long(65 * kSecond));
  EXPECT_TRUE(silence.too_long(65 * kSecond + 1));
  silence.look(66 * kSecond, 3);
  EXPECT_TRUE(silence.heard());
  EXPECT_FALSE(silence.too_long(76 * kSecond));
  EXPECT_TRUE(silence.too_long(76 * kSecond + 1));
}

// Of a cell that needs no more frames packets are not counted any longer.
TEST(Silence, EndsWithAnyNews) {
  Silence silence(0);
  silence.look(kSecond, 10);
  silence.look(9 * kSecond, 4);
  EXPECT_FALSE(silence.too_long(19 * kSecond));
  silence.look(12 * kSecond, 4);
  EXPECT_TRUE(silence.too_long(19 * kSecond + 1));
}
