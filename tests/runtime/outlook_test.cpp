// The near future of a device, also of one that has next to nothing left.
#include "runtime/policies/pool/outlook.hpp"

#include "support/test.hpp"

namespace carillon::runtime {
namespace {

constexpr Tick kEnd = Outlook::kStep * Outlook::kSteps;

TEST(Outlook, WorkTakesWhatIsLeftOfTheSms) {
  Outlook outlook;
  outlook.add(0, 2 * Outlook::kStep, 60);
  const double work = 100.0 * Outlook::kStep;
  EXPECT_EQ(outlook.done(2 * Outlook::kStep, work, 100), 3 * Outlook::kStep);
  // Two steps with 40 of them, then what is left with 100.
  EXPECT_EQ(outlook.done(0, work, 100), 2 * Outlook::kStep + Outlook::kStep / 5);
}

// A tenth is always to be had, of fewer than ten one: else work would be divided by nothing.
TEST(Outlook, OnAFullDeviceWorkIsSlowAndEnds) {
  for (const std::uint32_t sms : {1U, 9U, 10U, 108U}) {
    Outlook outlook;
    outlook.add(0, kEnd, sms);
    const std::uint32_t least = std::max(sms / 10, 1U);
    EXPECT_EQ(outlook.done(0, 1000.0 * least, sms), 1000) << sms;
    EXPECT_EQ(outlook.done(0, 2.0 * kEnd * least, sms), 2 * kEnd) << sms;
  }
}

TEST(Outlook, WhatIsRemovedIsFreeAgain) {
  Outlook outlook;
  const auto entry = outlook.add(Outlook::kStep / 2, 3 * Outlook::kStep, 8);
  EXPECT_EQ(outlook.most(0, kEnd), 8U);
  EXPECT_EQ(outlook.when(Outlook::kStep, 7), 3 * Outlook::kStep);
  outlook.remove(entry);
  EXPECT_EQ(outlook.most(0, kEnd), 0U);
}

}  // namespace
}  // namespace carillon::runtime
