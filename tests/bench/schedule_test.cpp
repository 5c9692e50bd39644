// Which parts of a benchmark are measured. Its clock is made up here.
#include "cuda/schedule.hpp"

#include "support/test.hpp"

namespace carillon::bench {
namespace {

/// What was measured of parts that take as long as they may, or longer.
std::string measured(double seconds, double longer = 1) {
  std::string done;
  Tick now = 5 * kSecond;
  std::vector<Part> parts;
  for (const auto& [name, takes] : {std::pair("a", 10.0), {"b", 40.0}, {"c", 5.0}})
    parts.push_back({name, takes, [&, name, takes] {
                       done += name;
                       now += static_cast<Tick>(longer * takes * kSecond);
                     }});
  measure_in_time(
      parts, seconds, [&] { done += '.'; }, [&] { return now; });
  return done;
}

TEST(Schedule, WithoutALimitAllIsMeasured) { EXPECT_EQ(measured(0), "a.b.c."); }

TEST(Schedule, APartThatFitsIsMeasured) {
  EXPECT_EQ(measured(55), "a.b.c.");
  EXPECT_EQ(measured(50), "a.b.");
  EXPECT_EQ(measured(10), "a.");
}

TEST(Schedule, WhatDoesNotFitMakesRoomForWhatDoes) { EXPECT_EQ(measured(49), "a.c."); }

TEST(Schedule, APartThatTookLongerCostsThoseThatFollow) {
  EXPECT_EQ(measured(55, 1.5), "a.b.");
  EXPECT_EQ(measured(55, 3), "a.c.");
}

}  // namespace
}  // namespace carillon::bench
