// What the scoreboard knows of an instance on a device, and of devices, by short names.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/policy.hpp"

namespace carillon::runtime {

inline constexpr std::uint16_t kNowhere = 0xffff;  ///< instead of a device

inline InstanceId instance(const View& view, FrameRef frame, std::uint16_t instruction) {
  const FrameStatus& status = view.board.frame(frame);
  return {status.frame, frame.source, frame.slot, instruction, status.generation};
}

/// Whether it waits for nothing but input from outside.
inline bool needs_input(const View& view, const InstanceId& id) {
  return view.board[id.source].graph()[id.instruction].waits_for.empty();
}

/// When it may start for its own sake, whatever it reads.
inline Tick released(const View& view, const InstanceId& id) {
  const Tick release = view.board[id.source].graph()[id.instruction].release;
  if (release == kAlways) return view.now;
  return std::max(view.now, view.board.frame(id.place()).start + release);
}

inline const OnType& on_device(const View& view, const InstanceId& id, std::uint16_t device) {
  return view.board[id.source].on(id.instruction, view.board.devices()[device].type);
}

/// ns on that device, as far as it is known.
inline double time_on(const View& view, const InstanceId& id, std::uint16_t device) {
  return on_device(view, id, device).time.mean();
}

/// ns when it has that device to itself.
inline double alone_on(const View& view, const InstanceId& id, std::uint16_t device) {
  return on_device(view, id, device).alone;
}

/// ns to bring its result from that device to another.
inline double copy_from(const View& view, const InstanceId& id, std::uint16_t device) {
  return on_device(view, id, device).copy;
}

/// ns that its transfer to or from that device occupies the link that all devices share.
inline double trunk_for(const View& view, const InstanceId& id, std::uint16_t device) {
  return on_device(view, id, device).trunk;
}

/// SMs that it occupies on that device when it has it to itself; 0: it is a transfer.
inline std::uint32_t sms_on(const View& view, const InstanceId& id, std::uint16_t device) {
  return on_device(view, id, device).sms;
}

inline bool up(const View& view, std::uint16_t device) { return view.board.devices()[device].up; }

/// Whether something new may be placed there.
inline bool usable(const View& view, std::uint16_t device) {
  const std::span<const DeviceStatus> all = view.board.devices();
  const auto better = [](const DeviceStatus& other) { return other.up && !other.spare; };
  return all[device].up && (!all[device].spare || std::none_of(all.begin(), all.end(), better));
}

}  // namespace carillon::runtime
