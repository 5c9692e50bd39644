#include "runtime/policies/pool/symbol_level.hpp"

#include <algorithm>

namespace carillon::runtime {

void SymbolLevel::prepare(const View& view) {
  Placement::prepare(view);
  dealt_.resize(view.board.devices().size());
}

// The step that begins with that instance goes to whoever has got the least of the frame with it;
// of those, to the next one from home on.
std::uint16_t SymbolLevel::deal(const View& view, const InstanceId& first, std::uint16_t home) {
  const Graph& graph = view.board[first.source].graph();
  const auto devices = static_cast<std::uint16_t>(dealt_.size());
  std::uint16_t best = kNowhere;
  double least = 0;
  for (std::uint16_t next = 0; next < devices; ++next) {
    const auto device = static_cast<std::uint16_t>((home + next) % devices);
    if (!usable(view, device)) continue;
    double with = dealt_[device];
    for (InstanceId id = first; id.instruction < graph.size() &&
                                graph[id.instruction].step == graph[first.instruction].step;
         ++id.instruction)
      with += time_on(view, id, device);
    if (best != kNowhere && with >= least) continue;
    best = device;
    least = with;
  }
  dealt_[best] = least;
  return best;
}

bool SymbolLevel::arrange(const View& view, FrameRef frame) {
  const std::uint16_t home = idlest(view);
  const Graph& graph = view.board[frame.source].graph();
  const std::uint16_t shared = shared_step(frame.source);
  std::fill(dealt_.begin(), dealt_.end(), 0);
  std::uint16_t device = home, step = shared;
  for_each(view, frame, [&](const InstanceId& id) {
    const std::uint16_t own = graph[id.instruction].step;
    if (own > step) {
      device = deal(view, id, home);
      step = own;
    }
    place(view, id, own <= shared ? home : device, Reason::Unit);
    plan(view, id).stream = stream_of(frame, own);
  });
  return true;
}

// Its input is there: the whole step is issued.
void SymbolLevel::ready(const View& view, std::span<const InstanceId> ids) {
  for (const InstanceId& id : ids)
    for_each_of_step(view, id, [&](const InstanceId& each) { enqueue(view, each, Reason::Unit); });
}

std::uint16_t SymbolLevel::refuge(const View& view, const InstanceId& id, std::uint16_t from) {
  const std::uint16_t shared = shared_step(id.source);
  const auto unit = [&](const InstanceId& of) {
    return std::max(view.board[of.source].graph()[of.instruction].step, shared);
  };
  return beside(view, id, from, [&](const InstanceId& each) { return unit(each) == unit(id); });
}

}  // namespace carillon::runtime
