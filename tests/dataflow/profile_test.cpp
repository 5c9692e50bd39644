#include "dataflow/profile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "dataflow/blocks/type.hpp"

namespace carillon::dataflow {
namespace {

TEST(Profile, GivesATimeForEachBatchInEachSetting) {
  const auto block = make_block("fir", {{"taps", std::vector<double>(64, 1.0 / 64)}});
  for (const Setting setting : {Setting::Warm, Setting::Cold, Setting::InPlace}) {
    const std::vector<double> found =
        profile(*block, {.batch = 16, .setting = setting, .seconds = 0.002, .period_us = 100});
    EXPECT_FALSE(found.empty());
    EXPECT_TRUE(std::ranges::all_of(found, [](double ns) { return ns >= 0; }));
  }
}

}  // namespace
}  // namespace carillon::dataflow
