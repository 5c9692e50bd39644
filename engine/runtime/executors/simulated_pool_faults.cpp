// What befalls the devices of a simulated pool: losses, hangs, and kernels of somebody else.
#include <algorithm>

#include "runtime/executors/simulated_pool.hpp"

namespace carillon::runtime {

void SimulatedPool::fault(const Fault& fault, Tick now) {
  State& state = state_[fault.device];
  if (state.health == Health::Reserve) return;
  if (fault.kind == Fault::Kind::Back) return come_back(fault.device, now);
  if (dead(fault.device) || (fault.kind == Fault::Kind::Hung && state.health == Health::Hung))
    return;
  ++state.changes;
  if (fault.kind == Fault::Kind::Lost) {
    state.health = Health::Dead;
    gpus_[fault.device].clear(now);
    return push(now + fault.noticed, Event::Kind::Noticed, fault.device, state.changes);
  }
  state.health = Health::Hung;
  state.watched = false;
  state.patience = fault.noticed;
  gpus_[fault.device].hang(now);
  const bool awaited = std::any_of(live_.begin(), live_.end(), [&](const Live& live) {
    return live.state != Live::State::Free && live.device == fault.device;
  });
  if (awaited) watch(fault.device, now);
}

// Something is expected of a device that hangs.
void SimulatedPool::watch(std::uint16_t device, Tick now) {
  State& state = state_[device];
  if (state.watched) return;
  state.watched = true;
  push(now + state.patience, Event::Kind::Noticed, device, state.changes);
}

// Whether a device that hangs keeps it from happening for now.
bool SimulatedPool::stalls(const Event& event) {
  const auto stall_at = [&](std::uint16_t device) {
    if (state_[device].health != Health::Hung) return false;
    state_[device].stalled.push_back(event);
    return true;
  };
  if (event.kind == Event::Kind::Transferred)
    return current(event.which, event.of) && stall_at(live_[event.which].device);
  if (event.kind != Event::Kind::Copied) return false;
  const auto to = static_cast<std::uint16_t>(event.of);
  const Copy& copy = places_[event.which].there[to];
  const bool on_its_way = copy.from >= 0 && copy.sequence == event.sequence;
  return stall_at(to) || (on_its_way && stall_at(static_cast<std::uint16_t>(copy.from)));
}

// What was kept from happening happens, or turns out to have become void.
void SimulatedPool::resume(std::uint16_t device, Tick now) {
  for (Event event : state_[device].stalled) {
    event.at = now;
    events_.push_back(event);
    std::push_heap(events_.begin(), events_.end());
  }
  state_[device].stalled.clear();
}

void SimulatedPool::come_back(std::uint16_t device, Tick now) {
  State& state = state_[device];
  if (state.health == Health::Well) return;
  ++state.changes;
  if (state.health == Health::Hung) {
    state.health = Health::Well;
    gpus_[device].resume(now);
    return resume(device, now);
  }
  if (state.health == Health::Dead) lose(device, now);
  state.health = Health::Well;
  launcher_[device] = now;
  device_events_.push_back({device, true});
  for (std::uint32_t b = 0; b < model_.background.size(); ++b) occupy(b, device, now);
}

// The host learns that a device is gone, and all that was on it.
void SimulatedPool::lose(std::uint16_t device, Tick now) {
  if (state_[device].health == Health::Hung) gpus_[device].clear(now);
  state_[device].health = Health::Gone;
  for (std::uint32_t id = 0; id < live_.size(); ++id)
    if (live_[id].state != Live::State::Free && live_[id].device == device) finish(id, true);
  for (std::uint32_t index = 0; index < places_.size(); ++index) {
    Place& place = places_[index];
    for (std::uint16_t d = 0; d < place.there.size(); ++d) {
      if (d != device && place.there[d].from != device) continue;
      give_block(place, d);
      place.there[d] = {};
    }
    for (const Reader& reader : place.readers)
      if (current(reader.live, reader.sequence)) request(index, live_[reader.live].device, now);
  }
  resume(device, now);
  device_events_.push_back({device, false});
}

// Queues the background kernels of a device.
void SimulatedPool::occupy(std::uint32_t background, std::uint16_t device, Tick now) {
  const Background& of = model_.background[background];
  if (of.device != device || dead(device)) return;
  for (std::uint32_t i = 0; i < of.kernels; ++i) refill(background, now);
}

void SimulatedPool::refill(std::uint32_t background, Tick now) {
  const Background& of = model_.background[background];
  const std::uint32_t others = model_.devices[of.device].queues;
  gpus_[of.device].submit(others, true, load_on(*model_.devices[of.device].type, of.work), 1, 0,
                          kBackground | background, now);
}

}  // namespace carillon::runtime
