// Any text read as fields either is a problem or, written out, reads back as the same.
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.hpp"

namespace {

struct Inner {
  double rate = 0.5;
  std::vector<std::uint32_t> list;
  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("rate", self.rate);
    visit("list", self.list);
  }
};

struct Outer {
  bool flag = false;
  std::int32_t number = 0;
  std::uint16_t small = 0;
  std::string word;
  Inner inner;
  std::optional<std::int16_t> perhaps{};
  std::vector<Inner> items{};
  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("flag", self.flag);
    visit("number", self.number);
    visit("small", self.small);
    visit("word", self.word);
    visit("inner", self.inner);
    visit("perhaps", self.perhaps);
    visit("items", self.items);
  }
};

struct Reading {
  std::string text;  // what was read, written out
  bool clean = false;
};

Reading read(std::string_view text) {
  std::vector<carillon::Problem> problems;
  carillon::KeyValues values = carillon::parse_key_values(text, problems);
  Outer outer;
  carillon::read_fields(outer, "", values, problems);
  Reading reading;
  carillon::write_fields(outer, "", reading.text);
  reading.clean = problems.empty() && values.empty();
  return reading;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Reading first = read({reinterpret_cast<const char*>(data), size});
  if (!first.clean) return 0;
  const Reading second = read(first.text);
  if (!second.clean || second.text != first.text) std::abort();
  return 0;
}
