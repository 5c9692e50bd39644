#include "runtime/policies/static.hpp"

#include <algorithm>

#include "runtime/policies/urgency.hpp"

namespace carillon::runtime {
namespace {

// Of the ready instances the most urgent after that one (null: of all); null when there is none.
const InstanceId* most_urgent(const View& view, const InstanceId* after) {
  const InstanceId* best = nullptr;
  for (const InstanceId& id : view.ready) {
    const Priority priority = priority_of(view, id);
    if (after != nullptr && priority <= priority_of(view, *after)) continue;
    if (best == nullptr || priority < priority_of(view, *best)) best = &id;
  }
  return best;
}

}  // namespace

Admission Static::admit(const View& view, FrameRef frame) {
  return admission(view, frame, {all_devices(view)});
}

std::size_t Static::decide(const View& view, std::span<Issue> out) {
  const auto devices = static_cast<std::uint32_t>(view.board.devices().size());
  std::size_t count = 0;
  const InstanceId* id = most_urgent(view, nullptr);
  while (id != nullptr && count < out.size()) {
    const SourceBoard& source = view.board[id->source];
    const auto& status = source.status(id->slot, id->instruction);
    const Priority priority = priority_of(view, *id);
    std::uint32_t first = status.chunks - status.unissued;  // there may not have been room for all
    for (std::uint64_t device = 0; device < devices && count < out.size(); ++device) {
      const auto end = static_cast<std::uint32_t>(status.chunks * (device + 1) / devices);
      if (end <= first) continue;
      DeviceMask where;
      where.set(static_cast<std::uint32_t>(device));
      const std::uint32_t share = end - first;
      out[count++] = {*id, first, share, share, where, priority, Reason::Assigned};
      first = end;
    }
    id = most_urgent(view, id);
  }
  return keep_free(view, out.first(count));
}

}  // namespace carillon::runtime
