// How every kernel is measured: groups of cases register themselves, one program runs those that
// are asked for and prints a row for each.
//
// A case is called in rounds of at least 20 µs, long enough for the clock, short enough that some
// rounds of a busy machine are undisturbed; its row gives the fastest round and the median.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/isa.hpp"
#include "base/tick.hpp"

namespace carillon::bench {

/// What one item of a case amounts to; zero where it says nothing.
struct Work {
  double flops = 0;     // fp32 operations, a multiply-add is two
  double int8_ops = 0;  // operations on bytes in vectors
  double bytes = 0;     // that have to come from or go to main memory
  double bits = 0;      // of the user's data, coded or not as the case says
};

struct Case {
  std::string kernel;
  std::string shape;
  std::string isa = "any";
  std::string per = "call";  // what an item is
  double items = 1;          // in a call
  Work work = {};            // of an item
};

struct Sample {
  double best = 0, median = 0;  // ns of a call
};

/// The fastest and the median; reorders the values.
Sample summary(std::vector<double>& values);

/// Only measured for whole frames.
struct FrameCost {
  double us_per_frame = 0;
  double core_ms_per_ms = 0;  // of time on air
};

struct Options {
  bool json = false, list = false, quick = false;
  std::vector<std::string> isas;                           // none: all that the machine has
  std::regex filter{""};                                   // searched for in "group kernel shape"
  std::vector<std::pair<std::string, std::string>> plans;  // cells to run whole: name, plan's text
};

class Bench {
 public:
  explicit Bench(Options options);

  /// Instruction sets to measure.
  const std::vector<Isa>& isas() const { return isas_; }
  const Options& options() const { return options_; }
  void enter(std::string_view group) { group_ = group; }

  /// Whether any row of this kernel and shape is asked for. For cases that are costly to prepare;
  /// time() looks by itself.
  bool wants(const std::string& kernel, const std::string& shape) const;
  /// When listing, names the case; else true when it is to be measured.
  bool begin(const Case& c) const;
  /// Prints the row of a case that measured itself.
  void report(const Case& c, const Sample& sample, const FrameCost* frame = nullptr) const;

  template <typename Call>
  void time(const Case& c, Call&& call) const {
    if (begin(c)) report(c, measure(call));
  }

 private:
  template <typename Call>
  Sample measure(Call&& call) const {
    const auto round = [&](std::int64_t calls) {
      const Tick start = now();
      for (std::int64_t i = 0; i < calls; ++i) call();
      return static_cast<double>(now() - start) / static_cast<double>(calls);
    };
    round(1);
    const auto calls = 1 + static_cast<std::int64_t>(20'000 / std::max(1.0, round(1)));
    std::vector<double> rounds;
    const Tick end = now() + (options_.quick ? 15 : 100) * kMillisecond;
    while (rounds.size() < 5 || now() < end) rounds.push_back(round(calls));
    return summary(rounds);
  }

  Options options_;
  std::vector<Isa> isas_;
  std::string_view group_;
};

/// A group of cases, registered where it is defined: const Group group("phy/crc", run);
class Group {
 public:
  using Run = void (*)(Bench&);
  Group(std::string_view name, Run run);

  /// All groups by name.
  static std::vector<std::pair<std::string_view, Run>> all();
};

}  // namespace carillon::bench
