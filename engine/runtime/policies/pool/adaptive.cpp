#include "runtime/policies/pool/adaptive.hpp"

#include <algorithm>
#include <numeric>

namespace carillon::runtime {
namespace {

// What more devices have to gain, lest a frame is spread for next to nothing.
constexpr double kGain = 0.03;

constexpr std::uint32_t kWhole = 1024;  // shares of a link

}  // namespace

void Adaptive::prepare(const View& view) {
  Placement::prepare(view);
  const std::size_t devices = view.board.devices().size();
  std::size_t most = 0;
  for (const CellBoard& cell : view.board.cells()) {
    const Graph& graph = cell.graph();
    most = std::max<std::size_t>(most, graph.size());
    std::vector<bool>& fed = fed_.emplace_back();
    for (const Instruction& instruction : graph.instructions()) {
      fed.resize(std::max<std::size_t>(fed.size(), instruction.step + 1U));
      if (instruction.sources.empty()) fed[instruction.step] = true;
    }
  }
  order_.reserve(devices);
  computes_.resize(devices);
  late_.resize(devices);
  links_.resize(2 * devices + 2);
  lanes_.resize(links_.size());
  forecast_.resize(most);
  wanted_.resize(most);
  there_.resize(most * devices);
  messages_.reserve(2 * most * devices);  // for each result, to every device
}

bool Adaptive::up(const View& view, std::uint16_t device) {
  return view.board.devices()[device].up;
}

void Adaptive::order(const View& view) {
  for (Outlook& each : links_) each.advance(view.now);
  order_.resize(view.board.devices().size());
  std::iota(order_.begin(), order_.end(), std::uint16_t{0});
  std::erase_if(order_, [&](std::uint16_t d) { return !usable(view, d); });
  std::stable_sort(order_.begin(), order_.end(),
                   [&](std::uint16_t a, std::uint16_t b) { return load(a) < load(b); });
}

bool Adaptive::arrange(const View& view, FrameRef frame) {
  rescue_ = {};
  order(view);
  const Layout layout = most_useful(view, frame);
  if (forecast(view, frame, layout) + margin_ > view.board.frame(frame).deadline) return false;
  lay_out(view, frame, layout.devices == 1 ? Reason::Unit : Reason::Soonest);
  return true;
}

// Where it would be done soonest, but for a gain that is too small.
Adaptive::Layout Adaptive::most_useful(const View& view, FrameRef frame) {
  find_wanted(view, frame);
  sharers_ = 1 + coming(view, frame);
  const auto idle = static_cast<std::uint32_t>(
      std::count_if(order_.begin(), order_.end(), [&](std::uint16_t d) { return load(d) == 0; }));
  Layout best;
  Tick soonest = kNever;
  const auto consider = [&](const Layout& layout) {
    const Tick done = forecast(view, frame, layout);
    const auto gain = static_cast<double>(soonest - done);
    if (soonest != kNever && gain <= kGain * static_cast<double>(soonest - view.now)) return;
    soonest = done;
    best = layout;
  };
  for (std::uint32_t home = 0; home < order_.size(); ++home) {
    if (!first_of_type(view, home)) continue;
    consider({home, 1, false});
    for (std::uint32_t devices = 2; devices <= order_.size(); ++devices) {
      consider({home, devices, false});
      if (devices * sharers_ <= idle) consider({home, devices, true});
    }
  }
  sharers_ = 1;
  return best;
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

// Cells whose next frames start soon: they are not planned yet, and will want their share.
std::uint32_t Adaptive::coming(const View& view, FrameRef frame) {
  std::uint32_t count = 0;
  for (std::uint16_t c = 0; c < view.board.cells().size(); ++c) {
    const Tick start = view.board[c].next_start(), interval = view.board[c].interval(view.now);
    count += c != frame.cell && start != kNever && start < view.now + interval / 2;
  }
  return count;
}

// When the frame would be done if its pilots were on the layout's home, and its data symbols on so
// many devices in turn. What has a device that is up, stays there. Samples that are here
// already are on the links before anything that other devices make.
Tick Adaptive::forecast(const View& view, FrameRef frame, const Layout& layout) {
  const Graph& graph = view.board[frame.cell].graph();
  std::fill(computes_.begin(), computes_.end(), kAlways);
  std::fill(lanes_.begin(), lanes_.end(), kAlways);
  messages_.clear();
  std::fill(there_.begin(), there_.end(), kNever);
  assign(view, frame, layout);
  Tick done = view.now;
  for (const bool here : {true, false})
    for (std::uint16_t i = 0; i < graph.size(); ++i) {
      const InstanceId id = instance(view, frame, i);
      Step& mine = forecast_[i];
      if (mine.device == kNowhere || mine.end != kNever) continue;
      if (here && !(graph[i].feed == Feed::Arrivals && released(view, id) <= view.now)) continue;
      mine.end = run(view, id, mine.device, after(view, id, mine.device));
    }
  for (std::uint16_t i = 0; i < graph.size(); ++i)
    if (forecast_[i].device != kNowhere) done = std::max(done, forecast_[i].end);
  return done;
}

// What is to be done: all that is not over, and what it needs of what died with its device.
void Adaptive::find_wanted(const View& view, FrameRef frame) {
  const Graph& graph = view.board[frame.cell].graph();
  for (std::size_t left = graph.size(); left > 0; --left) {
    const auto i = static_cast<std::uint16_t>(left - 1);
    const InstructionStatus& status = view.board[frame.cell].status(frame.slot, i);
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
  const Graph& graph = view.board[frame.cell].graph();
  const std::uint16_t pilots = shared_step(frame.cell);
  std::uint32_t turn = 0;
  std::uint16_t step = pilots;
  for (std::uint16_t i = 0; i < graph.size(); ++i) {
    const Instruction& instruction = graph[i];
    const InstructionStatus& status = view.board[frame.cell].status(frame.slot, i);
    forecast_[i] = {kNever, kNowhere};
    if (!wanted_[i]) continue;
    const Plan& mine = plan(view, instance(view, frame, i));
    if (mine.device != kNowhere && up(view, mine.device)) {
      const bool over = status.state >= InstructionStatus::State::Committed;
      forecast_[i] = {over ? view.now : std::max(mine.end, view.now), mine.device};
      continue;
    }
    forecast_[i].device = device_of(layout, 0);
    if (instruction.step > pilots) {
      if (instruction.step != step) turn = step == pilots ? 0 : (turn + 1) % layout.devices;
      step = instruction.step;
      forecast_[i].device = device_of(layout, turn);
    } else if (layout.apart) {
      forecast_[i].device = device_of(layout, part_of(graph, i) % layout.devices);
    }
  }
}

// When what an instruction reads would be on that device.
Tick Adaptive::after(const View& view, const InstanceId& id, std::uint16_t device) {
  const CellBoard& cell = view.board[id.cell];
  Tick wanted = released(view, id);
  for (const std::uint16_t source : cell.graph()[id.instruction].sources) {
    if (cell.status(id.slot, source).chunks == 0) continue;
    const Step& its = forecast_[source];
    Tick& there = there_[source * computes_.size() + device];
    if (its.device == device) {
      there = its.end;
    } else if (there == kNever) {
      const double copy = copy_from(view, instance(view, id.place(), source), its.device);
      there =
          std::max(carry(sends(its.device), its.end, copy), carry(receives(device), its.end, copy));
    }
    wanted = std::max(wanted, there);
  }
  return wanted;
}

// When an instruction would be done there: behind what the frame itself has there, on the SMs that
// other frames leave.
Tick Adaptive::run(const View& view, const InstanceId& id, std::uint16_t device, Tick wanted) {
  const double alone = alone_on(view, id, device);
  const std::uint32_t sms = sms_on(view, id, device);
  if (sms == 0) {  // it comes over the links, or goes
    const auto trunk = static_cast<std::uint16_t>(computes_.size());
    const bool comes = needs_samples(view, id);
    return std::max(carry(comes ? receives(device) : sends(device), wanted, alone),
                    carry(comes ? receives(trunk) : sends(trunk), wanted,
                          sharers_ * trunk_for(view, id, device)));
  }
  const Tick late = load(device) > 0 ? late_[device] : 0;
  const Tick start = std::max({wanted, computes_[device], view.now + late});
  const std::uint32_t all = view.board.devices()[device].sms;
  computes_[device] = outlook(device).done(start - late, sms * alone, all) + late;
  return std::max(start + static_cast<Tick>(alone), computes_[device]);
}

// When a message of so many ns would be over a link: behind what the frame itself has there, on
// what other frames leave.
Tick Adaptive::carry(std::size_t link, Tick wanted, double ns) {
  const Tick start = std::max(wanted, lanes_[link]);
  lanes_[link] = links_[link].done(start, ns * kWhole, kWhole);
  if (const Tick lasts = lanes_[link] - start; lasts > 0)
    messages_.push_back({link, start, lanes_[link],
                         static_cast<std::uint32_t>(ns * kWhole / static_cast<double>(lasts))});
  return lanes_[link];
}

// A step that receives nothing, as a downlink's first, has no samples to be issued with. It follows
// what it waits for, lest it is ready behind all that other frames have issued meanwhile.
void Adaptive::lay_out(const View& view, FrameRef frame, Reason why) {
  const CellBoard& cell = view.board[frame.cell];
  plan_messages();
  for_each(view, frame, [&](const InstanceId& id) {
    const std::uint16_t step = cell.graph()[id.instruction].step;
    place(view, id, forecast_[id.instruction].device, why);
    plan(view, id).stream = stream_of(view, frame, step, part_of(cell.graph(), id.instruction));
    expect_forecast(view, id);
    if (!fed_[frame.cell][step]) enqueue(view, id, why);
  });
}

void Adaptive::plan_messages() {
  for (const Message& each : messages_) links_[each.link].add(each.start, each.end, each.share);
}

void Adaptive::expect_forecast(const View& view, const InstanceId& id) {
  const Step& step = forecast_[id.instruction];
  expect(view, id, step.end - static_cast<Tick>(alone_on(view, id, step.device)), step.end);
}

void Adaptive::committed(const View& view, const InstanceId& id) {
  const Plan& mine = plan(view, id);
  // What was moved from a device that died is in no plan.
  if (mine.device != kNowhere && mine.end != 0 && sms_on(view, id, mine.device) != 0)
    late_[mine.device] = std::max<Tick>(view.now - mine.end, 0);
  Placement::committed(view, id);
}

// What is left of a frame is forecast anew, around what need not move.
std::uint16_t Adaptive::refuge(const View& view, const InstanceId& id, std::uint16_t from) {
  const Rescue rescue{view.now, id.cell, id.slot, from};
  if (rescue != rescue_) {
    order(view);
    rescue_ = order_.empty() ? Rescue{} : rescue;
    if (order_.empty()) return kNowhere;
    forecast(view, id.place(), most_useful(view, id.place()));
    plan_messages();
  }
  return forecast_[id.instruction].device;
}

void Adaptive::moved(const View& view, const InstanceId& id) { expect_forecast(view, id); }

// How far it was behind when it died says nothing of when it is back.
void Adaptive::changed(const View& view, std::uint16_t device) {
  if (device < late_.size()) late_[device] = 0;
  Placement::changed(view, device);
}

// Frames that were admitted and late say that forecasts are too fair: in an overload more has to be
// refused, lest all that is admitted is late.
void Adaptive::ended(const View& view, FrameRef frame) {
  const FrameStatus& status = view.board.frame(frame);
  if (status.state == FrameStatus::State::Finished) {
    if (status.why == Reason::Deadline)
      margin_ += (status.deadline - status.air_start) / 32;
    else
      margin_ -= margin_ / 256;
    margin_ = std::min(margin_, (status.deadline - status.air_start) / 2);
  }
  Placement::ended(view, frame);
}

// Of received symbols that are together on one device, first what waits for no other symbol: where
// others keep the device busy, more is ready then to take each gap that they leave.
void Adaptive::ready(const View& view, std::span<const InstanceId> ids) {
  const auto issue = [&](const InstanceId& id) { enqueue(view, id, plan(view, id).placed); };
  const auto received = [&](const InstanceId& id) {
    return view.board[id.cell].graph()[id.instruction].feed == Feed::Arrivals;
  };
  for (const InstanceId& id : ids) {
    if (!received(id) || plan(view, id).placed != Reason::Unit) continue;
    for_each_of_symbol(view, id, [&](const InstanceId& each) {
      if (needs_no_other_symbol(view, each)) issue(each);
    });
  }
  for (const InstanceId& id : ids) for_each_of_symbol(view, id, issue);
}

// And all that it does need is issued.
bool Adaptive::needs_no_other_symbol(const View& view, const InstanceId& id) {
  const Graph& graph = view.board[id.cell].graph();
  const Instruction& instruction = graph[id.instruction];
  return std::all_of(instruction.sources.begin(), instruction.sources.end(),
                     [&](std::uint16_t source) {
                       return graph[source].step == instruction.step &&
                              plan(view, instance(view, id.place(), source)).issued;
                     });
}

}  // namespace carillon::runtime
