#include "runtime/simulation.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace carillon::runtime {

namespace {

ScoreboardWriter board_of(std::span<const Simulation::Source> sources, std::uint32_t devices) {
  std::vector<SourceWriter> boards;
  for (const auto& source : sources)
    boards.emplace_back(source.graph, source.ring, std::span<const std::string_view>{},
                        source.grain);
  return {std::move(boards), devices};
}

std::vector<Arrivals> arrivals_of(std::span<const Simulation::Source> sources) {
  std::vector<Arrivals> arrivals;
  for (const auto& source : sources) arrivals.emplace_back(source.graph, source.ring);
  return arrivals;
}

std::vector<std::vector<Cost>> costs_of(std::span<const Simulation::Source> sources) {
  std::vector<std::vector<Cost>> costs;
  for (const auto& source : sources) costs.push_back(source.costs);
  return costs;
}

}  // namespace

Simulation::Simulation(const std::vector<Source>& sources, Policy& policy, std::uint32_t devices,
                       std::uint64_t seed)
    : Simulation(sources, policy, devices,
                 [&](ScoreboardWriter& board, std::span<const Arrivals> arrivals) {
                   return std::make_unique<SimulatedExecutor>(board, arrivals, costs_of(sources),
                                                              seed);
                 }) {}

Simulation::Simulation(const std::vector<Source>& sources, Policy& policy, std::uint32_t devices,
                       const MakeExecutor& executor)
    : board_(board_of(sources, devices)),
      arrivals_(arrivals_of(sources)),
      executor_(executor(board_, arrivals_)),
      scheduler_(board_, arrivals_, policy, *executor_) {}

void Simulation::begin(Tick at, FrameId frame, Tick start, std::span<const std::uint32_t> chunks,
                       Tick lead) {
  expect({.at = at,
          .kind = Input::Kind::Begin,
          .frame = frame,
          .start = start,
          .lead = lead,
          .chunks = {chunks.begin(), chunks.end()}});
}

void Simulation::arrive(Tick at, FrameId frame, std::uint16_t instruction, std::uint32_t item) {
  expect({.at = at,
          .kind = Input::Kind::Arrive,
          .frame = frame,
          .instruction = instruction,
          .item = item});
}

void Simulation::abandon(Tick at, FrameId frame) {
  expect({.at = at, .kind = Input::Kind::Abandon, .frame = frame});
}

void Simulation::expect(Input input) {
  input.order = expected_++;
  inputs_.push_back(std::move(input));
  std::push_heap(inputs_.begin(), inputs_.end());
}

bool Simulation::live(FrameId frame) const {
  const FrameStatus& status = board_.frame(place(frame));
  return status.state == FrameStatus::State::Live && status.frame == frame.frame;
}

// Devices may have something of their own to do for ever.
bool Simulation::idle() const {
  const auto sources = board_.sources();
  return std::all_of(sources.begin(), sources.end(), [](const SourceBoard& source) {
    return std::all_of(
        source.frames().begin(), source.frames().end(),
        [](const FrameStatus& frame) { return frame.state == FrameStatus::State::Empty; });
  });
}

void Simulation::feed(const Input& input) {
  const FrameRef at = place(input.frame);
  switch (input.kind) {
    case Input::Kind::Begin:
      if (board_.frame(at).state == FrameStatus::State::Empty) {
        arrivals_[at.source].clear(at.slot);
        scheduler_.admit(input.frame, input.start, input.chunks, now_, input.lead);
      } else if (!live(input.frame)) {
        tell({FrameEvent::Kind::Refused, Reason::Refused, at.source, 0, at.slot, input.frame.frame,
              now_});
      }
      break;
    case Input::Kind::Arrive: arrive(input); break;
    case Input::Kind::Abandon:
      if (live(input.frame)) scheduler_.abandon(at, now_);
      break;
  }
}

void Simulation::arrive(const Input& input) {
  Arrivals::Added added{Arrival::Late, false};
  const FrameRef at = place(input.frame);
  if (live(input.frame)) {
    added = arrivals_[at.source].add(at.slot, input.instruction, input.item,
                                     board_[at.source].status(at.slot, input.instruction).chunks);
  }
  ++fates_[static_cast<std::size_t>(added.arrival)];
  if (added.first) scheduler_.fed(at, input.instruction, now_);
}

void Simulation::tell(const FrameEvent& event) {
  if (watch_)
    watch_(event);
  else
    events_.push_back(event);
}

bool Simulation::take_events() {
  std::array<FrameEvent, 16> events;
  bool any = false;
  for (std::uint64_t sources = scheduler_.publish(); sources != 0; sources &= sources - 1) {
    const auto source = static_cast<std::uint16_t>(std::countr_zero(sources));
    while (const std::size_t count = scheduler_.poll(source, events)) {
      any = true;
      for (const FrameEvent& event : std::span(events).first(count)) {
        tell(event);
        if (event.kind == FrameEvent::Kind::Done || event.kind == FrameEvent::Kind::Dropped) {
          scheduler_.release({source, event.slot});
        }
      }
    }
  }
  return any;
}

// Everything that happens at one instant.
void Simulation::settle() {
  executor_->advance(now_);
  bool started = false;
  do {
    scheduler_.step(now_);
    started = executor_->start(now_);
    executor_->advance(now_);  // what takes no time leaves its device to the next
  } while (take_events() || started || executor_->pending());
}

// To be called once in an instant.
bool Simulation::stopped() {
  if (++instants_ % kAskEvery == 0 && go_on_ && !stopped_) stopped_ = !go_on_();
  return stopped_;
}

void Simulation::run(Tick until) {
  while (!stopped()) {
    const Tick input = inputs_.empty() ? kNever : inputs_.front().at;
    const Tick outside = std::min(input, scheduler_.next_timer());
    const Tick time = std::min(outside, executor_->next());
    if (time == kNever || time > until || (inputs_.empty() && idle())) break;
    now_ = std::max(now_, time);
    executor_->advance(now_);
    if (outside > now_ && executor_->self_driven()) {
      while (!executor_->pending() && executor_->next() < std::min(outside, until) && !stopped()) {
        now_ = executor_->next();
        executor_->advance(now_);
      }
      if (!executor_->pending()) continue;
    }
    while (!inputs_.empty() && inputs_.front().at <= now_) {
      std::pop_heap(inputs_.begin(), inputs_.end());
      const Input next = std::move(inputs_.back());
      inputs_.pop_back();
      feed(next);
    }
    settle();
  }
}

}  // namespace carillon::runtime
