// The clocks that a run is to have.
#pragma once

#include <cstdint>
#include <vector>

#include "base/fields.hpp"
#include "power/governor.hpp"

namespace carillon::power {

struct PowerPlan {
  /// MHz, ascending, of an emulated clock: the last is the machine as it is. None: no emulation.
  std::vector<double> clocks;
  double fixed = 0;          ///< one of them for the whole run; 0: the last one, or governed
  std::vector<double> late;  ///< predicted ratio of late frames at each: governs
  GovernorOptions governor;

  bool emulated() const { return !clocks.empty(); }
  bool governed() const { return !late.empty(); }

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("clocks", self.clocks);
    visit("fixed", self.fixed);
    visit("late", self.late);
    visit("governor", self.governor);
  }
};

/// Problems by key; none if the plan makes sense.
std::vector<Problem> check(const PowerPlan& plan);

/// The place of the clock with which a run begins.
std::uint32_t first_clock(const PowerPlan& plan);

}  // namespace carillon::power
