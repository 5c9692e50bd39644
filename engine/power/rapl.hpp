// Energy that the processor has counted (RAPL), from Linux's powercap in sysfs; Intel's and AMD's.
// Source: the kernel's Documentation/power/powercap/powercap.rst.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "power/files.hpp"

namespace carillon::power {

/// A package, or a part of one.
struct EnergyZone {
  std::string zone;  ///< intel-rapl:0:1
  std::string name;  ///< package-0; of a part package-0/dram
  std::uint64_t microjoules = 0;
  std::uint64_t wraps_at = 0;  ///< the counter's largest value, after which it begins at 0
  std::string problem;         ///< why it cannot be read; since Linux 5.10 only root may
};

std::vector<EnergyZone> read_energy(Files& files);

/// Joules between two readings of a zone. A counter that went round once is seen; one that went
/// round twice is not: read more often than wraps_at / power, some minutes.
double joules_between(const EnergyZone& before, const EnergyZone& after);

}  // namespace carillon::power
