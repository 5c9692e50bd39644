// Sets clocks, and sees when another program sets them otherwise.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "power/cpufreq.hpp"
#include "power/journal.hpp"

namespace carillon::power {

/// A file that says something else than was written to it.
struct Difference {
  std::string path, wanted, found;  ///< `found` is empty for one that cannot be read
};

/// All functions throw Refused for what is not there or not allowed, and say which file. A file is
/// in the journal before it is written. After a failure some files may be set and others not:
/// restore what the journal has.
class ClockControl {
 public:
  /// The journal must have been taken.
  ClockControl(Files& files, Journal& journal) : files_(files), journal_(journal) {}

  /// One clock for a domain: by the governor `userspace` where there is one, else by limits that
  /// are equal. Reads back whether the kernel took it.
  void set_clock(const Domain& domain, std::uint32_t khz);
  void set_governor(const Domain& domain, const std::string& name);
  /// Between which its governor chooses.
  void set_limits(const Domain& domain, Range limits);
  /// Between energy and performance; one of `preferences`.
  void set_preference(const Domain& domain, const std::string& name);
  /// Clocks above the nominal one, of all domains. It moves limits, so that these are read again.
  void set_turbo(bool on);
  /// How long a core may take to leave an idle state, in µs; 0: it only polls.
  void set_resume_latency(std::uint32_t core, std::uint32_t us);

  /// What does not say what was written last: changed by another program, or vanished.
  std::vector<Difference> differences();

 private:
  void keep(const Domain& domain);
  void write_limits(const Domain& domain, Range limits);
  void write(const std::string& path, const std::string& text);

  Files& files_;
  Journal& journal_;
  std::map<std::string, std::string> wanted_;
};

}  // namespace carillon::power
