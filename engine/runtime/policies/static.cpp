#include "runtime/policies/static.hpp"

#include <algorithm>

#include "runtime/policies/urgency.hpp"

namespace carillon::runtime {
namespace {

// Of the ready instances from that priority on, the most urgent; null when there is none.
const InstanceId* most_urgent(const View& view, std::uint64_t from) {
  const InstanceId* best = nullptr;
  for (const InstanceId& id : view.ready) {
    const std::uint64_t priority = priority_of(view, id);
    if (priority >= from && (best == nullptr || priority < priority_of(view, *best))) best = &id;
  }
  return best;
}

}  // namespace

bool Static::admit(const View& view, std::uint16_t slot) {
  return can_make_it(view, slot, {all_devices(view)});
}

std::size_t Static::decide(const View& view, std::span<Issue> out) {
  const auto devices = static_cast<std::uint32_t>(view.board.devices().size());
  std::size_t count = 0;
  const InstanceId* id = most_urgent(view, 0);
  while (id != nullptr && count < out.size()) {
    const auto& status = view.board.status(view.board.slot(id->frame), id->instruction);
    const std::uint64_t priority = priority_of(view, *id);
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
    id = most_urgent(view, priority + 1);
  }
  return count;
}

}  // namespace carillon::runtime
