#include "runtime/policies/pool/adaptive.hpp"

#include <algorithm>
#include <numeric>

namespace carillon::runtime {
namespace {

// What more devices have to gain, lest a frame is spread for next to nothing.
constexpr double kGain = 0.03;

// One of several instructions of the same opcode and step: a part of what could be one.
bool is_part(const Graph& graph, std::uint16_t i) {
  const auto same = [&](std::size_t other) {
    if (other >= graph.size()) return false;
    const Instruction& neighbour = graph[static_cast<std::uint16_t>(other)];
    return neighbour.opcode == graph[i].opcode && neighbour.step == graph[i].step;
  };
  return same(std::size_t{i} + 1) || (i > 0 && same(std::size_t{i} - 1));
}

}  // namespace

void Adaptive::prepare(const View& view) {
  Placement::prepare(view);
  const std::size_t devices = view.board.devices().size();
  std::size_t most = 0;
  for (const CellBoard& cell : view.board.cells())
    most = std::max<std::size_t>(most, cell.graph().size());
  order_.reserve(devices);
  planned_.resize(devices);
  queues_.resize(devices);
  forecast_.resize(most);
  there_.resize(most * devices);
}

void Adaptive::order(const View& view) {
  order_.resize(view.board.devices().size());
  std::iota(order_.begin(), order_.end(), std::uint16_t{0});
  std::erase_if(order_, [&](std::uint16_t d) { return !view.board.devices()[d].up; });
  std::stable_sort(order_.begin(), order_.end(),
                   [&](std::uint16_t a, std::uint16_t b) { return load(a) < load(b); });
}

void Adaptive::arrange(const View& view, FrameRef frame) {
  order(view);
  std::uint32_t best = 1;
  Tick soonest = forecast(view, frame, 1);
  for (std::uint32_t devices = 2; devices <= order_.size(); ++devices) {
    const Tick done = forecast(view, frame, devices);
    const auto gain = static_cast<double>(soonest - done);
    if (gain <= kGain * static_cast<double>(soonest - view.now)) continue;
    soonest = done;
    best = devices;
  }
  forecast(view, frame, best);
  lay_out(view, frame, best == 1 ? Reason::Unit : Reason::Soonest);
}

// When the frame would be done if its pilots were on the idlest device, and its data symbols on
// the idlest so many in turn.
Tick Adaptive::forecast(const View& view, FrameRef frame, std::uint32_t devices) {
  const Graph& graph = view.board[frame.cell].graph();
  const std::uint16_t pilots = shared_step(frame.cell);
  queues_ = planned_;
  std::fill(there_.begin(), there_.end(), kNever);
  std::uint32_t turn = 0, part = 0;
  std::uint16_t step = pilots;
  Tick done = view.now;
  for (std::uint16_t i = 0; i < graph.size(); ++i) {
    const Instruction& instruction = graph[i];
    if (view.board[frame.cell].status(frame.slot, i).chunks == 0) continue;
    std::uint16_t device = order_[0];
    if (instruction.step > pilots) {
      if (instruction.step != step) turn = step == pilots ? 0 : (turn + 1) % devices;
      step = instruction.step;
      device = order_[turn];
    } else if (instruction.sources.size() > 1 || is_part(graph, i)) {
      device = order_[part++ % devices];
    }
    const InstanceId id = instance(view, frame, i);
    forecast_[i] = {run(view, id, device, after(view, id, device)), device};
    done = std::max(done, forecast_[i].end);
  }
  return done;
}

// When what an instruction reads would be on that device.
Tick Adaptive::after(const View& view, const InstanceId& id, std::uint16_t device) {
  const CellBoard& cell = view.board[id.cell];
  Tick wanted = released(view, id);
  for (const std::uint16_t source : cell.graph()[id.instruction].sources) {
    if (cell.status(id.slot, source).chunks == 0) continue;
    const Step& its = forecast_[source];
    Tick& there = there_[source * queues_.size() + device];
    if (its.device == device) {
      there = its.end;
    } else if (there == kNever) {
      const double copy = copy_from(view, instance(view, id.place(), source), its.device);
      Tick &sends = queues_[its.device].sends, &receives = queues_[device].receives;
      there = sends = receives = std::max({its.end, sends, receives}) + static_cast<Tick>(copy);
    }
    wanted = std::max(wanted, there);
  }
  return wanted;
}

// When an instruction would be done there: behind what the frame itself has there, on the SMs that
// other frames leave.
Tick Adaptive::run(const View& view, const InstanceId& id, std::uint16_t device, Tick wanted) {
  const double alone = alone_on(view, id, device);
  const auto time = static_cast<Tick>(alone);
  const std::uint32_t sms = sms_on(view, id, device);
  Queue& queue = queues_[device];
  if (sms == 0) {  // it comes over the link, or goes
    Tick& link = needs_samples(view, id) ? queue.receives : queue.sends;
    return link = std::max(wanted, link) + time;
  }
  const Tick start = std::max(wanted, queue.computes);
  queue.computes = outlook(device).done(start, sms * alone, view.board.devices()[device].sms);
  return std::max(start + time, queue.computes);
}

void Adaptive::lay_out(const View& view, FrameRef frame, Reason why) {
  const CellBoard& cell = view.board[frame.cell];
  for (std::size_t d = 0; d < planned_.size(); ++d) {
    planned_[d].sends = queues_[d].sends;
    planned_[d].receives = queues_[d].receives;
  }
  for_each(view, frame, [&](const InstanceId& id) {
    const Step& step = forecast_[id.instruction];
    place(view, id, step.device, why);
    plan(view, id).stream = stream_of(view, frame, cell.graph()[id.instruction].step);
    expect(view, id, step.end - static_cast<Tick>(alone_on(view, id, step.device)), step.end);
  });
}

void Adaptive::ready(const View& view, std::span<const InstanceId> ids) {
  for (const InstanceId& id : ids)
    for_each_of_symbol(
        view, id, [&](const InstanceId& each) { enqueue(view, each, plan(view, each).placed); });
}

}  // namespace carillon::runtime
