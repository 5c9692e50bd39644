#include "runtime/executors/simulated_pool.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/random.hpp"

namespace carillon::runtime {
namespace {

constexpr std::uint16_t kHost = 0;  // its node in the fabric

std::uint16_t first_of(const DeviceMask& mask) {
  return static_cast<std::uint16_t>(mask.word(0) != 0 ? std::countr_zero(mask.word(0))
                                                      : 64 + std::countr_zero(mask.word(1)));
}

template <typename T>
std::size_t take(std::vector<T>& from, std::span<T> out) {
  const std::size_t count = std::min(out.size(), from.size());
  const auto end = from.begin() + static_cast<std::ptrdiff_t>(count);
  std::copy(from.begin(), end, out.begin());
  from.erase(from.begin(), end);
  return count;
}

}  // namespace

SimulatedPool::SimulatedPool(ScoreboardWriter& board, PoolModel model,
                             std::vector<std::vector<Work>> work, bool keep)
    : board_(board),
      model_(std::move(model)),
      work_(std::move(work)),
      state_(model_.devices.size()),
      launcher_(model_.devices.size()),
      keep_(keep) {
  for (std::size_t d = 0; d < model_.devices.size(); ++d) {
    const PoolDevice& device = model_.devices[d];
    gpus_.emplace_back(Gpu::Options{.sms = device.type->sms,
                                    .bytes_per_ns = device.type->memory_bytes_per_s * 1e-9,
                                    .queues = device.queues + 1,  // one for others
                                    .gap = model_.host.gap});
    if (device.reserved_sms != 0) gpus_.back().reserve(device.reserved_sms, 0);
    if (device.reserve) state_[d].health = Health::Reserve;
    auto& of_device = loads_.emplace_back();
    for (const auto& source : work_) {
      auto& of_source = of_device.emplace_back();
      for (const Work& each : source) of_source.push_back(load_on(*device.type, each));
    }
  }
  set_up_memory();
  for (std::uint16_t c = 0; c < board_.sources().size(); ++c) {
    first_place_.push_back(static_cast<std::uint32_t>(places_.size()));
    for (std::uint32_t slot = 0; slot < board_[c].ring(); ++slot)
      for (std::uint16_t i = 0; i < board_[c].graph().size(); ++i)
        places_.push_back({.source = c,
                           .instruction = i,
                           .there = std::vector<Copy>(gpus_.size()),
                           .readers = {}});
  }
  for (std::uint32_t f = 0; f < model_.faults.size(); ++f)
    push(model_.faults[f].at, Event::Kind::Fault, f, 0);
  for (std::uint32_t b = 0; b < model_.background.size(); ++b)
    occupy(b, model_.background[b].device, 0);
}

// A class of blocks for each size that a result has.
void SimulatedPool::set_up_memory() {
  std::vector<std::uint64_t> sizes;
  for (const auto& source : work_)
    for (const Work& each : source)
      if (each.output != 0) sizes.push_back(each.output);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  for (const auto& source : work_) {
    auto& of_source = class_of_.emplace_back();
    auto& blocks = blocks_.emplace_back(sizes.size());
    for (const Work& each : source) {
      const auto at = std::lower_bound(sizes.begin(), sizes.end(), each.output) - sizes.begin();
      of_source.push_back(each.output != 0 ? static_cast<std::uint32_t>(at) : kNone);
      if (each.output != 0) ++blocks[of_source.back()];
    }
  }
  for (const PoolDevice& device : model_.devices)
    memory_.emplace_back(device.memory != 0 ? device.memory : device.type->memory_bytes, sizes);
}

std::uint32_t SimulatedPool::index_of(const InstanceId& what, std::uint16_t instruction) const {
  return first_place_[what.source] + what.slot * board_[what.source].graph().size() + instruction;
}

// Forgets what an earlier frame left there.
std::uint32_t SimulatedPool::place_of(const InstanceId& what, std::uint16_t instruction) {
  const std::uint32_t index = index_of(what, instruction);
  Place& place = places_[index];
  if (place.generation != what.generation) {
    place.generation = what.generation;
    place.live = kNone;
    place.readers.clear();
    std::fill(place.there.begin(), place.there.end(), Copy{});
  }
  return index;
}

void SimulatedPool::push(Tick at, Event::Kind kind, std::uint32_t which, std::uint64_t of) {
  events_.push_back({at, sequence_++, kind, which, of});
  std::push_heap(events_.begin(), events_.end());
}

void SimulatedPool::issue(const Issue& issue, Tick now) noexcept {
  std::uint32_t id = static_cast<std::uint32_t>(live_.size());
  if (free_.empty()) {
    live_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  const std::uint16_t device = first_of(issue.where);
  live_[id] = {.state = Live::State::Launching,
               .device = device,
               .issue = issue,
               .sequence = sequence_++,
               .record = {.what = issue.what, .count = issue.count, .device = device}};
  places_[place_of(issue.what, issue.what.instruction)].live = id;
  thinking_ = std::max(now, thinking_) + model_.host.decision;
  const double slower = factor(issue.what, model_.jitter.launch, 1);
  const Tick launch = std::llround(static_cast<double>(model_.host.launch) * slower);
  launcher_[device] = std::max(thinking_, launcher_[device]) + launch;
  push(launcher_[device], Event::Kind::Launched, id, live_[id].sequence);
}

std::size_t SimulatedPool::poll(std::span<Finished> out) noexcept { return take(finished_, out); }

std::size_t SimulatedPool::poll(std::span<DeviceEvent> out) noexcept {
  return take(device_events_, out);
}

std::uint32_t SimulatedPool::undone(const InstanceId& what) const noexcept {
  const Place& place = places_[index_of(what, what.instruction)];
  return place.generation == what.generation && place.live != kNone ? live_[place.live].record.count
                                                                    : 0;
}

void SimulatedPool::cancel(const InstanceId& what) noexcept {
  const std::uint32_t id = places_[place_of(what, what.instruction)].live;
  if (id == kNone) return;
  Live& live = live_[id];
  live.cancelled = true;
  if (live.state == Live::State::Held)
    forget(id);
  else if (live.state == Live::State::Queued && !dead(live.device))
    gpus_[live.device].cancel(live.kernel, latest_);
}

bool SimulatedPool::lost(const InstanceId& what) const noexcept {
  const Work& of = work(what);
  if (of.footprint.ctas == 0 && of.output == 0) return false;  // it is on the host
  const Place& place = places_[index_of(what, what.instruction)];
  return std::none_of(place.there.begin(), place.there.end(),
                      [](const Copy& copy) { return copy.from == kThere; });
}

bool SimulatedPool::admit(FrameRef frame) noexcept {
  const std::span<const std::uint32_t> blocks = blocks_[frame.source];
  const auto fits = [&](const DeviceMemory& memory) { return memory.fits(blocks); };
  if (!std::all_of(memory_.begin(), memory_.end(), fits)) return false;
  for (DeviceMemory& memory : memory_) memory.reserve(blocks);
  return true;
}

void SimulatedPool::over(FrameRef frame) noexcept {
  const std::uint32_t size = board_[frame.source].graph().size();
  const auto places =
      std::span(places_).subspan(first_place_[frame.source] + frame.slot * size, size);
  for (Place& place : places) {
    const std::uint32_t of = class_of_[place.source][place.instruction];
    if (of == kNone) continue;
    for (std::uint16_t d = 0; d < memory_.size(); ++d) {
      Copy& copy = place.there[d];
      if (copy.has_block && copy.from >= 0) {
        leftovers_.push_back({copy.sequence, d, of, copy.block});
        copy.has_block = false;
      } else {
        give_block(place, d);
        memory_[d].release(of);
      }
    }
  }
}

void SimulatedPool::take_block(Place& place, std::uint16_t device) {
  Copy& copy = place.there[device];
  const std::uint32_t of = class_of_[place.source][place.instruction];
  if (copy.has_block || of == kNone) return;
  copy.has_block = true;
  copy.block = memory_[device].take(of);
}

void SimulatedPool::give_block(Place& place, std::uint16_t device) {
  Copy& copy = place.there[device];
  if (!copy.has_block) return;
  copy.has_block = false;
  memory_[device].give(class_of_[place.source][place.instruction], copy.block);
}

bool SimulatedPool::current(std::uint32_t live, std::uint64_t sequence) const {
  return live_[live].state != Live::State::Free && live_[live].sequence == sequence;
}

void SimulatedPool::launched(std::uint32_t id, Tick now) {
  Live& live = live_[id];
  const InstanceId& what = live.issue.what;
  if (state_[live.device].health >= Health::Gone) return finish(id, true);
  if (dead(live.device)) return;
  if (live.cancelled) return forget(id);
  if (state_[live.device].health == Health::Hung) watch(live.device, now);
  take_block(places_[place_of(what, what.instruction)], live.device);
  const bool held = is_transfer(what) || live.issue.background || live.issue.stream == Issue::kFree;
  live.state = held ? Live::State::Held : Live::State::Queued;
  const SourceBoard& source = board_[what.source];
  for (const std::uint16_t needed : source.graph()[what.instruction].waits_for) {
    if (source.status(what.slot, needed).chunks == 0) continue;
    const std::uint32_t place = place_of(what, needed);
    if (places_[place].there[live.device].from == kThere) continue;
    ++live.gates;
    places_[place].readers.push_back({id, live.sequence});
    request(place, live.device, now);
  }
  if (!held)
    submit(id, now);
  else if (live.gates == 0)
    release(id, now);
}

void SimulatedPool::submit(std::uint32_t id, Tick now) {
  Live& live = live_[id];
  const InstanceId& what = live.issue.what;
  live.state = Live::State::Queued;
  const bool own = live.issue.stream == Issue::kFree && !live.issue.background;
  if (!own) live.record.queue = static_cast<std::uint16_t>(queue_of(live));
  live.kernel =
      gpus_[live.device].submit(own ? Gpu::kOwn : queue_of(live), !live.issue.background,
                                loads_[live.device][what.source][what.instruction],
                                factor(what, model_.jitter.kernel, 0), live.gates, id, now);
}

// The last two hardware queues are for streams of one ready kernel each, which do not wait for each
// other, and for what may wait behind everything; the other streams share the rest.
std::uint32_t SimulatedPool::queue_of(const Live& live) const {
  const std::uint32_t shared = model_.devices[live.device].queues - 2;
  if (live.issue.background) return shared + 1;
  return live.issue.stream == Issue::kFree ? shared : live.issue.stream % shared;
}

// Has a result copied to a device, unless it is on its way or nowhere yet.
void SimulatedPool::request(std::uint32_t index, std::uint16_t device, Tick now) {
  Place& place = places_[index];
  if (place.there[device].from != kNowhere) return;
  for (std::uint16_t from = 0; from < gpus_.size(); ++from) {
    if (place.there[from].from != kThere || dead(from)) continue;
    const Tick at = model_.fabric.transfer(model_.devices[from].node, model_.devices[device].node,
                                           work_[place.source][place.instruction].output, now);
    take_block(place, device);
    place.there[device].from = static_cast<std::int16_t>(from);
    place.there[device].sequence = sequence_;
    ++copied_;
    push(at, Event::Kind::Copied, index, device);
    return;
  }
}

void SimulatedPool::opened(std::uint32_t id, Tick now) {
  Live& live = live_[id];
  if (live.cancelled) return;
  --live.gates;
  if (live.state == Live::State::Queued)
    gpus_[live.device].open(live.kernel, now);
  else if (live.gates == 0)
    release(id, now);
}

// What has been held back has its operands.
void SimulatedPool::release(std::uint32_t id, Tick now) {
  if (is_transfer(live_[id].issue.what))
    transfer(id, now);
  else
    submit(id, now);
}

void SimulatedPool::transfer(std::uint32_t id, Tick now) {
  Live& live = live_[id];
  const bool from_host = work(live.issue.what).output != 0;
  const std::uint16_t device = model_.devices[live.device].node;
  live.state = Live::State::Transferring;
  live.record.executed = now;
  const Tick at = model_.fabric.transfer(from_host ? kHost : device, from_host ? device : kHost,
                                         work(live.issue.what).moved, now);
  push(at, Event::Kind::Transferred, id, live.sequence);
}

void SimulatedPool::done(std::uint32_t id, Tick start, Tick end) {
  Live& live = live_[id];
  live.state = Live::State::Over;
  live.record.executed = start;
  live.record.at = end;
  live.record.busy = end - start;
  const InstanceId& what = live.issue.what;
  if (keep_)
    executions_.push_back({.what = what,
                           .device = live.device,
                           .first = live.issue.first,
                           .count = live.issue.count,
                           .start = start,
                           .end = end,
                           .queue = static_cast<std::uint16_t>(queue_of(live)),
                           .why = live.issue.why,
                           .placed = live.issue.placed,
                           .expected = live.issue.expected});
  produced(place_of(what, what.instruction), live.device, end);
  push(end + model_.host.notify, Event::Kind::Told, id, live.sequence);
}

void SimulatedPool::produced(std::uint32_t index, std::uint16_t device, Tick now) {
  arrived(index, device, now);
  for (const Reader& reader : places_[index].readers)
    if (current(reader.live, reader.sequence)) request(index, live_[reader.live].device, now);
}

void SimulatedPool::arrived(std::uint32_t index, std::uint16_t device, Tick now) {
  Place& place = places_[index];
  place.there[device].from = kThere;
  std::erase_if(place.readers, [&](const Reader& reader) {
    if (!current(reader.live, reader.sequence)) return true;
    if (live_[reader.live].device != device) return false;
    opened(reader.live, now);
    return true;
  });
}

// It was cancelled before it started.
void SimulatedPool::forget(std::uint32_t id) {
  live_[id].record.count = 0;
  finish(id, false);
}

void SimulatedPool::finish(std::uint32_t id, bool failed) {
  Live& live = live_[id];
  live.record.failed = failed;
  finished_.push_back(live.record);
  places_[index_of(live.issue.what, live.issue.what.instruction)].live = kNone;
  live.state = Live::State::Free;
  free_.push_back(id);
}

double SimulatedPool::factor(const InstanceId& what, double variation, std::uint64_t salt) const {
  if (variation == 0) return 1;
  const std::uint64_t one =
      mix_seed(model_.seed * 4 + salt) ^
      mix_seed(what.frame << 32 | std::uint64_t{what.source} << 16 | what.instruction);
  const auto uniform = [](std::uint64_t x) {
    return (static_cast<double>(mix_seed(x) >> 11) + 0.5) * 0x1p-53;
  };
  const double normal =
      std::sqrt(-2 * std::log(uniform(one))) * std::cos(2 * std::numbers::pi * uniform(~one));
  const double variance = std::log1p(variation * variation);
  return std::exp(std::sqrt(variance) * normal - variance / 2);
}

void SimulatedPool::happen(const Event& event) {
  const auto live_on_working_device = [&] {
    return current(event.which, event.of) && !dead(live_[event.which].device);
  };
  if (stalls(event)) return;
  switch (event.kind) {
    case Event::Kind::Launched:
      if (current(event.which, event.of)) launched(event.which, event.at);
      break;
    case Event::Kind::Transferred:
      if (live_on_working_device()) done(event.which, live_[event.which].record.executed, event.at);
      break;
    case Event::Kind::Told:
      if (live_on_working_device()) finish(event.which, false);
      break;
    case Event::Kind::Copied: copied(event); break;
    case Event::Kind::Fault: fault(model_.faults[event.which], event.at); break;
    case Event::Kind::Noticed:
      if (state_[event.which].changes == event.of)
        lose(static_cast<std::uint16_t>(event.which), event.at);
      break;
    case Event::Kind::Joined:
      if (state_[event.which].health == Health::Reserve)
        come_back(static_cast<std::uint16_t>(event.which), event.at);
      break;
  }
}

void SimulatedPool::copied(const Event& event) {
  const auto to = static_cast<std::uint16_t>(event.of);
  Copy& copy = places_[event.which].there[to];
  const auto leftover =
      std::find_if(leftovers_.begin(), leftovers_.end(),
                   [&](const Leftover& other) { return other.sequence == event.sequence; });
  if (leftover != leftovers_.end()) {
    memory_[to].give(leftover->of, leftover->block);
    memory_[to].release(leftover->of);
    leftovers_.erase(leftover);
  } else if (copy.from >= 0 && copy.sequence == event.sequence) {
    const bool came = !dead(to) && !dead(static_cast<std::uint16_t>(copy.from));
    copy.from = kNowhere;
    if (came) arrived(event.which, to, event.at);
  }
}

void SimulatedPool::advance(Tick now) {
  for (Tick at = next(); at <= now; at = next()) {
    latest_ = at;
    while (!events_.empty() && events_.front().at <= at) {
      const Event event = events_.front();
      std::pop_heap(events_.begin(), events_.end());
      events_.pop_back();
      happen(event);
    }
    for (std::uint16_t d = 0; d < gpus_.size(); ++d) {
      if (gpus_[d].next() > at) continue;
      gpus_[d].advance(at, ended_);
      for (const Gpu::Ended& each : ended_) {
        if ((each.tag & kBackground) != 0)
          refill(static_cast<std::uint32_t>(each.tag), each.end);
        else if (each.executed)
          done(static_cast<std::uint32_t>(each.tag), each.start, each.end);
        else
          forget(static_cast<std::uint32_t>(each.tag));
      }
      ended_.clear();
    }
  }
  latest_ = now;
}

Tick SimulatedPool::next() const {
  Tick next = events_.empty() ? kNever : events_.front().at;
  for (const Gpu& gpu : gpus_) next = std::min(next, gpu.next());
  return next;
}

}  // namespace carillon::runtime
