// How every kernel is measured: groups of cases register themselves, one program runs those that
// are asked for and prints a row for each.
//
// A case is called in rounds of at least 20 µs, long enough for the clock, short enough that some
// rounds of a busy machine are undisturbed; its row gives the fastest round and the median. When
// comparing, rounds of ours and of each peer take turns, so that what the machine does meanwhile
// falls on all alike.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/isa.hpp"
#include "base/tick.hpp"
#include "support/bounds.hpp"

namespace carillon::bench {

struct Case {
  std::string kernel;
  std::string shape;
  std::string isa = "any";
  std::string per = "call";  // what an item is
  double items = 1;          // in a call
  Work work = {};            // of an item
};

/// The same work by another library; or, where `call` is empty, what it was once measured to take.
struct Rival {
  std::string peer;    // "Eigen 3.4.0"
  std::string method;  // "LLT"
  std::function<void()> call;
  double items = 1;  // in a call
  double recorded_ns = 0;
  std::string source;  // of what is recorded
};

inline std::vector<Rival> no_rivals() { return {}; }

struct Sample {
  double best = 0, median = 0;  // ns of a call
};

/// The fastest and the median; reorders the values.
Sample summary(std::vector<double>& values);

/// Only measured for whole frames.
struct FrameCost {
  double us_per_frame = 0;
  double core_ms_per_ms = 0;             // of time on air
  std::uint64_t blocks = 0, failed = 0;  // transport blocks of all frames; failed: lost or wrong
};

struct Options {
  bool json = false, list = false, quick = false, compare = false;
  std::vector<std::string> isas;                           // none: all that the machine has
  std::regex filter{""};                                   // searched for in "group kernel shape"
  std::vector<std::pair<std::string, std::string>> plans;  // cells to run whole: name, plan's text
};

class Bench {
 public:
  explicit Bench(Options options);

  /// Instruction sets to measure; when comparing, the best one unless others are asked for.
  const std::vector<Isa>& isas() const { return isas_; }
  const Options& options() const { return options_; }
  void enter(std::string_view group) { group_ = group; }

  /// Whether any row of this kernel and shape is asked for. For cases that are costly to prepare;
  /// time() looks by itself.
  bool wants(const std::string& kernel, const std::string& shape) const;
  /// For a case that measures itself and has no peer: whether to. When listing, only names it.
  bool begin(const Case& c) const { return !options_.compare && select(c); }
  /// Prints the row of a case that measured itself.
  void report(const Case& c, const Sample& sample, const FrameCost* frame = nullptr) const;

  /// Measures a case that has no peer: left out when comparing.
  template <typename Call>
  void time(const Case& c, Call&& call) const {
    if (begin(c)) print(c, measure({round_of(call)}), {}, nullptr);
  }

  /// Measures a case and, when comparing, its rivals() beside it.
  template <typename Call, typename Rivals>
  void compare(const Case& c, Call&& call, Rivals&& rivals) const {
    if (!select(c)) return;
    const std::vector<Rival> others = options_.compare ? rivals() : std::vector<Rival>{};
    std::vector<Round> rounds{round_of(call)};
    for (const Rival& other : others)
      if (other.call) rounds.push_back(round_of(other.call));
    print(c, measure(rounds), others, nullptr);
  }

 private:
  /// ns of a call, the mean of so many.
  using Round = std::function<double(std::int64_t calls)>;

  bool select(const Case& c) const;

  template <typename Call>
  static Round round_of(Call& call) {
    return [&call](std::int64_t calls) {
      const Tick start = now();
      for (std::int64_t i = 0; i < calls; ++i) call();
      return static_cast<double>(now() - start) / static_cast<double>(calls);
    };
  }
  std::vector<Sample> measure(const std::vector<Round>& rounds) const;
  void print(const Case& c, const std::vector<Sample>& samples, const std::vector<Rival>& rivals,
             const FrameCost* frame) const;

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
