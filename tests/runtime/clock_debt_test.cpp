// How much is done again under an emulated clock, with made-up times.
#include "runtime/clock_debt.hpp"

#include "support/test.hpp"

using namespace carillon;
using runtime::ClockDebt;

namespace {

// Claims of `chunks` that take so long at first and again; all that was spent over what the claims
// would have taken once.
double slowdown(double extra, std::uint32_t chunks, Tick first, Tick again, int claims) {
  ClockDebt debt;
  Tick spent = 0;
  for (int i = 0; i < claims; ++i) {
    bool cold = true;
    const auto take = [&](std::uint32_t count) {
      const Tick took = count * (cold ? first : again);
      cold = false;
      spent += took;
      return took;
    };
    while (const std::uint32_t due = debt.due(chunks)) debt.rehearsed(due, take(due));
    debt.done(extra, chunks, take(chunks));
  }
  return static_cast<double>(spent) / static_cast<double>(claims * chunks * first);
}

}  // namespace

TEST(ClockDebt, WorkTakesAsMuchLongerAsTheClockIsLower) {
  for (const double share : {0.9, 0.5, 0.3, 0.05})
    for (const std::uint32_t chunks : {1U, 7U, 100U})
      EXPECT_NEAR(slowdown(1 / share - 1, chunks, 1000, 1000, 2000), 1 / share, 0.02 / share);
}

TEST(ClockDebt, AlsoWhereWhatIsDoneAgainTakesLessSinceItsDataIsInTheCache) {
  for (const double share : {0.9, 0.5, 0.3})
    EXPECT_NEAR(slowdown(1 / share - 1, 10, 1000, 400, 2000), 1 / share, 0.02 / share);
}

TEST(ClockDebt, AStandstillWithinAClaimIsNotMadeLonger) {
  ClockDebt debt;
  for (int i = 0; i < 100; ++i) {
    while (const std::uint32_t due = debt.due(10)) debt.rehearsed(due, due * 1000);
    debt.done(1, 10, 10'000);
  }
  debt.done(1, 10, 50'000'000);
  std::uint32_t again = 0;
  while (const std::uint32_t due = debt.due(10)) {
    debt.rehearsed(due, due * 1000);
    again += due;
  }
  EXPECT_LE(again, 60U);  // of 50 000, for 50 ms
}

TEST(ClockDebt, NothingIsOwedAtTheHighestClock) {
  ClockDebt debt;
  EXPECT_EQ(debt.due(10), 0U);
  debt.done(0, 10, 10'000);
  EXPECT_EQ(debt.due(10), 0U);
}

TEST(ClockDebt, TimesThatAClockTooCoarseGivesAreNothing) {
  ClockDebt debt;
  debt.done(1, 10, 0);
  EXPECT_EQ(debt.due(10), 0U);
  debt.done(1, 1, 1000);
  int rounds = 0;
  while (debt.due(1) > 0 && rounds < 5000) {
    debt.rehearsed(1, 0);
    ++rounds;
  }
  EXPECT_LT(rounds, 5000);  // it ends
}
