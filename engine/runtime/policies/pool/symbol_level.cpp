#include "runtime/policies/pool/symbol_level.hpp"

namespace carillon::runtime {

std::uint16_t SymbolLevel::after(const View& view, std::uint16_t device) const {
  const auto devices = static_cast<std::uint16_t>(view.board.devices().size());
  for (std::uint16_t next = 1; next <= devices; ++next) {
    const auto candidate = static_cast<std::uint16_t>((device + next) % devices);
    if (usable(view, candidate)) return candidate;
  }
  return kNowhere;
}

bool SymbolLevel::arrange(const View& view, FrameRef frame) {
  const std::uint16_t home = idlest(view);
  const Graph& graph = view.board[frame.cell].graph();
  const std::uint16_t pilots = shared_step(frame.cell);
  std::uint16_t device = home, step = pilots;
  for_each(view, frame, [&](const InstanceId& id) {
    const std::uint16_t own = graph[id.instruction].step;
    if (own > step) {
      device = step == pilots ? home : after(view, device);
      step = own;
    }
    place(view, id, own <= pilots ? home : device, Reason::Unit);
    plan(view, id).stream = stream_of(view, frame, own);
  });
  return true;
}

// Its samples are there: the whole symbol is issued.
void SymbolLevel::ready(const View& view, std::span<const InstanceId> ids) {
  for (const InstanceId& id : ids)
    for_each_of_symbol(view, id,
                       [&](const InstanceId& each) { enqueue(view, each, Reason::Unit); });
}

}  // namespace carillon::runtime
