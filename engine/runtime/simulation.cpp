#include "runtime/simulation.hpp"

#include <algorithm>
#include <array>

namespace carillon::runtime {

Simulation::Simulation(const Graph& graph, Policy& policy, const Options& options)
    : board_(graph, {}, options.ring, options.devices, options.cell, options.grain),
      arrivals_(graph, options.ring),
      executor_(board_, arrivals_, options.costs),
      scheduler_(board_, arrivals_, policy, executor_) {}

void Simulation::begin(Tick at, std::uint64_t frame, Tick air_start,
                       std::span<const std::uint32_t> chunks) {
  inputs_.push_back({.at = at,
                     .kind = Input::Kind::Begin,
                     .frame = frame,
                     .air_start = air_start,
                     .chunks = {chunks.begin(), chunks.end()}});
}

void Simulation::arrive(Tick at, std::uint64_t frame, std::uint16_t instruction,
                        std::uint32_t item) {
  inputs_.push_back({.at = at,
                     .kind = Input::Kind::Arrive,
                     .frame = frame,
                     .instruction = instruction,
                     .item = item});
}

void Simulation::abandon(Tick at, std::uint64_t frame) {
  inputs_.push_back({.at = at, .kind = Input::Kind::Abandon, .frame = frame});
}

bool Simulation::live(std::uint64_t frame) const {
  const FrameStatus& status = board_.frame(board_.slot(frame));
  return status.state == FrameStatus::State::Live && status.frame == frame;
}

void Simulation::feed(const Input& input) {
  const std::uint16_t slot = board_.slot(input.frame);
  switch (input.kind) {
    case Input::Kind::Begin:
      if (board_.frame(slot).state == FrameStatus::State::Empty) {
        arrivals_.clear(slot);
        scheduler_.admit(input.frame, input.air_start, input.chunks, now_);
      } else if (!live(input.frame)) {
        events_.push_back({FrameEvent::Kind::Refused, Reason::Refused, 0, slot, input.frame, now_});
      }
      break;
    case Input::Kind::Arrive: arrive(input); break;
    case Input::Kind::Abandon:
      if (live(input.frame)) scheduler_.abandon(slot, now_);
      break;
  }
}

void Simulation::arrive(const Input& input) {
  Arrivals::Added added{Arrival::Late, false};
  const std::uint16_t slot = board_.slot(input.frame);
  if (live(input.frame)) {
    added = arrivals_.add(slot, input.instruction, input.item,
                          board_.status(slot, input.instruction).chunks);
  }
  ++fates_[static_cast<std::size_t>(added.arrival)];
  if (added.first) scheduler_.fed(slot, input.instruction, now_);
}

bool Simulation::take_events() {
  std::array<FrameEvent, 16> events;
  bool any = false;
  scheduler_.publish();
  while (const std::size_t count = scheduler_.poll(events)) {
    any = true;
    for (const FrameEvent& event : std::span(events).first(count)) {
      events_.push_back(event);
      if (event.kind == FrameEvent::Kind::Done || event.kind == FrameEvent::Kind::Dropped) {
        scheduler_.release(event.slot);
      }
    }
  }
  return any;
}

// Everything that happens at one instant.
void Simulation::settle() {
  executor_.advance(now_);
  bool started = false;
  do {
    scheduler_.step(now_);
    started = executor_.start(now_);
    executor_.advance(now_);  // what takes no time leaves its device to the next
  } while (take_events() || started || executor_.pending());
}

void Simulation::run() {
  std::stable_sort(inputs_.begin(), inputs_.end(),
                   [](const Input& a, const Input& b) { return a.at < b.at; });
  for (std::size_t next = 0;;) {
    const Tick input = next < inputs_.size() ? inputs_[next].at : kNever;
    const Tick time = std::min({input, scheduler_.next_timer(), executor_.next_end()});
    if (time == kNever) break;
    now_ = std::max(now_, time);
    executor_.advance(now_);
    while (next < inputs_.size() && inputs_[next].at <= now_) feed(inputs_[next++]);
    settle();
  }
  inputs_.clear();
}

}  // namespace carillon::runtime
