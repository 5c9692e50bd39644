#include "runtime/policies/pool/forecast.hpp"

#include <algorithm>
#include <functional>

namespace carillon::runtime {

void Forecast::prepare(const View& view) {
  const std::size_t devices = view.board.devices().size();
  std::size_t most = 0;
  for (const SourceBoard& source : view.board.sources())
    most = std::max<std::size_t>(most, source.graph().size());
  links_ = Links(devices);
  lanes_.resize(links_.size());
  behind_.resize(links_.size());
  late_.resize(devices);
  steps_.resize(most);
  there_.resize(most * devices);
  devices_.resize(devices);
  for (Device& each : devices_) each.waiting.reserve(most);
  events_.reserve(2 * most + devices);
  messages_.reserve(2 * most * devices);  // for each result, to every device
}

void Forecast::advance(Tick now) { links_.advance(now); }

std::span<Forecast::Step> Forecast::begin(const View& view, FrameRef frame) {
  const auto steps = std::span(steps_).first(view.board[frame.source].graph().size());
  std::ranges::fill(steps, Step{});
  return steps;
}

Tick Forecast::run(const View& view, FrameRef frame, std::span<const Outlook> devices,
                   const Options& options) {
  outlooks_ = devices;
  options_ = options;
  begin_behind(view);
  std::ranges::fill(there_, kNever);
  messages_.clear();
  const Graph& graph = view.board[frame.source].graph();
  for (std::uint16_t i = 0; i < graph.size(); ++i) {
    Step& mine = steps_[i];
    if (mine.device == kNowhere) continue;
    mine.ready = released(view, instance(view, frame, i));
    const auto here = [&](std::uint16_t needed) { return steps_[needed].device != kNowhere; };
    mine.missing = static_cast<std::uint16_t>(std::ranges::count_if(graph[i].waits_for, here));
    if (mine.end != kNever)
      push(mine.end, Kind::Ended, i);
    else if (mine.missing == 0)
      push(mine.ready, Kind::Ready, i);
  }
  Tick done = view.now;
  while (!events_.empty()) {
    const Event event = events_.front();
    std::pop_heap(events_.begin(), events_.end());
    events_.pop_back();
    switch (event.kind) {
      case Kind::Ready: ready(view, instance(view, frame, event.which), event.at); break;
      case Kind::Free:
        devices_[event.which].busy = false;
        dispatch(view, frame, event.which, event.at);
        break;
      case Kind::Ended:
        done = std::max(done, event.at);
        deliver(view, instance(view, frame, event.which));
        break;
    }
  }
  return done;
}

void Forecast::clear_overdue() {
  std::ranges::fill(behind_, 0);
  std::ranges::fill(late_, 0);
}

void Forecast::set_overdue(const View& view, const InstanceId& id, std::uint16_t device) {
  const std::uint32_t sms = sms_on(view, id, device);
  const double alone = alone_on(view, id, device);
  if (sms != 0)
    late_[device] += sms * alone;
  else
    behind_[needs_input(view, id) ? Links::receives(device) : Links::sends(device)] += alone;
}

void Forecast::begin_behind(const View& view) {
  for (std::size_t link = 0; link < lanes_.size(); ++link)
    lanes_[link] = view.now + static_cast<Tick>(behind_[link]);
  for (std::uint16_t d = 0; d < devices_.size(); ++d) {
    devices_[d].busy = late_[d] != 0;
    if (late_[d] != 0) push(view.now + static_cast<Tick>(late_[d] / ours(view, d)), Kind::Free, d);
  }
}

// SMs of a device that are ours.
std::uint32_t Forecast::ours(const View& view, std::uint16_t device) const {
  const DeviceStatus& status = view.board.devices()[device];
  return options_.others ? status.ours() : status.sms;
}

void Forecast::push(Tick at, Kind kind, std::uint16_t which) {
  events_.push_back({at, kind, which});
  std::push_heap(events_.begin(), events_.end());
}

void Forecast::ready(const View& view, const InstanceId& id, Tick now) {
  const std::uint16_t device = steps_[id.instruction].device;
  if (sms_on(view, id, device) == 0) return transfer(view, id, now);
  std::vector<std::uint16_t>& waiting = devices_[device].waiting;
  waiting.push_back(id.instruction);
  std::ranges::push_heap(waiting, std::greater{});
  dispatch(view, id.place(), device, now);
}

// The device's next kernel starts, on the SMs that others leave; it is free for another one as soon
// as it has done so much work, which a kernel that does not fill it ends behind.
void Forecast::dispatch(const View& view, FrameRef frame, std::uint16_t device, Tick now) {
  Device& mine = devices_[device];
  if (mine.busy || mine.waiting.empty()) return;
  const InstanceId id = instance(view, frame, mine.waiting.front());
  std::ranges::pop_heap(mine.waiting, std::greater{});
  mine.waiting.pop_back();
  mine.busy = true;
  const double alone = alone_on(view, id, device);
  const double work = sms_on(view, id, device) * alone;
  const Tick free = outlooks_[device].done(now, work, ours(view, device));
  steps_[id.instruction].end = std::max(now + static_cast<Tick>(alone), free);
  push(steps_[id.instruction].end, Kind::Ended, id.instruction);
  push(free, Kind::Free, device);
}

// To or from the host.
void Forecast::transfer(const View& view, const InstanceId& id, Tick now) {
  const std::uint16_t device = steps_[id.instruction].device;
  const std::size_t trunk = links_.trunk();
  const bool comes = needs_input(view, id);
  const Tick own = carry(comes ? Links::receives(device) : Links::sends(device), now,
                         alone_on(view, id, device));
  const Tick shared = carry(comes ? Links::receives(trunk) : Links::sends(trunk), now,
                            options_.sharers * trunk_for(view, id, device));
  steps_[id.instruction].end = std::max(own, shared);
  push(steps_[id.instruction].end, Kind::Ended, id.instruction);
}

// Its result is there for those that wait for it, elsewhere when it has been copied.
void Forecast::deliver(const View& view, const InstanceId& id) {
  const Step& its = steps_[id.instruction];
  for (const std::uint16_t next : view.board[id.source].graph()[id.instruction].successors) {
    Step& reader = steps_[next];
    if (reader.device == kNowhere || reader.end != kNever) continue;
    Tick& there = there_[id.instruction * devices_.size() + reader.device];
    if (reader.device == its.device) {
      there = its.end;
    } else if (there == kNever) {
      const double copy = copy_from(view, id, its.device);
      there = std::max(carry(Links::sends(its.device), its.end, copy),
                       carry(Links::receives(reader.device), its.end, copy));
    }
    reader.ready = std::max(reader.ready, there);
    if (--reader.missing == 0) push(reader.ready, Kind::Ready, next);
  }
}

// When a message of so many ns would be over a link: behind what the frame itself has there, on
// what other frames leave.
Tick Forecast::carry(std::size_t link, Tick wanted, double ns) {
  const Tick start = std::max(wanted, lanes_[link]);
  lanes_[link] = links_.done(link, start, ns);
  messages_.push_back({link, start, lanes_[link], ns});
  return lanes_[link];
}

void Forecast::plan_messages() {
  for (const Message& each : messages_) links_.plan(each.link, each.start, each.end, each.ns);
}

}  // namespace carillon::runtime
