#include "dataflow/profile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace carillon::dataflow {
namespace {

const std::vector<BlockSpec> kBlocks{{.type = "rotator"},
                                     {.type = "fir", .taps = 5, .decimation = 3},
                                     {.type = "fir", .taps = 5, .complex_taps = true},
                                     {.type = "fir", .taps = 7, .complex_samples = false},
                                     {.type = "multiply"},
                                     {.type = "multiply", .complex_samples = false},
                                     {.type = "add"},
                                     {.type = "add", .complex_samples = false},
                                     {.type = "quadrature-demodulator"}};

// Samples stay as large as they are, and no more is read or written than is said.
TEST(Block, EachExecutesOnItsWindow) {
  for (const BlockSpec& spec : kBlocks) {
    const auto block = make_block(spec);
    for (const std::size_t count : {1U, 10U}) {
      std::vector<float> in(block->reads(0, count), 0.5F), out(block->writes(count) + 1, 9.0F);
      const float* const window = in.data();
      block->execute(&window, out.data(), count);
      EXPECT_EQ(out.back(), 9.0F) << spec.type;
      for (std::size_t i = 0; i + 1 < out.size(); ++i) EXPECT_LE(std::abs(out[i]), 0.8F);
    }
  }
}

TEST(Block, WhatThereIsNotIsRefused) {
  EXPECT_THROW(make_block({.type = "oscillator"}), std::invalid_argument);
  EXPECT_THROW(make_block({.type = "fir", .taps = 0}), std::invalid_argument);
  EXPECT_THROW(make_block({.type = "fir", .decimation = 0}), std::invalid_argument);
}

TEST(Profile, GivesATimeForEachBatchInEachSetting) {
  const auto block = make_block({.type = "fir"});
  for (const Setting setting : {Setting::Warm, Setting::Cold, Setting::InPlace}) {
    const std::vector<double> found =
        profile(*block, {.batch = 16, .setting = setting, .seconds = 0.002, .period_us = 100});
    EXPECT_FALSE(found.empty());
    EXPECT_TRUE(std::ranges::all_of(found, [](double ns) { return ns >= 0; }));
  }
}

}  // namespace
}  // namespace carillon::dataflow
