#include "runtime/policies/pool/task_level.hpp"

namespace carillon::runtime {

void TaskLevel::prepare(const View& view) {
  Placement::prepare(view);
  there_.resize(instances());
}

// What is ready is placed then.
bool TaskLevel::arrange(const View&, FrameRef) { return true; }

void TaskLevel::ready(const View& view, std::span<const InstanceId> ids) {
  for (const InstanceId& id : ids) {
    const std::uint16_t device = soonest(view, id);
    if (device == kNowhere) return;
    place(view, id, device, Reason::Soonest);
    note(view, id, device);
    plan(view, id).stream = stream_++ % Issue::kFree;
    enqueue(view, id, Reason::Soonest);
  }
}

// What it reads is, or will be, where it is; what it yields is only there.
void TaskLevel::note(const View& view, const InstanceId& id, std::uint16_t device) {
  for (const std::uint16_t needed : view.board[id.source].graph()[id.instruction].waits_for)
    there_[index(view, instance(view, id.place(), needed))].set(device);
  there_[index(view, id)] = {};
  there_[index(view, id)].set(device);
}

std::uint16_t TaskLevel::refuge(const View& view, const InstanceId& id, std::uint16_t) {
  const std::uint16_t device = soonest(view, id);
  if (device != kNowhere) note(view, id, device);
  return device;
}

// All that was on a device that is lost is no longer there, nor when that is back.
void TaskLevel::changed(const View& view, std::uint16_t device) {
  for (DeviceMask& there : there_) there.reset(device);
  Placement::changed(view, device);
}

std::uint16_t TaskLevel::soonest(const View& view, const InstanceId& id) {
  std::uint16_t best = kNowhere;
  double least = 0;
  for (std::uint16_t d = 0; d < view.board.devices().size(); ++d) {
    if (!usable(view, d)) continue;
    const double end = static_cast<double>(load(d)) + time_on(view, id, d) + copies(view, id, d);
    if (best != kNowhere && end >= least) continue;
    best = d;
    least = end;
  }
  return best;
}

// ns to bring there what is not there yet.
double TaskLevel::copies(const View& view, const InstanceId& id, std::uint16_t device) {
  double time = 0;
  for (const std::uint16_t needed : view.board[id.source].graph()[id.instruction].waits_for) {
    const InstanceId its = instance(view, id.place(), needed);
    const std::uint16_t from = plan(view, its).device;
    if (from != kNowhere && from != device && !there_[index(view, its)].test(device))
      time += copy_from(view, its, from);
  }
  return time;
}

}  // namespace carillon::runtime
