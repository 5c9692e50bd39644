#include "fronthaul/transmit_lead.hpp"

#include "support/test.hpp"

namespace carillon::fronthaul {
namespace {

TEST(TransmitLead, StaysAsItIsWithoutAQuantile) {
  TransmitLead lead({.least = 500, .most = 900});
  for (int i = 0; i < 2000; ++i) lead.note(700);
  EXPECT_EQ(lead.lead(), 500);
}

TEST(TransmitLead, IsTheQuantileOfTheNewestFrames) {
  TransmitLead lead({.quantile = 0.9, .least = 10, .most = 5000});
  EXPECT_EQ(lead.lead(), 10);
  for (Tick delay = 1; delay < 50; ++delay) lead.note(delay);
  EXPECT_EQ(lead.lead(), 10);  // too few so far
  lead.note(50);
  EXPECT_EQ(lead.lead(), 45);  // of 1 to 50: 45 are not above 45
  for (Tick delay = 1000; delay > 0; --delay) lead.note(delay);
  EXPECT_EQ(lead.lead(), 900);  // of 1 to 1000, without the first 50
  for (int i = 0; i < 1000; ++i) lead.note(200);
  EXPECT_EQ(lead.lead(), 200);  // it follows down as well
}

TEST(TransmitLead, KeepsToItsLimits) {
  TransmitLead lead({.quantile = 0.5, .least = 100, .most = 300});
  for (int i = 0; i < 50; ++i) lead.note(-40);
  EXPECT_EQ(lead.lead(), 100);
  for (int i = 0; i < 1000; ++i) lead.note(kSecond);
  EXPECT_EQ(lead.lead(), 300);
}

// A rare delay above it is what the quantile leaves out.
TEST(TransmitLead, DoesNotFollowWhatIsRarerThanTheQuantile) {
  TransmitLead lead({.quantile = 0.99, .least = 0, .most = kSecond});
  for (int i = 0; i < 1000; ++i) lead.note(i % 100 == 0 ? 10'000 : 50);
  EXPECT_EQ(lead.lead(), 50);
  for (int i = 0; i < 1000; ++i) lead.note(i % 50 == 0 ? 10'000 : 50);
  EXPECT_EQ(lead.lead(), 10'000);
}

}  // namespace
}  // namespace carillon::fronthaul
