#include "runtime/policies/pool/frame_level.hpp"

namespace carillon::runtime {

bool FrameLevel::arrange(const View& view, FrameRef frame) {
  const std::uint16_t device = idlest(view);
  const std::uint16_t stream = stream_of(frame, 0);
  for_each(view, frame, [&](const InstanceId& id) {
    place(view, id, device, Reason::Unit);
    plan(view, id).stream = stream;
    if (!needs_input(view, id)) enqueue(view, id, Reason::Unit);
  });
  return true;
}

void FrameLevel::ready(const View& view, std::span<const InstanceId> ids) {
  for (const InstanceId& id : ids) enqueue(view, id, Reason::Unit);
}

std::uint16_t FrameLevel::refuge(const View& view, const InstanceId& id, std::uint16_t from) {
  return beside(view, id, from, [](const InstanceId&) { return true; });
}

}  // namespace carillon::runtime
