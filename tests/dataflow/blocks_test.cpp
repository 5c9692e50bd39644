// Every block there is: what it declares holds.
#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "dataflow/blocks/type.hpp"

namespace carillon::dataflow {
namespace {

using namespace std::string_literals;

TEST(Blocks, HaveNamesOfTheirOwnAndAreExplained) {
  std::set<std::string> names;
  for (const BlockType& type : block_types()) {
    EXPECT_TRUE(names.insert(type.name).second) << type.name;
    EXPECT_EQ(block_type(type.name), &type);
    EXPECT_TRUE(type.text.ends_with('.')) << type.name;
    for (const Parameter& parameter : type.parameters)
      EXPECT_TRUE(parameter.text.ends_with('.')) << type.name << " " << parameter.name;
  }
  EXPECT_EQ(block_type("oscillator"), nullptr);
}

void expect_refused(const std::string& type, const Values& values, const std::string& why) {
  try {
    make_block(type, values);
    ADD_FAILURE() << "not refused: " << why;
  } catch (const std::invalid_argument& refused) {
    EXPECT_EQ(refused.what(), why);
  }
}

TEST(Blocks, WrongParametersAreRefusedByName) {
  const Value taps = std::vector<double>{1.0};
  expect_refused("oscillator", {}, "there is no block oscillator");
  expect_refused("fir", {}, "taps: must be given");
  expect_refused("fir", {{"taps", std::vector<double>{}}}, "taps: must be a list of numbers");
  expect_refused("fir", {{"taps", 1.0}}, "taps: must be a list of numbers");
  expect_refused("fir", {{"taps", taps}, {"decimation", std::int64_t{0}}},
                 "decimation: must be at least 1");
  expect_refused("fir", {{"taps", taps}, {"decimation", 1.5}},
                 "decimation: must be a whole number");
  expect_refused("fir", {{"taps", taps}, {"colour", true}}, "colour: fir has no such parameter");
  expect_refused("fir", {{"taps", taps}, {"samples", "byte"s}},
                 "samples: must be one of complex, real");
  expect_refused("fir", {{"taps", taps}, {"complex_taps", true}},
                 "taps: complex ones are two numbers each");
  expect_refused("multiply", {{"value", std::numeric_limits<double>::infinity()}},
                 "value: must be a finite number");
}

}  // namespace
}  // namespace carillon::dataflow
