#include "runtime/policies/pool/task_level.hpp"

namespace carillon::runtime {

// What is ready is placed then.
bool TaskLevel::arrange(const View&, FrameRef) { return true; }

void TaskLevel::ready(const View& view, std::span<const InstanceId> ids) {
  for (const InstanceId& id : ids) {
    const std::uint16_t device = idlest(view);
    if (device == kNowhere) return;
    place(view, id, device, Reason::Idlest);
    plan(view, id).stream = stream_++;
    enqueue(view, id, Reason::Idlest);
  }
}

}  // namespace carillon::runtime
