#include "base/fields.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/test.hpp"

namespace {

enum class Colour : std::uint8_t { Red, Green };

struct Inner {
  double size = 1.5;
  std::vector<std::uint32_t> list{1, 2};
  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("size", self.size);
    visit("list", self.list);
  }
};

struct Item {
  std::uint32_t count = 0;
  std::vector<Inner> inners;
  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("count", self.count);
    visit("inners", self.inners);
  }
};

struct Outer {
  bool flag = false;
  std::int32_t number = -3;
  std::uint8_t small = 7;
  Colour colour = Colour::Red;
  std::string word = "text";
  Inner inner;
  std::optional<std::uint8_t> perhaps{};
  std::vector<Item> items{};
  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("flag", self.flag);
    visit("number", self.number);
    visit("small", self.small);
    visit("colour", self.colour);
    visit("word", self.word);
    visit("inner", self.inner);
    visit("perhaps", self.perhaps);
    visit("items", self.items);
  }
};

}  // namespace

template <>
struct carillon::EnumNames<Colour> {
  static constexpr std::array<std::string_view, 2> value{"red", "green"};
};

using namespace carillon;

namespace {

Outer read(std::string_view text, std::vector<Problem>& problems) {
  KeyValues values = parse_key_values(text, problems);
  Outer outer;
  read_fields(outer, "", values, problems);
  for (const auto& [key, value] : values) problems.push_back({key, "unknown"});
  return outer;
}

void expect_problem(std::string_view text, const std::string& key, const std::string& message) {
  std::vector<Problem> problems;
  read(text, problems);
  ASSERT_EQ(problems.size(), 1U) << std::string(text);
  EXPECT_EQ(problems[0].key, key);
  EXPECT_EQ(problems[0].message, message);
}

}  // namespace

TEST(Fields, AreWrittenUnderDottedKeys) {
  std::string text;
  write_fields(Outer{}, "a.b", text);
  EXPECT_EQ(text,
            "a.b.flag = false\na.b.number = -3\na.b.small = 7\na.b.colour = red\na.b.word = text\n"
            "a.b.inner.size = 1.5\na.b.inner.list = 1 2\na.b.perhaps = none\n");
}

TEST(Fields, OfListsOfStructsAreNumbered) {
  Outer outer;
  outer.items = {{3, {}}, {4, {{2.5, {}}, {3.5, {7}}}}};
  std::string text;
  write_fields(outer, "", text);
  EXPECT_NE(text.find("items.0.count = 3\nitems.1.count = 4\nitems.1.inners.0.size = 2.5\n"
                      "items.1.inners.0.list = \nitems.1.inners.1.size = 3.5\n"
                      "items.1.inners.1.list = 7\n"),
            std::string::npos)
      << text;
  std::vector<Problem> problems;
  const Outer back = read(text, problems);
  EXPECT_TRUE(problems.empty());
  ASSERT_EQ(back.items.size(), 2U);
  EXPECT_EQ(back.items[0].count, 3U);
  ASSERT_EQ(back.items[1].inners.size(), 2U);
  EXPECT_EQ(back.items[1].inners[1].size, 3.5);
}

TEST(Fields, OfElevenStructsAreInTheOrderOfTheirNumbers) {
  std::string text;
  for (int i = 10; i >= 0; --i)
    text += "items." + std::to_string(i) + ".count = " + std::to_string(i) + "\n";
  std::vector<Problem> problems;
  const Outer o = read(text, problems);
  EXPECT_TRUE(problems.empty());
  ASSERT_EQ(o.items.size(), 11U);
  for (std::uint32_t i = 0; i < 11; ++i) EXPECT_EQ(o.items[i].count, i);
}

TEST(Fields, MayBeNone) {
  std::vector<Problem> problems;
  EXPECT_TRUE(read("perhaps = 9", problems).perhaps == std::uint8_t{9});
  EXPECT_FALSE(read("perhaps = none", problems).perhaps.has_value());
  EXPECT_TRUE(problems.empty());
}

TEST(Fields, NumbersAreAsShortAsReadsBackAndWholeOnesHaveNoExponent) {
  for (const auto& [value, text] : std::initializer_list<std::pair<double, const char*>>{
           {1e7, "10000000"},
           {9007199254740991.0, "9007199254740991"},
           {-3.0, "-3"},
           {0.1, "0.1"},
           {1.0 / 3, "0.3333333333333333"},
           {1e300, "1e+300"}}) {
    EXPECT_EQ(detail::number_text(value), std::string(text));
    double back = 0;
    EXPECT_TRUE(detail::read_number(text, back));
    EXPECT_EQ(back, value);
  }
}

TEST(Fields, AreReadWithCommentsBlanksAndInAnyOrder) {
  std::vector<Problem> problems;
  const Outer o = read(
      "  # a comment\r\ninner.list =  4   5 6 # behind\n\ncolour=green\nflag = true\n"
      "word = a/path#3 with = signs\t\ninner.size = 1e-3\nnumber = -12\nsmall = 255",
      problems);
  EXPECT_TRUE(problems.empty());
  EXPECT_TRUE(o.flag);
  EXPECT_EQ(o.number, -12);
  EXPECT_EQ(o.small, 255);
  EXPECT_TRUE(o.colour == Colour::Green);
  EXPECT_EQ(o.word, std::string("a/path#3 with = signs"));
  EXPECT_EQ(o.inner.size, 1e-3);
  EXPECT_TRUE(o.inner.list == std::vector<std::uint32_t>({4, 5, 6}));
}

TEST(Fields, KeepTheirValueWhenAbsent) {
  std::vector<Problem> problems;
  const Outer o = read("number = 1", problems);
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(o.word, std::string("text"));
  EXPECT_TRUE(o.inner.list == std::vector<std::uint32_t>({1, 2}));
}

TEST(Fields, MayBeEmptyWhereTheyAreTextOrLists) {
  std::vector<Problem> problems;
  const Outer o = read("word =\ninner.list = # none", problems);
  EXPECT_TRUE(problems.empty());
  EXPECT_TRUE(o.word.empty());
  EXPECT_TRUE(o.inner.list.empty());
}

TEST(Fields, SayWhatWasExpected) {
  expect_problem("flag = yes", "flag", "is 'yes' but must be true or false");
  expect_problem("number = 1.5", "number",
                 "is '1.5' but must be a whole number between -2147483648 and 2147483647");
  expect_problem("small = 256", "small", "is '256' but must be a whole number between 0 and 255");
  expect_problem("small = -1", "small", "is '-1' but must be a whole number between 0 and 255");
  expect_problem("colour = blue", "colour", "is 'blue' but must be one of red, green");
  expect_problem("inner.size = big", "inner.size", "is 'big' but must be a number");
  expect_problem("inner.size = ", "inner.size", "is '' but must be a number");
  expect_problem("inner.list = 1 x", "inner.list",
                 "is '1 x' but must be a list, each a whole number between 0 and 4294967295");
  expect_problem("inner = 3", "inner", "unknown");
  expect_problem("perhaps = 256", "perhaps",
                 "is '256' but must be none or a whole number between 0 and 255");
  expect_problem("items.1.count = 2", "items.1.count", "unknown");  // there is no item 0
  expect_problem("items.0.colour = 2", "items.0.colour", "unknown");
}

TEST(Fields, RefuseLinesThatAreNoneAndKeysGivenTwice) {
  expect_problem("number = 1\njust words", "line 2", "is not of the form `key = value`");
  expect_problem(" = 3", "line 1", "is not of the form `key = value`");
  expect_problem("number = 1\n\nnumber = 2", "number", "is given twice (again on line 3)");
}
