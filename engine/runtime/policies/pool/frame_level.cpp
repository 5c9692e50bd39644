#include "runtime/policies/pool/frame_level.hpp"

namespace carillon::runtime {

bool FrameLevel::arrange(const View& view, FrameRef frame) {
  const std::uint16_t device = idlest(view);
  const std::uint16_t stream = stream_of(view, frame, 0);
  for_each(view, frame, [&](const InstanceId& id) {
    place(view, id, device, Reason::Unit);
    plan(view, id).stream = stream;
    if (!needs_samples(view, id)) enqueue(view, id, Reason::Unit);
  });
  return true;
}

void FrameLevel::ready(const View& view, std::span<const InstanceId> ids) {
  for (const InstanceId& id : ids) enqueue(view, id, Reason::Unit);
}

// It stays together: all goes where the last of it is, or to the idlest.
std::uint16_t FrameLevel::refuge(const View& view, const InstanceId& id, std::uint16_t from) {
  std::uint16_t device = kNowhere;
  for_each(view, id.place(), [&](const InstanceId& each) {
    const std::uint16_t other = plan(view, each).device;
    if (other != kNowhere && other != from && usable(view, other)) device = other;
  });
  return device != kNowhere ? device : idlest(view);
}

}  // namespace carillon::runtime
