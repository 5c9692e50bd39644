// The clocks that a run is to have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.hpp"
#include "power/governor.hpp"

namespace carillon::power {

struct PowerPlan {
  /// MHz, ascending. Emulated, the last is the machine as it is. None: the clock is left alone.
  std::vector<double> clocks;
  std::string sysfs;         ///< where cpufreq sets them; empty: they are emulated
  double fixed = 0;          ///< one of them for the whole run; 0: the last one, or governed
  std::vector<double> late;  ///< predicted ratio of late frames at each: governs
  GovernorOptions governor;

  bool chooses() const { return !clocks.empty(); }
  bool emulated() const { return chooses() && sysfs.empty(); }
  bool governed() const { return !late.empty(); }

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("clocks", self.clocks);
    visit("sysfs", self.sysfs);
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
