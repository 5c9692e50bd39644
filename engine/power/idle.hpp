// Idle states of cores, and how long they may take to leave them (PM QoS).
// Source: the kernel's Documentation/admin-guide/pm/cpuidle.rst.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "power/files.hpp"

namespace carillon::power {

struct IdleState {
  std::string name;
  std::uint32_t latency_us = 0;  ///< to leave it
  bool disabled = false;
};

/// Of a core, the shallowest first; none where the kernel knows none.
std::vector<IdleState> idle_states(Files& files, std::uint32_t core);

/// devices/system/cpu/cpu3/power/pm_qos_resume_latency_us
std::string resume_latency_file(std::uint32_t core);

}  // namespace carillon::power
