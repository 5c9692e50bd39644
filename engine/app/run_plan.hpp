// Everything that carillond needs to know for a run, as one flat text (base/fields.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.hpp"
#include "emulator/radio_plan.hpp"
#include "frame/format.hpp"
#include "frame/stages.hpp"
#include "fronthaul/link.hpp"
#include "port/options.hpp"
#include "power/power_plan.hpp"

namespace carillon::app {

enum class Role : std::uint8_t { Bbu, Radio, Both };

struct RuntimeOptions {
  std::uint32_t workers = 0;  // 0: as many as cores
  std::string policy = "earliest-frame";
  frame::PerStage groups;            // cores, for core-groups
  frame::PerStage grain;             // chunks per claim; 0: measured
  bool pin_token = false;            // worker 0 alone schedules
  std::vector<std::uint32_t> cores;  // to pin threads to; none: all that the process may use
  bool realtime = true;              // ask for SCHED_FIFO
  std::uint32_t gpus = 0;            // that work on whole frames; 0: none
  std::uint32_t gpu_partitions = 1;  // devices that the first of them is made into
  std::string gpu_policy = "adaptive";

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("workers", self.workers);
    visit("policy", self.policy);
    visit("groups", self.groups);
    visit("grain", self.grain);
    visit("pin_token", self.pin_token);
    visit("cores", self.cores);
    visit("realtime", self.realtime);
    visit("gpus", self.gpus);
    visit("gpu_partitions", self.gpu_partitions);
    visit("gpu_policy", self.gpu_policy);
  }
};

struct RunOptions {
  Role role = Role::Both;
  std::uint64_t frames = 0;  // until so many, or so many seconds, whichever comes first;
  double seconds = 0;        // 0: no such limit
  std::string telemetry = "telemetry.bin";
  std::uint32_t record_frames = 65536;  // frame records kept

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("role", self.role);
    visit("frames", self.frames);
    visit("seconds", self.seconds);
    visit("telemetry", self.telemetry);
    visit("record_frames", self.record_frames);
  }
};

struct RunPlan {
  frame::FrameFormat cell;
  emulator::RadioPlan radio;
  fronthaul::LinkOptions fronthaul;
  port::DataOptions data;
  RuntimeOptions runtime;
  power::PowerPlan power;
  RunOptions run;

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("cell", self.cell);
    visit("radio", self.radio);
    visit("fronthaul", self.fronthaul);
    visit("data", self.data);
    visit("runtime", self.runtime);
    visit("power", self.power);
    visit("run", self.run);
  }
};

/// Reads a plan; absent keys keep their defaults. Problems name full keys such as
/// `cell.numerology.fft_size`: unreadable values, unknown keys and, when there are none of these,
/// all that the plan's parts find wrong.
RunPlan parse_run_plan(std::string_view text, std::vector<Problem>& problems);
std::string to_text(const RunPlan& plan);

/// What the plan would have written outside `folder`, that of the run; links are followed first.
std::vector<Problem> check_files(const RunPlan& plan, const std::filesystem::path& folder);

}  // namespace carillon::app

namespace carillon {

template <>
struct EnumNames<app::Role> {
  static constexpr std::array<std::string_view, 3> value{"bbu", "radio", "both"};
};

}  // namespace carillon
