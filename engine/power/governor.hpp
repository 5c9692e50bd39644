// Which clock cores are to have: the lowest one whose predicted ratio of late TTIs meets a target.
// Pure: the same observations give the same decisions, whatever the time is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.hpp"

namespace carillon::power {

struct GovernorOptions {
  double outage = 1e-3;       ///< P_out: of all TTIs, those that may be late
  double margin = 2;          ///< so many times the predicted ratio has to meet it
  std::uint32_t hold = 100;   ///< TTIs at the highest clock after one that was late
  std::uint32_t settle = 20;  ///< TTIs between two steps down

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("outage", self.outage);
    visit("margin", self.margin);
    visit("hold", self.hold);
    visit("settle", self.settle);
  }
};

/// Problems by key; none if the options make sense.
std::vector<Problem> check(const GovernorOptions& options);

/// Predicted ratios of late TTIs. [load][clock], clocks ascending, loads in any order.
using Predicted = std::vector<std::vector<double>>;

/// Problems by key `late.LOAD.CLOCK`: a ratio that is none, rows of different lengths, no clock.
std::vector<Problem> check(const Predicted& predicted);

/// The prediction's monotone envelope: at no clock less than at a higher one.
Predicted envelope(Predicted predicted);

class Governor {
 public:
  /// Both without problems.
  Governor(Predicted predicted, GovernorOptions options);

  struct Observed {
    std::uint32_t ended = 0;  ///< TTIs that have ended since the last decision
    std::uint32_t late = 0;   ///< … of them late that a faster clock would have had in time
    std::uint32_t load = 0;   ///< the heaviest of those whose schedule is known
  };
  /// The clock from now on, by its place. Once for each TTI. Goes up at once and down slowly.
  std::uint32_t decide(const Observed& seen) noexcept;

  std::uint32_t clock() const noexcept { return clock_; }
  std::size_t clocks() const noexcept { return highest_ + 1; }
  /// Clocks by which the model was too optimistic, by what was late.
  std::uint32_t bias() const noexcept { return bias_; }

 private:
  std::uint32_t wanted(std::uint32_t load) const noexcept;
  void learn(const Observed& seen) noexcept;

  std::vector<std::uint32_t> lowest_;  // [load] clock that meets the target
  GovernorOptions options_;
  std::uint32_t highest_, clock_;
  std::uint32_t bias_ = 0;
  double credit_;               // late TTIs that the target still allows
  double patience_, calm_ = 0;  // TTIs in time before the bias falls, and those so far
  bool owing_ = false;          // late TTIs beyond the target
  std::uint64_t held_ = 0, settled_ = 0;
};

}  // namespace carillon::power
