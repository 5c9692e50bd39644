#include "runtime/runtime.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/executors/cpu.hpp"
#include "runtime/frame_ring.hpp"
#include "runtime/scheduler.hpp"

namespace carillon::runtime {
namespace {

constexpr std::uint32_t kNobody = ~0U;

std::vector<std::string_view> names_of(std::span<const Opcode> opcodes) {
  std::vector<std::string_view> names;
  for (const Opcode& opcode : opcodes) names.push_back(opcode.name);
  return names;
}

void demand(bool good, const std::string& message) {
  if (!good) throw std::invalid_argument("runtime: " + message);
}

void check(const Runtime::SourceOptions& source) {
  demand(source.ring >= 1 && source.ring <= 64,
         "ring = " + std::to_string(source.ring) + "; 1 to 64 are possible");
  const auto& opcodes = source.kernels.opcodes;
  for (const Instruction& instruction : source.graph.instructions()) {
    demand(instruction.opcode < opcodes.size() && opcodes[instruction.opcode].kernel != nullptr,
           "opcode " + std::to_string(instruction.opcode) + " has no kernel");
  }
}

void check(std::span<const Runtime::SourceOptions> sources, const Runtime::Options& options) {
  demand(options.workers >= 1 && options.workers <= DeviceMask::kDevices,
         "workers = " + std::to_string(options.workers) + "; 1 to 128 are possible");
  demand(!sources.empty() && sources.size() <= kMaxSources,
         std::to_string(sources.size()) + " sources; 1 to 64 are possible");
  for (const auto& source : sources) check(source);
}

ScoreboardWriter board_of(std::span<const Runtime::SourceOptions> sources, std::uint32_t workers) {
  std::vector<SourceWriter> boards;
  for (const auto& source : sources)
    boards.emplace_back(source.graph, source.ring, names_of(source.kernels.opcodes), source.grain);
  return {std::move(boards), workers};
}

std::vector<Arrivals> arrivals_of(std::span<const Runtime::SourceOptions> sources) {
  std::vector<Arrivals> arrivals;
  for (const auto& source : sources) arrivals.emplace_back(source.graph, source.ring);
  return arrivals;
}

std::vector<Kernels> kernels_of(std::span<const Runtime::SourceOptions> sources) {
  std::vector<Kernels> kernels;
  for (const auto& source : sources) kernels.push_back(source.kernels);
  return kernels;
}

// What others ask of the scheduler. Bits and words only, so that asking never waits and never
// overflows; the token's owner takes them all at once.
struct Requests {
  Requests(const Graph& graph, std::uint32_t ring)
      : begun(ring),
        words((graph.size() + 63U) / 64),
        fed(std::size_t{words} * ring),
        closing(std::size_t{words} * ring) {
    for (Begun& each : begun) each.chunks.resize(graph.size());
  }

  struct Begun {
    Tick start = 0, lead = 0;
    std::vector<std::uint32_t> chunks;
  };
  std::vector<Begun> begun;  // of a slot in state Filling, then read-only
  std::uint32_t words;       // per slot in the bitmaps below: a bit per instruction
  std::vector<std::atomic<std::uint64_t>> fed, closing;
  std::atomic<std::uint64_t> abandoned{0};                      // a bit per slot
  alignas(kCacheLine) std::atomic<std::uint64_t> attention{0};  // a bit per slot: look at it

  void set(std::vector<std::atomic<std::uint64_t>>& bits, std::uint16_t slot,
           std::uint16_t instruction) noexcept {
    bits[std::size_t{slot} * words + instruction / 64].fetch_or(std::uint64_t{1}
                                                                << (instruction % 64));
  }
};

}  // namespace

struct Runtime::State {
  State(Implementation& runtime, std::uint16_t number, const SourceOptions& options,
        Arrivals& arrivals)
      : runtime(runtime),
        number(number),
        graph(options.graph),
        ring(options.ring),
        arrivals(arrivals),
        requests(options.graph, options.ring) {}

  Implementation& runtime;
  const std::uint16_t number;
  const Graph& graph;
  FrameRing ring;
  Arrivals& arrivals;
  Requests requests;
  std::atomic<std::uint32_t> live{0};
  std::atomic<Tick> expected{kNever};
};

class Runtime::Implementation {
 public:
  Implementation(std::span<const SourceOptions> options_of, Policy& policy, Options options)
      : options(options),
        arrivals(arrivals_of(options_of)),
        board(board_of(options_of, options.workers)),
        executor(board, kernels_of(options_of), arrivals, options.workers, options.trace),
        scheduler(board, arrivals, policy, executor) {
    for (std::uint16_t c = 0; c < options_of.size(); ++c)
      sources.push_back(std::make_unique<State>(*this, c, options_of[c], arrivals[c]));
  }

  bool expired(Tick now) const noexcept {
    return now >= next_timer.load(std::memory_order_relaxed);
  }
  bool pending(Tick now) const noexcept {
    return executor.pending() || attention.load() != 0 || expired(now);
  }
  bool schedule(std::uint32_t worker, Tick now) noexcept;
  void ask(State& source, std::uint16_t slot) noexcept {
    source.requests.attention.fetch_or(std::uint64_t{1} << slot);
    attention.fetch_or(std::uint64_t{1} << source.number);
    schedule(kNobody, now());
  }

  const Options options;
  std::vector<Arrivals> arrivals;  // by source
  ScoreboardWriter board;
  CpuExecutor executor;
  Scheduler scheduler;
  std::vector<std::unique_ptr<State>> sources;

 private:
  void drain(Tick now) noexcept;
  void attend(State& source, std::uint16_t slot, Tick now) noexcept;
  void clear(State& source, std::uint16_t slot) noexcept;

  static_assert(kMaxSources <= 64);
  alignas(kCacheLine) std::atomic<std::uint64_t> attention{0};  // a bit per source: look at it
  alignas(kCacheLine) std::atomic<bool> token_{false};

 public:
  alignas(kCacheLine) std::atomic<Tick> next_timer{kNever};
  std::atomic<Tick> next_arrival{kNever};
};

// One owner at a time drains, decides, publishes, releases and rechecks. Whoever asks for something
// and finds the token taken may leave: all operations on requests and token are sequentially
// consistent, so either the owner's recheck sees the request or the asker gets the token.
bool Runtime::Implementation::schedule(std::uint32_t worker, Tick start) noexcept {
  if (options.pin_token && worker != 0) return false;
  bool did = false;
  Tick time = start;
  while (pending(time) && !token_.load() && !token_.exchange(true)) {
    drain(time);
    token_.store(false);
    did = true;
    time = now();
  }
  if (did && worker != kNobody) {
    CpuExecutor::Worker& self = executor.worker(worker);
    add(self.schedule, time - start);
    add(self.tokens, std::uint64_t{1});
    self.trace.write({.start = start,
                      .duration = telemetry::saturate<std::uint32_t>(time - start),
                      .worker = static_cast<std::uint16_t>(worker),
                      .kind = telemetry::TraceKind::Schedule});
  }
  return did;
}

void Runtime::Implementation::drain(Tick now) noexcept {
  for (std::uint64_t asking = attention.exchange(0); asking != 0; asking &= asking - 1) {
    State& source = *sources[static_cast<std::size_t>(std::countr_zero(asking))];
    std::uint64_t slots = source.requests.attention.exchange(0);
    for (; slots != 0; slots &= slots - 1) {
      attend(source, static_cast<std::uint16_t>(std::countr_zero(slots)), now);
    }
  }
  scheduler.step(now);
  for (const FrameRef at : scheduler.finished()) sources[at.source]->ring.end(at.slot);
  scheduler.publish();  // now the consumer may release what ended
  // Every worker reads these all the time: no needless writes.
  const auto update = [](std::atomic<Tick>& shared, Tick value) {
    if (shared.load(std::memory_order_relaxed) != value) {
      shared.store(value, std::memory_order_relaxed);
    }
  };
  update(next_timer, scheduler.next_timer());
  update(next_arrival, scheduler.next_arrival(now));
}

// What has come of a frame that begins again is told before it is live; a request that has to do
// with the frame's first life, and is looked at only now, must not take that away.
void Runtime::Implementation::attend(State& source, std::uint16_t slot, Tick now) noexcept {
  if (source.ring.state(slot) < FrameRing::State::Live) return;
  Requests& requests = source.requests;
  const FrameRef at{source.number, slot};
  if (source.ring.state(slot) == FrameRing::State::Live &&
      board.frame(at).state == FrameStatus::State::Empty) {
    const Requests::Begun& begun = requests.begun[slot];
    const std::uint64_t frame = source.ring.frame(slot);
    if (!scheduler.admit({frame, source.number}, begun.start, begun.chunks, now, begun.lead)) {
      source.ring.end(slot);
      source.ring.release(frame);
    }
  }
  const std::size_t first = std::size_t{slot} * requests.words;
  for (std::uint32_t w = 0; w < requests.words; ++w) {
    const auto each = [&](std::atomic<std::uint64_t>& word, auto&& act) {
      if (word.load(std::memory_order_relaxed) == 0) return;
      for (std::uint64_t bits = word.exchange(0); bits != 0; bits &= bits - 1) {
        act(at, static_cast<std::uint16_t>(w * 64 + std::uint32_t(std::countr_zero(bits))), now);
      }
    };
    each(requests.fed[first + w], [&](auto... a) { scheduler.fed(a...); });
    each(requests.closing[first + w], [&](auto... a) { scheduler.close(a...); });
  }
  const std::uint64_t bit = std::uint64_t{1} << slot;
  if ((requests.abandoned.load() & bit) != 0) {
    requests.abandoned.fetch_and(~bit);
    scheduler.abandon(at, now);
  }
  if (source.ring.abandoned(slot)) clear(source, slot);
}

void Runtime::Implementation::clear(State& source, std::uint16_t slot) noexcept {
  Requests& requests = source.requests;
  for (std::uint32_t w = 0; w < requests.words; ++w) {
    requests.fed[std::size_t{slot} * requests.words + w].store(0);
    requests.closing[std::size_t{slot} * requests.words + w].store(0);
  }
  requests.abandoned.fetch_and(~(std::uint64_t{1} << slot));
  source.arrivals.clear(slot);
  scheduler.release({source.number, slot});
  source.live.fetch_sub(1, std::memory_order_relaxed);
  source.ring.free(slot);
}

Runtime::Runtime(const std::vector<SourceOptions>& sources, Policy& policy, Options options) {
  check(sources, options);
  implementation_ = std::make_unique<Implementation>(sources, policy, options);
}

Runtime::~Runtime() = default;

Runtime::Source Runtime::source(std::uint16_t number) const noexcept {
  return Source(*implementation_->sources[number]);
}

bool Runtime::Source::begin(std::uint64_t frame, Tick start, std::span<const std::uint32_t> chunks,
                            Tick lead) const noexcept {
  const FrameRing::Begin won = state_->ring.begin(frame);
  if (won != FrameRing::Begin::Won) return won == FrameRing::Begin::AlreadyLive;
  return fill(*state_, frame, start, lead, chunks, {});
}

bool Runtime::Source::begin_again(std::uint64_t frame, Tick start,
                                  std::span<const std::uint32_t> chunks,
                                  std::span<const Item> came) const noexcept {
  return state_->ring.begin(frame, true) == FrameRing::Begin::Won &&
         fill(*state_, frame, start, 0, chunks, came);
}

// The slot is ours until it is live.
bool Runtime::Source::fill(State& self, std::uint64_t frame, Tick start, Tick lead,
                           std::span<const std::uint32_t> chunks,
                           std::span<const Item> came) noexcept {
  const std::uint16_t slot = self.ring.slot(frame);
  Requests::Begun& begun = self.requests.begun[slot];
  begun.start = start;
  begun.lead = lead;
  for (std::uint16_t i = 0; i < self.graph.size(); ++i) {
    const std::uint32_t most = self.graph[i].chunks;
    begun.chunks[i] = i < chunks.size() ? std::min(chunks[i], most) : most;
  }
  for (const auto& [instruction, item] : came) {
    self.arrivals.add(slot, instruction, item, begun.chunks[instruction]);
    self.requests.set(self.requests.fed, slot, instruction);
  }
  self.live.fetch_add(1, std::memory_order_relaxed);
  self.ring.fill_done(frame);
  self.runtime.ask(self, slot);
  return true;
}

bool Runtime::Source::vacant(std::uint64_t frame) const noexcept {
  return state_->ring.vacant(state_->ring.slot(frame));
}

bool Runtime::Source::enter(State& self, std::uint64_t frame) noexcept {
  return self.ring.enter(frame);
}

void Runtime::Source::leave(State& self, std::uint64_t frame) noexcept {
  if (self.ring.leave(frame)) self.runtime.ask(self, self.ring.slot(frame));
}

Arrival Runtime::Source::record(State& self, std::uint64_t frame, std::uint16_t instruction,
                                std::uint32_t item) noexcept {
  if (instruction >= self.graph.size()) return Arrival::Unknown;
  const std::uint16_t slot = self.ring.slot(frame);
  const auto [arrival, first] =
      self.arrivals.add(slot, instruction, item, self.requests.begun[slot].chunks[instruction]);
  if (first) {
    self.requests.set(self.requests.fed, slot, instruction);
    self.runtime.ask(self, slot);
  }
  return arrival;
}

void Runtime::Source::close(std::uint64_t frame, std::uint16_t instruction) const noexcept {
  State& self = *state_;
  if (instruction >= self.graph.size()) return;
  const Hold held = hold(frame);
  if (!held) return;
  const std::uint16_t slot = self.ring.slot(frame);
  self.requests.set(self.requests.closing, slot, instruction);
  self.runtime.ask(self, slot);
}

void Runtime::Source::abandon(std::uint64_t frame) const noexcept {
  State& self = *state_;
  const Hold held = hold(frame);
  if (!held) return;
  const std::uint16_t slot = self.ring.slot(frame);
  self.requests.abandoned.fetch_or(std::uint64_t{1} << slot);
  self.runtime.ask(self, slot);
}

void Runtime::Source::expect(Tick next_frame) const noexcept {
  state_->expected.store(next_frame, std::memory_order_relaxed);
}

std::size_t Runtime::Source::poll(std::span<FrameEvent> out) const noexcept {
  return state_->runtime.scheduler.poll(state_->number, out);
}

void Runtime::Source::release(std::uint64_t frame) const noexcept {
  State& self = *state_;
  if (self.ring.release(frame)) self.runtime.ask(self, self.ring.slot(frame));
}

std::uint32_t Runtime::Source::live() const noexcept {
  return state_->live.load(std::memory_order_relaxed);
}

const SourceBoard& Runtime::Source::board() const noexcept {
  const Scoreboard& board = state_->runtime.board;
  return board[state_->number];
}

std::uint16_t Runtime::Source::number() const noexcept { return state_->number; }

bool Runtime::work(std::uint32_t worker) noexcept {
  Implementation& self = *implementation_;
  CpuExecutor::Worker& own = self.executor.worker(worker);
  own.expected = 0;
  // Only timers need looking at: whoever asks for something tries the token itself, if it may.
  // Between chunks, the end of the last one is time enough.
  const bool owner = self.options.pin_token && worker == 0;
  const auto due = [&](Tick at) { return owner ? self.pending(at) : self.expired(at); };
  if (due(own.last) && self.schedule(worker, now())) return true;
  const CpuExecutor::Ran ran = self.executor.run(worker);
  if (ran == CpuExecutor::Ran::Chunks) return true;
  const Tick time = now();
  own.last = time;
  if (ran == CpuExecutor::Ran::Last || due(time)) {
    if (self.schedule(worker, time) || ran == CpuExecutor::Ran::Last) return true;
  }
  return false;
}

Tick Runtime::quiet_until() const noexcept {
  const Implementation& self = *implementation_;
  if (self.pending(now()) || !self.executor.empty()) return kAlways;
  Tick until = std::min(self.next_timer.load(std::memory_order_relaxed),
                        self.next_arrival.load(std::memory_order_relaxed));
  for (const auto& source : self.sources)
    until = std::min(until, source->expected.load(std::memory_order_relaxed));
  return until;
}

void Runtime::emulate_clock(double share) noexcept {
  implementation_->executor.emulate_clock(share);
}

WorkerTimes Runtime::times(std::uint32_t worker) const noexcept {
  const CpuExecutor::Worker& self = implementation_->executor.worker(worker);
  constexpr auto relaxed = std::memory_order_relaxed;
  return {self.kernel.load(relaxed), self.schedule.load(relaxed), self.tasks.load(relaxed),
          self.chunks.load(relaxed), self.tokens.load(relaxed)};
}

Tick Runtime::expected(std::uint32_t worker) const noexcept {
  return implementation_->executor.worker(worker).expected;
}

telemetry::TraceRing& Runtime::trace(std::uint32_t worker) const noexcept {
  return implementation_->executor.worker(worker).trace;
}

const Runtime::Options& Runtime::options() const noexcept { return implementation_->options; }

}  // namespace carillon::runtime
