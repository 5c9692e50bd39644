#include "base/isa.hpp"

#include <algorithm>

#include "base/tick.hpp"
#include "support/test.hpp"

using namespace carillon;

TEST(Isa, TiersAreAscendingAndTheActiveOneIsAvailable) {
  const auto tiers = available_isas();
  ASSERT_FALSE(tiers.empty());
  EXPECT_TRUE(std::is_sorted(tiers.begin(), tiers.end()));
  EXPECT_TRUE(std::find(tiers.begin(), tiers.end(), active_isa()) != tiers.end());
}

TEST(Tick, NeverRunsBackwards) {
  Tick previous = now();
  for (int i = 0; i < 100000; ++i) {
    const Tick t = now();
    ASSERT_GE(t, previous);
    previous = t;
  }
}
