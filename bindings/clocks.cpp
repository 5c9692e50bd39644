// Clocks that are read and set, idle states and energy (engine/power).
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "power/control.hpp"
#include "power/idle.hpp"
#include "power/rapl.hpp"

namespace carillon::bindings {

namespace nb = nanobind;

namespace {

using power::Sysfs;
using Result = nb::typed<nb::dict, nb::str, nb::any>;
using Outcome = std::pair<std::size_t, std::vector<std::string>>;

Result domain_of(const power::Domain& domain) {
  Result found;
  found["policy"] = domain.policy;
  found["cores"] = domain.cores;
  found["driver"] = domain.driver;
  found["governor"] = domain.governor;
  found["governors"] = domain.governors;
  found["hardware_khz"] = std::pair(domain.hardware.least_khz, domain.hardware.most_khz);
  found["limits_khz"] = std::pair(domain.limits.least_khz, domain.limits.most_khz);
  found["clocks_khz"] = domain.clocks_khz;
  found["now_khz"] = domain.now_khz;
  found["preference"] = domain.preference;
  found["preferences"] = domain.preferences;
  return found;
}

Result read_clocks(const std::string& sysfs) {
  Sysfs files(sysfs);
  const power::Clocks clocks = power::read_clocks(files);
  std::vector<Result> domains;
  for (const power::Domain& domain : clocks.domains) domains.push_back(domain_of(domain));
  Result found;
  found["domains"] = domains;
  found["online"] = power::cores_of(files, std::string(power::kCpus) + "/online");
  found["mode"] = clocks.mode;
  found["turbo"] = clocks.turbo;
  found["problems"] = clocks.problems;
  return found;
}

std::vector<Result> idle_states(const std::string& sysfs, std::uint32_t core) {
  Sysfs files(sysfs);
  std::vector<Result> states;
  for (const power::IdleState& state : power::idle_states(files, core)) {
    Result& found = states.emplace_back();
    found["name"] = state.name;
    found["latency_us"] = state.latency_us;
    found["disabled"] = state.disabled;
  }
  return states;
}

Outcome outcome_of(const power::Restored& restored) {
  std::vector<std::string> failed;
  for (const power::Unrestored& file : restored.failed) failed.push_back(power::to_text(file));
  return {restored.files, failed};
}

Outcome restore_clocks(const std::string& sysfs) {
  Sysfs files(sysfs);
  return outcome_of(power::Journal(files, power::journal_of(sysfs), sysfs).restore_left());
}

// Files, their journal and who writes them, in the order in which they are made.
class Control {
 public:
  explicit Control(const std::string& sysfs)
      : files_(sysfs),
        journal_(files_, power::journal_of(sysfs), sysfs),
        left_(outcome_of(journal_.take())) {}

  const Outcome& left() const { return left_; }
  void set_clock(std::uint32_t policy, std::uint32_t khz) {
    control_.set_clock(domain(policy), khz);
  }
  void set_governor(std::uint32_t policy, const std::string& name) {
    control_.set_governor(domain(policy), name);
  }
  void set_limits(std::uint32_t policy, std::uint32_t least_khz, std::uint32_t most_khz) {
    control_.set_limits(domain(policy), {least_khz, most_khz});
  }
  void set_preference(std::uint32_t policy, const std::string& name) {
    control_.set_preference(domain(policy), name);
  }
  void set_turbo(bool on) { control_.set_turbo(on); }
  void set_resume_latency(std::uint32_t core, std::uint32_t us) {
    control_.set_resume_latency(core, us);
  }
  std::vector<std::tuple<std::string, std::string, std::string>> differences() {
    std::vector<std::tuple<std::string, std::string, std::string>> found;
    for (const power::Difference& own : control_.differences())
      found.emplace_back(own.path, own.wanted, own.found);
    return found;
  }
  Outcome restore() { return outcome_of(journal_.restore()); }

 private:
  power::Domain domain(std::uint32_t policy) {
    const power::Clocks clocks = power::read_clocks(files_, policy);
    if (clocks.domains.empty())
      throw power::Refused("policy" + std::to_string(policy) +
                           ": is gone, or its cores are offline");
    return clocks.domains.front();
  }

  Sysfs files_;
  power::Journal journal_;
  Outcome left_;
  power::ClockControl control_{files_, journal_};
};

using EnergyRow = std::tuple<std::string, std::string, std::uint64_t, std::uint64_t, std::string>;

std::vector<EnergyRow> read_energy(const std::string& sysfs) {
  Sysfs files(sysfs);
  std::vector<EnergyRow> rows;
  for (const power::EnergyZone& zone : power::read_energy(files))
    rows.emplace_back(zone.zone, zone.name, zone.microjoules, zone.wraps_at, zone.problem);
  return rows;
}

double joules_between(std::uint64_t before, std::uint64_t after, std::uint64_t wraps_at) {
  return power::joules_between({{}, {}, before, wraps_at, {}}, {{}, {}, after, wraps_at, {}});
}

}  // namespace

void bind_clocks(nb::module_& core) {
  using namespace nb::literals;
  core.def("read_clocks", &read_clocks, "sysfs"_a,
           "What cpufreq says below a sysfs (engine/power/cpufreq.hpp): domains, online\n"
           "cores, mode, turbo (None: not said) and problems. Clocks are in kHz.");
  core.def("idle_states", &idle_states, "sysfs"_a, "core"_a,
           "Of a core, the shallowest first: name, latency_us, disabled.");
  core.def("read_energy", &read_energy, "sysfs"_a,
           "RAPL's zones: zone, name, µJ, µJ at which that wraps, and why it cannot be read.");
  core.def("joules_between", &joules_between, "before"_a, "after"_a, "wraps_at"_a,
           "Joules between two counts of µJ, of which the second may have wrapped once.");
  core.def("restore_clocks", &restore_clocks, "sysfs"_a,
           "Restores what a process that ended had changed: how many files, and what failed.\n"
           "RuntimeError while it lives, or if its journal is damaged.");
  core.def(
      "clock_journal", [](const std::string& sysfs) { return power::journal_of(sysfs).string(); },
      "sysfs"_a, "Where the journal of a sysfs lies.");
  nb::class_<Control>(core, "ClockControl",
                      "Sets clocks, and puts back what it found (engine/power/control.hpp). All\n"
                      "raise RuntimeError with the file and the reason.")
      .def(nb::init<const std::string&>(), "sysfs"_a,
           "Takes control, after it has restored what a process that ended had changed.")
      .def_prop_ro("left", &Control::left, "What that was: as of restore_clocks().")
      .def("set_clock", &Control::set_clock, "policy"_a, "khz"_a)
      .def("set_governor", &Control::set_governor, "policy"_a, "name"_a)
      .def("set_limits", &Control::set_limits, "policy"_a, "least_khz"_a, "most_khz"_a)
      .def("set_preference", &Control::set_preference, "policy"_a, "name"_a)
      .def("set_turbo", &Control::set_turbo, "on"_a)
      .def("set_resume_latency", &Control::set_resume_latency, "core"_a, "us"_a)
      .def("differences", &Control::differences,
           "Files that do not say what was written: path, wanted, found.")
      .def("restore", &Control::restore, "As restore_clocks(); gives control up.");
}

}  // namespace carillon::bindings
