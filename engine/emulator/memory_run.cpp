#include "emulator/memory_run.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "base/cpu.hpp"
#include "base/thread.hpp"
#include "frame/opcodes.hpp"
#include "frame/virtual_run.hpp"
#include "runtime/runtime.hpp"

namespace carillon::emulator {
namespace {

using runtime::FrameEvent;
using runtime::kNever;

constexpr int kPriority = 50;
constexpr Tick kStart = 2 * kMillisecond;  // the threads are up by then
// A worker without a claim, and without packets to bring, is back sooner unless it stands still.
constexpr Tick kStoodStill = 20 * kMicrosecond;
// Of a worker, as many as are kept.
constexpr std::size_t kGaps = 1 << 14, kBringings = 1 << 16, kClaims = 1 << 18;

// Begins frames, brings their packets when they are due, and takes the frames back: what receivers,
// clock and recorder do in carillond. Done by whichever worker finds that something is due, and by
// the first one when it has nothing else to do; packets that nobody takes are packets that nobody
// could work on.
class Player {
 public:
  Player(frame::Pipeline& pipeline, MemoryAir& air, runtime::Runtime::Source cell,
         const MemoryRunOptions& options, std::uint64_t first, Tick start)
      : pipeline_(pipeline),
        air_(air),
        cell_(cell),
        options_(options),
        keeper_(pipeline.frame(), pipeline.graph()),
        first_(first),
        air_start_(start),
        due_(start) {
    result_.frames.assign(options.frames, keeper_.begin());
    result_.busy.resize(options.frames * frame::kOps);
    result_.starts.resize(options.frames);
    for (std::uint32_t s = 0; s < pipeline.frame().symbols().size(); ++s)
      if (pipeline.graph().receive[s] != frame::kNoInstruction) received_.push_back(s);
    symbol_ = received_.size();
  }

  bool due() const noexcept { return now() >= due_.load(std::memory_order_relaxed); }
  bool over() const noexcept { return over_.load(std::memory_order_relaxed); }

  void play() noexcept {
    if (playing_.test(std::memory_order_relaxed) ||
        playing_.test_and_set(std::memory_order_acquire))
      return;
    take_back();
    while (!over_.load(std::memory_order_relaxed) && due()) advance();
    playing_.clear(std::memory_order_release);
  }

  MemoryRunResult result() && { return std::move(result_); }

 private:
  std::uint64_t number() const { return first_ + begun_ - 1; }  // of the newest frame
  Tick received_after() const { return frame::all_received(pipeline_.frame()); }

  // To the next event: a frame begins, or a symbol's packets come.
  void advance() noexcept {
    if (symbol_ == received_.size()) return begin();
    if (live_) bring(received_[symbol_]);
    ++symbol_;
    set_due();
  }

  void begin() noexcept {
    if (begun_ == options_.frames) {
      due_.store(kNever, std::memory_order_relaxed);
      return;
    }
    const bool vacant = cell_.vacant(first_ + begun_);
    if (options_.at_once && !vacant) return;  // not quite yet
    if (begun_++ > 0) air_start_ += pipeline_.frame().duration();
    result_.starts[begun_ - 1] = air_start_;
    live_ = vacant;
    symbol_ = 0;
    if (live_) {
      air_.bring(pipeline_, number());
      if (options_.at_once) air_start_ = now() - received_after();
      result_.starts[begun_ - 1] = air_start_;
      cell_.begin(number(), air_start_, pipeline_.chunks(number()));
    } else {
      end();
    }
    set_due();
  }

  void set_due() noexcept {
    const frame::Frame& frame = pipeline_.frame();
    Tick next = kNever;
    if (symbol_ < received_.size())
      next = air_start_ + frame.symbol(received_[symbol_]).end;
    else if (!options_.at_once)
      next = air_start_ + frame.duration();
    due_.store(next, std::memory_order_relaxed);
  }

  void bring(std::uint32_t symbol) noexcept {
    auto hold = cell_.hold(number());
    for (std::uint32_t a = 0; a < pipeline_.frame().format().antennas; ++a)
      hold.arrive(pipeline_.graph().receive[symbol], a);
  }

  void take_back() noexcept {
    std::array<FrameEvent, 16> events;
    for (std::size_t count; (count = cell_.poll(events)) > 0;)
      for (const FrameEvent& event : std::span(events).first(count)) handle(event);
  }

  void handle(const FrameEvent& event) noexcept {
    using Kind = FrameEvent::Kind;
    frame::Milestones& frame = result_.frames[event.frame - first_];
    switch (event.kind) {
      case Kind::Committed: return;
      case Kind::Missed: ++frame.missed; return;
      case Kind::Done: record(event, frame); break;
      case Kind::Dropped: break;
      case Kind::Refused: return end();
    }
    cell_.release(event.frame);
    end();
  }

  void record(const FrameEvent& event, frame::Milestones& frame) noexcept {
    const auto& graph = pipeline_.graph().graph;
    const Tick air_start = result_.starts[event.frame - first_];
    const auto statuses = cell_.board().statuses(event.slot);
    frame.completed = true;
    const frame::FrameSlot& slot = pipeline_.slot(event.frame);
    const auto blocks = slot.program->transport_blocks(frame::Direction::Uplink);
    result_.blocks_failed += static_cast<std::uint64_t>(std::count(
        slot.good.begin(), slot.good.begin() + static_cast<std::ptrdiff_t>(blocks.size()), 0));
    if (options_.at_once) frame.first_packet = received_after();
    for (std::uint16_t id = 0; id < graph.size(); ++id) {
      const auto& status = statuses[id];
      if (status.chunks == 0 || status.state != runtime::InstructionStatus::State::Committed)
        continue;
      keeper_.take(frame, id, status.executed - air_start, status.committed - air_start);
      result_.busy[(event.frame - first_) * frame::kOps + graph[id].opcode] += status.busy;
    }
  }

  void end() noexcept {
    if (++ended_ == options_.frames) over_.store(true, std::memory_order_relaxed);
    if (options_.at_once) due_.store(0, std::memory_order_relaxed);  // the next one
  }

  frame::Pipeline& pipeline_;
  MemoryAir& air_;
  runtime::Runtime::Source cell_;
  const MemoryRunOptions& options_;
  frame::MilestoneKeeper keeper_;
  std::vector<std::uint32_t> received_;  // symbols, in order
  MemoryRunResult result_;
  std::uint64_t first_, begun_ = 0, ended_ = 0;
  std::size_t symbol_ = 0;  // the next one of the newest frame, in received_
  bool live_ = false;
  Tick air_start_;
  std::atomic<Tick> due_;
  std::atomic<bool> over_{false};
  std::atomic_flag playing_;
};

// A worker's claims; and of `worked`, which are turns in which it made some, what was neither these
// nor scheduling as it is as a rule.
void take_trace(const telemetry::TraceRing& ring, std::vector<MemoryGap> worked,
                MemoryRunResult& into) {
  using telemetry::TraceKind;
  telemetry::TraceRing::Cursor cursor;
  std::array<telemetry::TraceEvent, 256> events;
  auto turn = worked.begin();
  while (const std::size_t count = ring.read(cursor, events))
    for (const auto& event : std::span(events).first(count)) {
      if (event.kind != TraceKind::Task) continue;
      into.traced.push_back(event);
      while (turn != worked.end() && turn->start + turn->length <= event.start) ++turn;
      if (turn == worked.end() || turn->start > event.start) continue;
      turn->length -= event.duration;
      turn->start += event.duration;
    }
  for (const MemoryGap& gap : worked)
    if (gap.length > kStoodStill) into.idle.push_back(gap);
}

}  // namespace

MemoryRun::MemoryRun(const frame::FrameFormat& format, const RadioPlan& radio,
                     std::uint32_t workers)
    : frame_(format),
      workers_(workers),
      pipeline_(frame_, {.workers = workers}),
      air_(frame_, radio) {
  air_.prepare(pipeline_);
}

MemoryRunResult MemoryRun::run(runtime::Policy& policy, const MemoryRunOptions& options) {
  runtime::Runtime runtime({{.graph = pipeline_.graph().graph,
                             .kernels = {pipeline_.opcodes(), pipeline_.context()},
                             .ring = pipeline_.ring(),
                             .grain = options.grain}},
                           policy, {.workers = workers_, .trace = options.traced ? kClaims : 0});
  Player player(pipeline_, air_, runtime.source(0), options, next_, now() + kStart);
  next_ += options.frames;
  const auto cpus = allowed_cpus();
  std::vector<std::string> complaints(workers_);
  std::vector<MemoryWorker> accounts(workers_);
  std::vector<std::vector<MemoryGap>> idle(workers_), worked(workers_), bringing(workers_);
  for (auto* gaps : {&idle, &worked})
    for (auto& of_worker : *gaps) of_worker.reserve(kGaps);
  for (auto& of_worker : bringing) of_worker.reserve(kBringings);
  const auto work = [&](std::uint32_t worker) {
    pin_thread(cpus[worker % cpus.size()]);
    complaints[worker] = make_realtime(kPriority).reason;
    MemoryWorker& account = accounts[worker];
    const Tick start = now();
    const auto note = [](std::vector<MemoryGap>& in, Tick from, Tick to) {
      if (in.size() < in.capacity()) in.push_back({from, to - from});
    };
    const auto spent = [&](bool claimed, Tick from, Tick to) {
      if (to - from > kStoodStill) note((claimed ? worked : idle)[worker], from, to);
    };
    for (Tick at = start; !player.over();) {
      const bool claimed = runtime.work(worker);
      const Tick done = now();
      if (claimed) account.claiming += done - at;  // less kernels and scheduling, in the end
      spent(claimed, at, done);
      const bool due = player.due();
      if (due || (!claimed && worker == 0)) player.play();
      if (!claimed) spin_pause();
      at = due || !claimed ? now() : done;
      if (due) {
        account.arriving += at - done;
        note(bringing[worker], done, at);
      } else {
        spent(false, done, at);
      }
    }
    const runtime::WorkerTimes times = runtime.times(worker);
    account.lasted = now() - start;
    account.kernels = times.kernel;
    account.scheduling = times.schedule;
    account.claiming -= times.kernel + times.schedule;
  };
  std::vector<std::thread> threads;
  for (std::uint32_t w = 0; w < workers_; ++w) threads.emplace_back(work, w);
  for (std::thread& thread : threads) thread.join();
  MemoryRunResult result = std::move(player).result();
  for (std::uint32_t w = 0; w < workers_; ++w) {
    result.claims += runtime.times(w).tasks;
    result.idle.insert(result.idle.end(), idle[w].begin(), idle[w].end());
    result.bringing.insert(result.bringing.end(), bringing[w].begin(), bringing[w].end());
    take_trace(runtime.trace(w), std::move(worked[w]), result);
  }
  result.workers = std::move(accounts);
  result.instructions = pipeline_.graph().graph.size();
  result.complaint = complaints.front();
  return result;
}

}  // namespace carillon::emulator
