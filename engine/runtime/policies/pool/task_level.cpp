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
    for (const std::uint16_t source : view.board[id.cell].graph()[id.instruction].sources)
      there_[index(view, instance(view, id.place(), source))].set(device);
    there_[index(view, id)] = {};
    there_[index(view, id)].set(device);
    plan(view, id).stream = stream_++;
    enqueue(view, id, Reason::Soonest);
  }
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
  for (const std::uint16_t source : view.board[id.cell].graph()[id.instruction].sources) {
    const InstanceId its = instance(view, id.place(), source);
    const std::uint16_t from = plan(view, its).device;
    if (from != kNowhere && from != device && !there_[index(view, its)].test(device))
      time += copy_from(view, its, from);
  }
  return time;
}

}  // namespace carillon::runtime
