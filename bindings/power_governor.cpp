// Governing clocks, live and in virtual time (engine/power).
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "power/governor.hpp"
#include "power/virtual_ttis.hpp"

namespace carillon::bindings {

namespace {

using power::Delays;
using power::Governor;
using power::GovernorOptions;
using power::Outcome;
using power::Predicted;
using power::Stretch;
using power::VirtualCore;
using power::VirtualTtis;
using Result = nb::typed<nb::dict, nb::str, nb::any>;

constexpr double kLongest = 1e12;       // ns
constexpr double kMostResponse = 1000;  // TTIs

void refuse(const std::vector<Problem>& problems) {
  if (!problems.empty())
    require(false, (problems.front().key + " " + problems.front().message).c_str());
}

Governor make_governor(Predicted late, double outage, double margin, std::uint32_t hold,
                       std::uint32_t settle) {
  const GovernorOptions options{outage, margin, hold, settle};
  refuse(power::check(options));
  refuse(power::check(late));
  return {std::move(late), options};
}

std::vector<Tick> ticks(const std::vector<double>& ns, const char* name) {
  require(!ns.empty(), (std::string(name) + " has no sample").c_str());
  std::vector<Tick> found;
  for (const double value : ns) {
    require(value >= 0 && value < kLongest,
            (std::string(name) + " has a time that is negative or too long").c_str());
    found.push_back(static_cast<Tick>(value));
  }
  return found;
}

Result as_dict(const Outcome& outcome) {
  Result found;
  found["ttis"] = outcome.ttis;
  found["late"] = outcome.late;
  found["by_system"] = outcome.by_system;
  found["by_fronthaul"] = outcome.by_fronthaul;
  found["at_clock_ns"] = outcome.at_clock;
  found["busy_at_ns"] = outcome.busy_at;
  found["changes"] = outcome.changes;
  found["wakes"] = outcome.wakes;
  return found;
}

class Ttis {
 public:
  Ttis(const std::vector<std::vector<double>>& processing, const std::vector<double>& system,
       const std::vector<double>& fronthaul, std::vector<double> clocks, double length,
       double response, std::uint32_t cells, std::uint32_t wake, std::uint32_t gather,
       std::uint64_t seed)
      : loads_(processing.size()), clocks_(clocks.size()) {
    require(!clocks.empty() && std::ranges::is_sorted(clocks) && clocks.front() >= 1 &&
                clocks.back() <= 1e6,
            "clocks must ascend, and be between 1 and 1000000 MHz");
    require(length >= 1000 && length <= response && response <= kMostResponse * length &&
                response < kLongest,
            "a TTI lasts for 1000 ns or more, and its response for no less and no 1000 times that");
    require(gather > 0 && gather * length <= response, "gathers more TTIs than its response has");
    require(cells > 0 && cells <= 1000, "cells is not within 1 to 1000");
    require(!processing.empty(), "processing has no load");
    Delays delays;
    for (const auto& load : processing) delays.processing.push_back(ticks(load, "processing"));
    delays.system = ticks(system, "system");
    delays.fronthaul = ticks(fronthaul, "fronthaul");
    core_.emplace(std::move(delays),
                  VirtualTtis{std::move(clocks), static_cast<Tick>(length),
                              static_cast<Tick>(response), cells, wake, gather, seed});
  }

  std::vector<Result> run(const std::vector<std::pair<std::uint64_t, std::uint32_t>>& given,
                          std::optional<std::uint32_t> fixed, Governor* governor,
                          std::uint32_t ahead) {
    std::vector<Stretch> stretches;
    for (const auto& [ttis, load] : given) {
      require(load < loads_, "a stretch has a load that was not measured");
      stretches.push_back({ttis, load});
    }
    require(fixed.has_value() != (governor != nullptr), "give a clock or a governor");
    require(!fixed || *fixed < clocks_, "there is no such clock");
    require(governor == nullptr || governor->clocks() == clocks_,
            "the governor knows other clocks");
    std::vector<Outcome> outcomes;
    {
      const nb::gil_scoped_release released;
      outcomes = fixed ? core_->run(stretches, *fixed) : core_->run(stretches, *governor, ahead);
    }
    std::vector<Result> found;
    for (const Outcome& outcome : outcomes) found.push_back(as_dict(outcome));
    return found;
  }

 private:
  std::size_t loads_, clocks_;
  std::optional<VirtualCore> core_;
};

}  // namespace

void bind_power_governor(nb::module_& core) {
  using namespace nb::literals;
  nb::class_<Governor>(core, "Governor",
                       "Chooses a clock for each TTI (engine/power/governor.hpp). Pure.")
      .def(
          "__init__",
          [](Governor* self, const Predicted& late, double outage, double margin,
             std::uint32_t hold, std::uint32_t settle) {
            new (self) Governor(make_governor(late, outage, margin, hold, settle));
          },
          "late"_a, "outage"_a = 1e-3, "margin"_a = 2.0, "hold"_a = 100, "settle"_a = 20,
          "late: predicted ratios, [load][clock], clocks ascending. outage: P_out. ValueError of\n"
          "what makes no sense.")
      .def(
          "decide",
          [](Governor& self, std::uint32_t ended, std::uint32_t late, std::uint32_t load) {
            return self.decide({ended, late, load});
          },
          "ended"_a, "late"_a, "load"_a = 0,
          "The clock from now on, by its place. ended, late: TTIs since the last decision, and of\n"
          "them those that a faster clock would have had in time. load: the heaviest that is "
          "known\n"
          "to come.")
      .def_prop_ro("clock", &Governor::clock, "The last decision.")
      .def_prop_ro("bias", &Governor::bias, "Clocks by which the prediction was too low.");
  nb::class_<Ttis>(core, "VirtualTtis",
                   "TTIs of cells that share a core, in virtual time, from measured delays\n"
                   "(engine/power/virtual_ttis.hpp).")
      .def(nb::init<const std::vector<std::vector<double>>&, const std::vector<double>&,
                    const std::vector<double>&, std::vector<double>, double, double, std::uint32_t,
                    std::uint32_t, std::uint32_t, std::uint64_t>(),
           "processing"_a, "system"_a, "fronthaul"_a, "clocks"_a, "length"_a = 1e6,
           "response"_a = 4e6, "cells"_a = 1, "wake"_a = 0, "gather"_a = 1, "seed"_a = 1,
           "Times in ns. processing: [load][sample] at the last of the clocks, which ascend, in "
           "MHz;\n"
           "system, fronthaul: [sample]. wake: to wake the core where it sleeps.")
      .def("run", &Ttis::run, "stretches"_a, "fixed"_a = nb::none(), "governor"_a = nb::none(),
           "ahead"_a = 4,
           "stretches: of so many TTIs of one load each. At a fixed clock, by its place, or as a\n"
           "governor decides, which knows loads so many TTIs ahead. A dict for each stretch.");
}

}  // namespace carillon::bindings
