#include "emulator/calibration.hpp"

#include "frame/cpu/serial.hpp"
#include "telemetry/trace.hpp"

namespace carillon::emulator {

Calibration::Calibration(const frame::FrameFormat& format, const RadioPlan& radio,
                         std::uint32_t workers)
    : frame_(format), pipeline_(frame_, {.workers = workers}), air_(frame_, radio) {
  air_.prepare(pipeline_);
}

std::vector<ClaimTime> Calibration::time(std::uint32_t grain, std::uint64_t frames) {
  std::vector<ClaimTime> claims;
  const auto& graph = pipeline_.graph().graph;
  const auto note = [&](std::uint16_t id, std::uint32_t chunks, Tick start, Tick end) {
    claims.push_back({graph[id].opcode, chunks, telemetry::saturate<std::uint32_t>(end - start)});
  };
  for (const std::uint64_t end = next_ + frames; next_ < end; ++next_) {
    air_.bring(pipeline_, next_);
    frame::run_serially(pipeline_, next_, note, grain);
  }
  return claims;
}

}  // namespace carillon::emulator
