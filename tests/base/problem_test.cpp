#include "base/problem.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "support/test.hpp"

using namespace carillon;

TEST(Problem, SaysTheRangeThatAValueIsNotIn) {
  std::vector<Problem> problems;
  for (const double good : {0.5, 1.0, 2.0}) in_range(good, 0.5, 2, "a.b", problems);
  EXPECT_TRUE(problems.empty());
  in_range(std::nan(""), 0.5, 2, "a.c", problems);
  in_range(2.5, 0.5, 2, "a.b", problems);
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_EQ(problems[0].key, "a.c");
  EXPECT_EQ(problems[1].message, "is 2.5 but must be between 0.5 and 2");
  EXPECT_TRUE(problems[1].code == ProblemCode::Other && problems[1].numbers.empty());
}

TEST(Problem, SaysTheNamesOfWhichAValueIsNone) {
  std::vector<Problem> problems;
  one_of("red", {"red", "green"}, "colour", problems);
  EXPECT_TRUE(problems.empty());
  one_of("blue", {"red", "green"}, "colour", problems);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].message, "is 'blue' but must be one of red, green");
}

TEST(Problem, OfASectionIsAddedUnderItsWholeKey) {
  std::vector<Problem> problems;
  add_below({{"size", "is 0", ProblemCode::SharesSlot, {3}}, {"", "is empty"}}, "a.b", problems);
  add_below({{"c", "is 1"}}, "", problems);
  ASSERT_EQ(problems.size(), 3U);
  EXPECT_EQ(problems[0].key, "a.b.size");
  EXPECT_TRUE(problems[0].code == ProblemCode::SharesSlot && problems[0].numbers.size() == 1);
  EXPECT_EQ(problems[1].key, "a.b");
  EXPECT_EQ(problems[2].key, "c");
}
