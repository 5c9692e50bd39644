// A stand-in for GoogleTest: TEST, EXPECT_* and ASSERT_* with messages streamed into them.
#pragma once

#include <cmath>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace minitest {

struct Test {
  std::string name;
  std::function<void()> body;
};

inline std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}
inline int& failures() {
  static int count = 0;
  return count;
}
inline bool& skipped() {
  static bool flag = false;
  return flag;
}

struct Registration {
  Registration(const char* suite, const char* name, std::function<void()> body) {
    tests().push_back({std::string(suite) + "." + name, std::move(body)});
  }
};

// Collects a message and reports it when the full expression ends.
class Failure {
 public:
  Failure(const char* file, int line, const std::string& what) {
    text_ << file << ":" << line << ": " << what << " ";
  }
  Failure(const Failure&) = delete;
  Failure& operator=(const Failure&) = delete;
  ~Failure() {
    ++failures();
    std::cerr << text_.str() << "\n";
  }
  template <typename T>
  Failure& operator<<(const T& value) {
    text_ << value;
    return *this;
  }

 private:
  std::ostringstream text_;
};

class Skip {
 public:
  Skip() { skipped() = true; }
  ~Skip() { std::cerr << "\n"; }
  template <typename T>
  Skip& operator<<(const T& value) {
    std::cerr << value;
    return *this;
  }
};

// Lets `return Voidify() = stream << …` be a statement of type void, as GoogleTest does.
struct Voidify {
  template <typename T>
  void operator=(const T&) const {}
};

template <typename T>
std::string show(const T& value) {
  if constexpr (requires(std::ostream & o) { o << value; }) {
    std::ostringstream out;
    out << value;
    return out.str();
  } else {
    return "(value)";
  }
}

}  // namespace minitest

#define TEST(suite, name)                                                                    \
  static void suite##_##name();                                                              \
  static const minitest::Registration suite##_##name##_entry(#suite, #name, suite##_##name); \
  static void suite##_##name()

#define MINITEST_CHECK(condition, what) \
  if (condition) {                      \
  } else                                \
    minitest::Failure(__FILE__, __LINE__, what)
#define MINITEST_REQUIRE(condition, what) \
  if (condition) {                        \
  } else                                  \
    return minitest::Voidify() = minitest::Failure(__FILE__, __LINE__, what)
#define MINITEST_COMPARE(a, op, b)                                                                \
  "expected " #a " " #op " " #b "; they are " + minitest::show(a) + " and " + minitest::show(b) + \
      ":"

#define ADD_FAILURE() minitest::Failure(__FILE__, __LINE__, "failed:")
#define EXPECT_TRUE(x) MINITEST_CHECK((x), "expected " #x ":")
#define EXPECT_FALSE(x) MINITEST_CHECK(!(x), "expected not " #x ":")
#define EXPECT_EQ(a, b) MINITEST_CHECK((a) == (b), MINITEST_COMPARE(a, ==, b))
#define EXPECT_NE(a, b) MINITEST_CHECK((a) != (b), MINITEST_COMPARE(a, !=, b))
#define EXPECT_LT(a, b) MINITEST_CHECK((a) < (b), MINITEST_COMPARE(a, <, b))
#define EXPECT_LE(a, b) MINITEST_CHECK((a) <= (b), MINITEST_COMPARE(a, <=, b))
#define EXPECT_GT(a, b) MINITEST_CHECK((a) > (b), MINITEST_COMPARE(a, >, b))
#define EXPECT_GE(a, b) MINITEST_CHECK((a) >= (b), MINITEST_COMPARE(a, >=, b))
#define EXPECT_NEAR(a, b, tolerance) \
  MINITEST_CHECK(std::abs((a) - (b)) <= (tolerance), MINITEST_COMPARE(a, ~, b))
#define ASSERT_TRUE(x) MINITEST_REQUIRE((x), "expected " #x ":")
#define ASSERT_FALSE(x) MINITEST_REQUIRE(!(x), "expected not " #x ":")
#define ASSERT_EQ(a, b) MINITEST_REQUIRE((a) == (b), MINITEST_COMPARE(a, ==, b))
#define ASSERT_NE(a, b) MINITEST_REQUIRE((a) != (b), MINITEST_COMPARE(a, !=, b))
#define ASSERT_LT(a, b) MINITEST_REQUIRE((a) < (b), MINITEST_COMPARE(a, <, b))
#define ASSERT_LE(a, b) MINITEST_REQUIRE((a) <= (b), MINITEST_COMPARE(a, <=, b))
#define ASSERT_GT(a, b) MINITEST_REQUIRE((a) > (b), MINITEST_COMPARE(a, >, b))
#define ASSERT_GE(a, b) MINITEST_REQUIRE((a) >= (b), MINITEST_COMPARE(a, >=, b))
#define EXPECT_THROW(statement, type)                                      \
  {                                                                        \
    bool thrown = false;                                                   \
    try {                                                                  \
      statement;                                                           \
    } catch (const type&) {                                                \
      thrown = true;                                                       \
    }                                                                      \
    MINITEST_CHECK(thrown, "expected " #statement " to throw " #type ":"); \
  }
#define GTEST_SKIP() return minitest::Voidify() = minitest::Skip()
