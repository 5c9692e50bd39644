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

void check(const Graph& graph, std::span<const Opcode> opcodes, const Runtime::Options& options) {
  const auto demand = [](bool good, const std::string& message) {
    if (!good) throw std::invalid_argument("runtime: " + message);
  };
  demand(options.workers >= 1 && options.workers <= DeviceMask::kDevices,
         "workers = " + std::to_string(options.workers) + "; 1 to 128 are possible");
  demand(options.ring >= 1 && options.ring <= 64,
         "ring = " + std::to_string(options.ring) + "; 1 to 64 are possible");
  for (const Instruction& instruction : graph.instructions()) {
    demand(instruction.opcode < opcodes.size() && opcodes[instruction.opcode].kernel != nullptr,
           "opcode " + std::to_string(instruction.opcode) + " has no kernel");
  }
}

}  // namespace

// What others ask of the scheduler. Bits and words only, so that asking never waits and never
// overflows; the token's owner takes them all at once.
struct Requests {
  explicit Requests(const Graph& graph, const Runtime::Options& options)
      : begun(options.ring),
        words((graph.size() + 63U) / 64),
        fed(std::size_t{words} * options.ring),
        closing(std::size_t{words} * options.ring) {}

  struct Begun {
    Tick air_start = 0;
    std::vector<std::uint32_t> chunks;
  };
  std::vector<Begun> begun;  // of a slot in state Filling, then read-only
  std::uint32_t words;       // per slot in the bitmaps below: a bit per instruction
  std::vector<std::atomic<std::uint64_t>> fed, closing;
  std::atomic<std::uint64_t> abandoned{0};                      // a bit per slot
  alignas(kCacheLine) std::atomic<std::uint64_t> attention{0};  // a bit per slot: look at it
};

class Runtime::Implementation {
 public:
  Implementation(const Graph& graph, std::span<const Opcode> opcodes, void* context, Policy& policy,
                 Options options)
      : options(std::move(options)),
        graph(graph),
        ring(this->options.ring),
        arrivals(graph, this->options.ring),
        board(graph, names_of(opcodes), this->options.ring, this->options.workers,
              this->options.cell, this->options.grain),
        executor(graph, opcodes, context, board, arrivals, this->options.workers,
                 this->options.trace),
        scheduler(board, arrivals, policy, executor),
        requests(graph, this->options) {
    for (Requests::Begun& begun : requests.begun) begun.chunks.resize(graph.size());
  }

  bool expired(Tick now) const noexcept {
    return now >= next_timer.load(std::memory_order_relaxed);
  }
  bool pending(Tick now) const noexcept {
    return executor.pending() || requests.attention.load() != 0 || expired(now);
  }
  bool schedule(std::uint32_t worker, Tick now) noexcept;
  void ask(std::uint16_t slot) noexcept {
    requests.attention.fetch_or(std::uint64_t{1} << slot);
    schedule(kNobody, now());
  }
  static void set(std::vector<std::atomic<std::uint64_t>>& bits, std::size_t words,
                  std::uint16_t slot, std::uint16_t instruction) noexcept {
    bits[slot * words + instruction / 64].fetch_or(std::uint64_t{1} << (instruction % 64));
  }

  const Options options;
  const Graph& graph;
  FrameRing ring;
  Arrivals arrivals;
  Scoreboard board;
  CpuExecutor executor;
  Scheduler scheduler;
  Requests requests;
  std::atomic<std::uint32_t> live{0};
  std::atomic<Tick> expected{kNever};

 private:
  void drain(Tick now) noexcept;
  void attend(std::uint16_t slot, Tick now) noexcept;
  void clear(std::uint16_t slot) noexcept;

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
  std::uint64_t slots = requests.attention.exchange(0);
  for (; slots != 0; slots &= slots - 1) {
    attend(static_cast<std::uint16_t>(std::countr_zero(slots)), now);
  }
  scheduler.step(now);
  for (std::uint16_t slot = 0; slot < ring.size(); ++slot) {
    const FrameStatus::State state = board.frame(slot).state;
    if (state == FrameStatus::State::Finished && ring.state(slot) == FrameRing::State::Live) {
      ring.end(slot);
    }
  }
  scheduler.publish();  // now the consumer may release what ended
  // Every worker reads these all the time: no needless writes.
  const auto update = [](std::atomic<Tick>& shared, Tick value) {
    if (shared.load(std::memory_order_relaxed) != value) {
      shared.store(value, std::memory_order_relaxed);
    }
  };
  update(next_timer, scheduler.next_timer());
  update(next_arrival, scheduler.next_arrival());
}

void Runtime::Implementation::attend(std::uint16_t slot, Tick now) noexcept {
  if (ring.state(slot) == FrameRing::State::Live &&
      board.frame(slot).state == FrameStatus::State::Empty) {
    const Requests::Begun& begun = requests.begun[slot];
    if (!scheduler.admit(ring.frame(slot), begun.air_start, begun.chunks, now)) {
      ring.end(slot);
      ring.release(ring.frame(slot));
    }
  }
  const std::size_t first = std::size_t{slot} * requests.words;
  for (std::uint32_t w = 0; w < requests.words; ++w) {
    const auto each = [&](std::atomic<std::uint64_t>& word, auto&& act) {
      if (word.load(std::memory_order_relaxed) == 0) return;
      for (std::uint64_t bits = word.exchange(0); bits != 0; bits &= bits - 1) {
        act(slot, static_cast<std::uint16_t>(w * 64 + std::uint32_t(std::countr_zero(bits))), now);
      }
    };
    each(requests.fed[first + w], [&](auto... a) { scheduler.fed(a...); });
    each(requests.closing[first + w], [&](auto... a) { scheduler.close(a...); });
  }
  const std::uint64_t bit = std::uint64_t{1} << slot;
  if ((requests.abandoned.load() & bit) != 0) {
    requests.abandoned.fetch_and(~bit);
    scheduler.abandon(slot, now);
  }
  if (ring.abandoned(slot)) clear(slot);
}

void Runtime::Implementation::clear(std::uint16_t slot) noexcept {
  for (std::uint32_t w = 0; w < requests.words; ++w) {
    requests.fed[std::size_t{slot} * requests.words + w].store(0);
    requests.closing[std::size_t{slot} * requests.words + w].store(0);
  }
  requests.abandoned.fetch_and(~(std::uint64_t{1} << slot));
  arrivals.clear(slot);
  scheduler.release(slot);
  live.fetch_sub(1, std::memory_order_relaxed);
  ring.free(slot);
}

Runtime::Runtime(const Graph& graph, std::span<const Opcode> opcodes, void* context, Policy& policy,
                 Options options) {
  check(graph, opcodes, options);
  implementation_ =
      std::make_unique<Implementation>(graph, opcodes, context, policy, std::move(options));
}

Runtime::~Runtime() = default;

bool Runtime::begin(std::uint64_t frame, Tick air_start,
                    std::span<const std::uint32_t> chunks) noexcept {
  Implementation& self = *implementation_;
  const FrameRing::Begin won = self.ring.begin(frame);
  if (won != FrameRing::Begin::Won) return won == FrameRing::Begin::AlreadyLive;
  const std::uint16_t slot = self.ring.slot(frame);
  Requests::Begun& begun = self.requests.begun[slot];
  begun.air_start = air_start;
  for (std::uint16_t i = 0; i < self.graph.size(); ++i) {
    const std::uint32_t most = self.graph[i].chunks;
    begun.chunks[i] = i < chunks.size() ? std::min(chunks[i], most) : most;
  }
  self.live.fetch_add(1, std::memory_order_relaxed);
  self.ring.fill_done(frame);
  self.ask(slot);
  return true;
}

bool Runtime::vacant(std::uint64_t frame) const noexcept {
  const FrameRing& ring = implementation_->ring;
  return ring.vacant(ring.slot(frame));
}

bool Runtime::enter(std::uint64_t frame) noexcept { return implementation_->ring.enter(frame); }

void Runtime::leave(std::uint64_t frame) noexcept {
  Implementation& self = *implementation_;
  if (self.ring.leave(frame)) self.ask(self.ring.slot(frame));
}

Arrival Runtime::record(std::uint64_t frame, std::uint16_t instruction,
                        std::uint32_t item) noexcept {
  Implementation& self = *implementation_;
  if (instruction >= self.graph.size()) return Arrival::Unknown;
  const std::uint16_t slot = self.ring.slot(frame);
  const auto [arrival, first] =
      self.arrivals.add(slot, instruction, item, self.requests.begun[slot].chunks[instruction]);
  if (first) {
    Implementation::set(self.requests.fed, self.requests.words, slot, instruction);
    self.ask(slot);
  }
  return arrival;
}

void Runtime::close(std::uint64_t frame, std::uint16_t instruction) noexcept {
  Implementation& self = *implementation_;
  if (instruction >= self.graph.size()) return;
  const Hold held = hold(frame);
  if (!held) return;
  const std::uint16_t slot = self.ring.slot(frame);
  Implementation::set(self.requests.closing, self.requests.words, slot, instruction);
  self.ask(slot);
}

void Runtime::abandon(std::uint64_t frame) noexcept {
  Implementation& self = *implementation_;
  const Hold held = hold(frame);
  if (!held) return;
  const std::uint16_t slot = self.ring.slot(frame);
  self.requests.abandoned.fetch_or(std::uint64_t{1} << slot);
  self.ask(slot);
}

bool Runtime::work(std::uint32_t worker) noexcept {
  Implementation& self = *implementation_;
  CpuExecutor::Worker& own = self.executor.worker(worker);
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
  return std::min({self.next_timer.load(std::memory_order_relaxed),
                   self.next_arrival.load(std::memory_order_relaxed),
                   self.expected.load(std::memory_order_relaxed)});
}

void Runtime::expect(Tick next_frame) noexcept {
  implementation_->expected.store(next_frame, std::memory_order_relaxed);
}

std::size_t Runtime::poll(std::span<FrameEvent> out) noexcept {
  return implementation_->scheduler.poll(out);
}

void Runtime::release(std::uint64_t frame) noexcept {
  Implementation& self = *implementation_;
  if (self.ring.release(frame)) self.ask(self.ring.slot(frame));
}

std::uint32_t Runtime::live() const noexcept {
  return implementation_->live.load(std::memory_order_relaxed);
}

const Scoreboard& Runtime::board() const noexcept { return implementation_->board; }

WorkerTimes Runtime::times(std::uint32_t worker) const noexcept {
  const CpuExecutor::Worker& self = implementation_->executor.worker(worker);
  constexpr auto relaxed = std::memory_order_relaxed;
  return {self.kernel.load(relaxed), self.schedule.load(relaxed), self.tasks.load(relaxed),
          self.chunks.load(relaxed), self.tokens.load(relaxed)};
}

telemetry::TraceRing& Runtime::trace(std::uint32_t worker) noexcept {
  return implementation_->executor.worker(worker).trace;
}

const Runtime::Options& Runtime::options() const noexcept { return implementation_->options; }

}  // namespace carillon::runtime
