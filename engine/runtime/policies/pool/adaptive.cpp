#include "runtime/policies/pool/adaptive.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace carillon::runtime {
namespace {

// What more devices have to gain, lest a frame is spread for next to nothing.
constexpr double kGain = 0.03;

}  // namespace

void Adaptive::prepare(const View& view) {
  Placement::prepare(view);
  const std::size_t devices = view.board.devices().size();
  std::size_t most = 0;
  for (const SourceBoard& source : view.board.sources()) {
    const Graph& graph = source.graph();
    most = std::max<std::size_t>(most, graph.size());
    std::vector<bool>& fed = fed_.emplace_back();
    for (const Instruction& instruction : graph.instructions()) {
      fed.resize(std::max<std::size_t>(fed.size(), instruction.step + 1U));
      if (instruction.waits_for.empty()) fed[instruction.step] = true;
    }
  }
  order_.reserve(devices);
  layouts_.reserve(2 * devices * devices);
  wanted_.resize(most);
  busy_.resize(devices);
  forecast_.prepare(view);
}

// By how much they have to do, the frame included, at the pace at which they do it.
void Adaptive::order(const View& view, FrameRef frame) {
  forecast_.advance(view.now);
  find_overdue(view);
  order_.clear();
  for (std::uint16_t d = 0; d < busy_.size(); ++d) {
    if (!usable(view, d)) continue;
    const DeviceStatus& device = view.board.devices()[d];
    double time = static_cast<double>(load(d));
    for_each(view, frame, [&](const InstanceId& id) { time += alone_on(view, id, d); });
    busy_[d] = time * device.sms / device.ours();
    order_.push_back(d);
  }
  std::stable_sort(order_.begin(), order_.end(),
                   [&](std::uint16_t a, std::uint16_t b) { return busy_[a] < busy_[b]; });
}

void Adaptive::find_overdue(const View& view) {
  forecast_.clear_overdue();
  for (std::uint16_t c = 0; c < view.board.sources().size(); ++c)
    for (std::uint16_t slot = 0; slot < view.board[c].ring(); ++slot) {
      if (view.board[c].frame(slot).state != FrameStatus::State::Live) continue;
      for_each(view, {c, slot}, [&](const InstanceId& id) {
        const Plan& its = plan(view, id);
        if (its.device != kNowhere && its.end != 0 && its.end < view.now)
          forecast_.set_overdue(view, id, its.device);
      });
    }
}

bool Adaptive::any_other(const View& view, FrameRef frame) {
  for (std::uint16_t c = 0; c < view.board.sources().size(); ++c)
    for (std::uint16_t slot = 0; slot < view.board[c].ring(); ++slot)
      if ((c != frame.source || slot != frame.slot) &&
          view.board[c].frame(slot).state == FrameStatus::State::Live)
        return true;
  return false;
}

bool Adaptive::arrange(const View& view, FrameRef frame) {
  rescue_ = {};
  order(view, frame);
  const Layout layout = most_useful(view, frame);
  // What others keep is known only of devices that are used: it makes no frame be refused. Nor is
  // one refused that has the pool to itself: it is in nobody's way, and when forecasts are wrong,
  // only what runs can tell.
  if (any_other(view, frame) &&
      forecast(view, frame, layout, false) + margin_ > view.board.frame(frame).deadline)
    return false;
  forecast(view, frame, layout);
  lay_out(view, frame, layout.devices == 1 ? Reason::Unit : Reason::Soonest);
  return true;
}

// Of the layouts with which it would be done nearly as soon as with any, the one on the fewest
// devices.
Adaptive::Layout Adaptive::most_useful(const View& view, FrameRef frame) {
  find_wanted(view, frame);
  sharers_ = 1 + coming(view, frame);
  layouts_.clear();
  const auto consider = [&](Layout layout) {
    layout.done = forecast(view, frame, layout);
    layouts_.push_back(layout);
  };
  for (std::uint32_t home = 0; home < order_.size(); ++home) {
    if (!first_of_type(view, home)) continue;
    for (std::uint32_t devices = 1; devices <= order_.size(); ++devices) {
      consider({.home = home, .devices = devices});
      if (devices > 1 && devices * sharers_ <= order_.size())
        consider({.home = home, .devices = devices, .apart = true});
    }
  }
  sharers_ = 1;
  const Tick soonest = std::ranges::min_element(layouts_, {}, &Layout::done)->done;
  const Tick enough = soonest + std::llround(kGain * static_cast<double>(soonest - view.now));
  const auto fewest = [&](const Layout& layout) {
    return std::tuple(layout.done > enough, layout.devices, layout.done);
  };
  return *std::ranges::min_element(layouts_, {}, fewest);
}

// Frames begin on the idlest device, or on the idlest of another type, which may be faster.
bool Adaptive::first_of_type(const View& view, std::uint32_t place) const {
  const auto type = [&](std::uint32_t i) { return view.board.devices()[order_[i]].type; };
  for (std::uint32_t before = 0; before < place; ++before)
    if (type(before) == type(place)) return false;
  return true;
}

// The devices of a layout: its home, and the others as they are ordered.
std::uint16_t Adaptive::device_of(const Layout& layout, std::uint32_t turn) const {
  if (turn == 0) return order_[layout.home];
  return order_[turn <= layout.home ? turn - 1 : turn];
}

// Sources whose next frames start soon: they are not planned yet, and will want their share. One
// that has gone silent will not.
std::uint32_t Adaptive::coming(const View& view, FrameRef frame) {
  std::uint32_t count = 0;
  for (std::uint16_t c = 0; c < view.board.sources().size(); ++c) {
    const Tick start = view.board[c].next_start(), interval = view.board[c].interval(view.now);
    count += c != frame.source && interval != kNever && start < view.now + interval / 2;
  }
  return count;
}

// When the frame would be done if its shared steps were on the layout's home, and its later ones on
// so many devices in turn. What has a device that is up, stays there.
Tick Adaptive::forecast(const View& view, FrameRef frame, const Layout& layout, bool others) {
  assign(view, frame, layout);
  return forecast_.run(view, frame, outlooks(), {.sharers = sharers_, .others = others});
}

// What is to be done: all that is not over, and what it needs of what died with its device.
void Adaptive::find_wanted(const View& view, FrameRef frame) {
  const Graph& graph = view.board[frame.source].graph();
  for (std::size_t left = graph.size(); left > 0; --left) {
    const auto i = static_cast<std::uint16_t>(left - 1);
    const InstructionStatus& status = view.board[frame.source].status(frame.slot, i);
    const std::uint16_t device = plan(view, instance(view, frame, i)).device;
    const bool over = status.state >= InstructionStatus::State::Committed;
    const bool here = device != kNowhere && up(view, device);
    const auto next = graph[i].successors;
    wanted_[i] = status.chunks != 0 && (!over || here ||
                                        std::any_of(next.begin(), next.end(),
                                                    [&](std::uint16_t n) { return wanted_[n]; }));
  }
}

// To devices; what has one keeps it, and its end.
void Adaptive::assign(const View& view, FrameRef frame, const Layout& layout) {
  const Graph& graph = view.board[frame.source].graph();
  const std::uint16_t shared = shared_step(frame.source);
  const std::span<Forecast::Step> steps = forecast_.begin(view, frame);
  std::uint32_t turn = 0;
  std::uint16_t step = shared;
  for (std::uint16_t i = 0; i < graph.size(); ++i) {
    if (!wanted_[i]) continue;
    const Instruction& instruction = graph[i];
    const Plan& mine = plan(view, instance(view, frame, i));
    if (mine.device != kNowhere && up(view, mine.device)) {
      const InstructionStatus& status = view.board[frame.source].status(frame.slot, i);
      const bool over = status.state >= InstructionStatus::State::Committed;
      steps[i].device = mine.device;
      steps[i].end = over ? view.now : std::max(mine.end, view.now);
      continue;
    }
    steps[i].device = device_of(layout, 0);
    if (instruction.step > shared) {
      if (instruction.step != step) turn = step == shared ? 0 : (turn + 1) % layout.devices;
      step = instruction.step;
      steps[i].device = device_of(layout, turn);
    } else if (layout.apart) {
      steps[i].device = device_of(layout, part_of(graph, i) % layout.devices);
    }
  }
}

// A step that receives nothing has no input to be issued with. It follows
// what it waits for, lest it is ready behind all that other frames have issued meanwhile.
void Adaptive::lay_out(const View& view, FrameRef frame, Reason why) {
  const SourceBoard& source = view.board[frame.source];
  forecast_.plan_messages();
  for_each(view, frame, [&](const InstanceId& id) {
    const std::uint16_t step = source.graph()[id.instruction].step;
    place(view, id, forecast_[id.instruction].device, why);
    plan(view, id).stream = stream_of(frame, step, part_of(source.graph(), id.instruction));
    expect_forecast(view, id);
    if (!fed_[frame.source][step]) enqueue(view, id, why);
  });
}

void Adaptive::expect_forecast(const View& view, const InstanceId& id) {
  const Forecast::Step& step = forecast_[id.instruction];
  expect(view, id, step.end - static_cast<Tick>(alone_on(view, id, step.device)), step.end);
}

// What is left of a frame is forecast anew, around what need not move.
std::uint16_t Adaptive::refuge(const View& view, const InstanceId& id, std::uint16_t from) {
  const Rescue rescue{view.now, id.source, id.slot, from};
  if (rescue != rescue_) {
    order(view, id.place());
    rescue_ = order_.empty() ? Rescue{} : rescue;
    if (order_.empty()) return kNowhere;
    forecast(view, id.place(), most_useful(view, id.place()));
    forecast_.plan_messages();
  }
  return forecast_[id.instruction].device;
}

void Adaptive::moved(const View& view, const InstanceId& id) { expect_forecast(view, id); }

// Frames that were admitted and late say that forecasts are too fair: in an overload more has to be
// refused, lest all that is admitted is late.
void Adaptive::ended(const View& view, FrameRef frame) {
  const FrameStatus& status = view.board.frame(frame);
  if (status.state == FrameStatus::State::Finished) {
    if (status.why == Reason::Deadline)
      margin_ += (status.deadline - status.start) / 32;
    else
      margin_ -= margin_ / 256;
    margin_ = std::min(margin_, (status.deadline - status.start) / 2);
  }
  Placement::ended(view, frame);
}

// Of steps with input that are together on one device, first what waits for no other step: where
// others keep the device busy, more is ready then to take each gap that they leave.
void Adaptive::ready(const View& view, std::span<const InstanceId> ids) {
  const auto issue = [&](const InstanceId& id) { enqueue(view, id, plan(view, id).placed); };
  const auto received = [&](const InstanceId& id) {
    return view.board[id.source].graph()[id.instruction].feed == Feed::Arrivals;
  };
  for (const InstanceId& id : ids) {
    if (!received(id) || plan(view, id).placed != Reason::Unit) continue;
    for_each_of_step(view, id, [&](const InstanceId& each) {
      if (needs_no_other_step(view, each)) issue(each);
    });
  }
  for (const InstanceId& id : ids) for_each_of_step(view, id, issue);
}

// And all that it does need is issued.
bool Adaptive::needs_no_other_step(const View& view, const InstanceId& id) {
  const Graph& graph = view.board[id.source].graph();
  const Instruction& instruction = graph[id.instruction];
  return std::all_of(instruction.waits_for.begin(), instruction.waits_for.end(),
                     [&](std::uint16_t needed) {
                       return graph[needed].step == instruction.step &&
                              plan(view, instance(view, id.place(), needed)).issued;
                     });
}

}  // namespace carillon::runtime
