// Users that send what they are given while the cell runs: each frame of the uplink is coded,
// modulated and sent through the channel shortly before it is on air. Owns no thread; one polls it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/tick.hpp"
#include "emulator/radio_plan.hpp"
#include "emulator/radio_unit.hpp"
#include "emulator/uplink_generator.hpp"
#include "frame/data_port.hpp"
#include "frame/frame.hpp"

namespace carillon::emulator {

class LiveUplink {
 public:
  /// How many frames before it is on air one is begun: its bits have to be there by then.
  static constexpr std::uint32_t kHeadStart = 2;
  /// Places that a radio unit needs so that those are at rest which a baseband unit may still read:
  /// until the last deadline of their frame.
  static std::uint32_t replay_for(const frame::Frame& frame);

  /// `unit` is live and, as the others, outlives this.
  LiveUplink(const frame::Frame& frame, const RadioPlan& plan, RadioUnit& unit,
             std::uint32_t replay, const frame::DataPort& port);

  /// Before the start: what is sent for frames that are not made in time.
  void prepare();
  /// The next piece of some ten microseconds of what is to be made; false: nothing is, now.
  bool step(Tick now = carillon::now()) noexcept;

 private:
  bool begin(Tick now) noexcept;
  void pass() noexcept;

  const frame::Frame& frame_;
  RadioUnit& unit_;
  const std::uint32_t replay_;
  const frame::DataPort port_;
  UplinkGenerator generator_;
  Tick first_end_ = 0;  // of the first symbol that is sent, from a frame's start
  UplinkGenerator::Place place_;
  std::vector<const std::uint8_t*> bits_;
  std::uint64_t next_ = 0;
  bool making_ = false, holding_ = false;  // … and the bits are not all read
};

}  // namespace carillon::emulator
