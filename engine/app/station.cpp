#include "app/station.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "base/cpu.hpp"
#include "base/thread.hpp"
#include "frame/opcodes.hpp"

namespace carillon::app {
namespace {

// What a datagram may cost in the kernel; duties send a symbol of all antennas in one step.
constexpr Tick kDatagram = 5 * kMicrosecond;
constexpr Tick kLooking = 20 * kMillisecond;  // how often the main thread looks after the run

void say(const std::string& text) { std::fprintf(stderr, "carillond: %s\n", text.c_str()); }

struct WorkerDuty final : Duty {
  WorkerDuty(Baseband& b, std::uint32_t w) : baseband(b), worker(w) {}
  RoleKind kind() const override { return RoleKind::Worker; }
  bool step() noexcept override { return baseband.work(worker); }
  Tick next_event() noexcept override { return baseband.quiet_until(); }
  Tick expected() noexcept override { return baseband.runtime().expected(worker); }
  Baseband& baseband;
  std::uint32_t worker;
};

struct ReceiverDuty final : Duty {
  ReceiverDuty(Baseband& b, std::uint32_t r) : baseband(b), receiver(r) {}
  RoleKind kind() const override { return RoleKind::Receiver; }
  bool step() noexcept override { return baseband.receive(receiver); }
  Tick next_event() noexcept override { return baseband.quiet_until(); }
  Baseband& baseband;
  std::uint32_t receiver;
};

struct ConductorDuty final : Duty {
  ConductorDuty(Baseband& b, Tick s) : baseband(b), sending(s) {}
  RoleKind kind() const override { return RoleKind::Conductor; }
  bool step() noexcept override { return baseband.conduct(); }
  Tick next_event() noexcept override { return baseband.quiet_until(); }
  Tick expected() noexcept override { return sending; }
  Baseband& baseband;
  Tick sending;
};

struct RadioDuty final : Duty {
  RadioDuty(Radio& r, Tick s) : radio(r), sending(s) {}
  RoleKind kind() const override { return RoleKind::Radio; }
  bool step() noexcept override { return radio.step(); }
  Tick next_event() noexcept override { return radio.next_event(); }
  Tick expected() noexcept override { return sending; }
  Radio& radio;
  Tick sending;
};

struct UsersDuty final : Duty {
  explicit UsersDuty(Radio& r) : radio(r) {}
  RoleKind kind() const override { return RoleKind::Users; }
  bool step() noexcept override { return radio.users_step(); }
  Tick next_event() noexcept override { return runtime::kNever; }
  Tick expected() noexcept override { return kMillisecond; }  // its pieces are not calibrated
  Radio& radio;
};

fronthaul::LinkDepth link_depth(const RunPlan& plan) {
  fronthaul::LinkDepth depth;
  depth.ingest = plan.cell.ring + 4;
  depth.downlink = plan.cell.ring;
  depth.replay = plan.radio.frames;
  return depth;
}

}  // namespace

/// What one thread does; duties by urgency.
struct Station::Assignment {
  std::string name;
  std::uint32_t core;
  bool radio = false;
  std::vector<std::uint32_t> receivers;
  bool conductor = false;
  std::int32_t worker = -1;
};

// One thread on each core. The emulated radio has the last core: also when it is another process on
// this machine, since two real-time threads on one core starve each other. In one process it shares
// a thread with the last worker when there are only one or two.
std::vector<Station::Assignment> Station::assign() const {
  auto cores = plan_.runtime.cores.empty() ? allowed_cpus() : plan_.runtime.cores;
  const std::uint32_t wanted = plan_.runtime.workers;
  const auto available = static_cast<std::uint32_t>(cores.size());
  std::vector<Assignment> threads;
  const auto& link = plan_.fronthaul;
  const bool neighbour = !has_radio() && (link.kind == fronthaul::LinkKind::Shm ||
                                          link.radio_address.starts_with("127."));
  const bool alone = neighbour || (has_radio() && (!has_baseband() || available > 2));
  std::uint32_t workers = has_baseband() ? std::max(1U, available - (alone ? 1U : 0U)) : 0;
  workers = std::min(workers, runtime::DeviceMask::kDevices);
  if (wanted != 0) workers = std::min(wanted, workers);
  for (std::uint32_t w = 0; w < workers; ++w) {
    Assignment a{"worker " + std::to_string(w), cores[w], false, {}, w == 0,
                 static_cast<std::int32_t>(w)};
    for (std::uint32_t r = w; r < plan_.fronthaul.receivers; r += workers) a.receivers.push_back(r);
    threads.push_back(std::move(a));
  }
  if (!has_radio()) return threads;
  if (available > workers)
    threads.push_back({"radio", cores.back(), true, {}, false, -1});
  else
    threads.back().radio = true;
  if (threads.back().worker >= 0) threads.back().name += " + radio";
  return threads;
}

std::uint32_t Station::workers() const {
  std::uint32_t count = 0;
  for (const auto& a : assignments_) count += a.worker >= 0;
  return count;
}

telemetry::Store::Sizes Station::store_sizes() const {
  telemetry::Store::Sizes sizes;
  sizes.frames = plan_.run.record_frames;
  sizes.users = plan_.cell.users;
  sizes.opcodes.assign(frame::kOpNames.begin(), frame::kOpNames.end());
  for (const auto& a : assignments_) sizes.threads.push_back(a.name);
  return sizes;
}

Station::Station(const RunPlan& plan)
    : plan_(plan),
      frame_(plan.cell),
      layout_(frame_),
      assignments_(assign()),
      store_(plan.run.telemetry, store_sizes()),
      recorder_(store_, frame_) {
  check_groups();
  if (has_radio() && has_baseband()) {
    link_ = fronthaul::open_both(plan_.fronthaul, layout_, link_depth(plan_));
  } else {
    auto& end = has_radio() ? link_.radio : link_.baseband;
    end = fronthaul::open_end(has_radio() ? fronthaul::Side::Radio : fronthaul::Side::Baseband,
                              plan_.fronthaul, layout_, link_depth(plan_));
  }
  if (has_baseband())
    baseband_ = std::make_unique<Baseband>(plan_, frame_, *link_.baseband, recorder_, workers());
  if (has_radio()) radio_ = std::make_unique<Radio>(plan_, frame_, *link_.radio, store_);
  make_loops();
}

// A stage whose cores have no worker would wait for ever.
void Station::check_groups() const {
  if (!has_baseband() || plan_.runtime.policy != "core-groups") return;
  const std::uint32_t cores = frame::cores(plan_.runtime.groups);
  if (cores != workers())
    throw std::runtime_error("runtime.groups has " + std::to_string(cores) + " cores in all, but " +
                             std::to_string(workers()) +
                             " workers run here; give each of them a stage");
}

Station::~Station() {
  for (auto& loop : loops_) loop->stop();
  for (auto& thread : threads_)
    if (thread.joinable()) thread.join();
}

void Station::make_loops() {
  const double limit = realtime_limit();
  const Tick sending = kDatagram * plan_.cell.antennas;
  const Tick wakeup = measure_wakeup_p99();
  for (const auto& a : assignments_) {
    std::vector<Duty*> duties;
    const auto add = [&](std::unique_ptr<Duty> duty) {
      duties.push_back(duty.get());
      duties_.push_back(std::move(duty));
    };
    if (a.radio) add(std::make_unique<RadioDuty>(*radio_, sending));
    for (const auto r : a.receivers) add(std::make_unique<ReceiverDuty>(*baseband_, r));
    if (a.conductor) add(std::make_unique<ConductorDuty>(*baseband_, sending));
    if (a.worker >= 0)
      add(std::make_unique<WorkerDuty>(*baseband_, static_cast<std::uint32_t>(a.worker)));
    if (a.radio) add(std::make_unique<UsersDuty>(*radio_));
    Loop::Options options;
    options.name = a.name;
    options.core = a.core;
    options.realtime = plan_.runtime.realtime;
    options.wakeup_p99 = wakeup;
    // What others do not get of their share while we nap, Linux takes in one piece of 50 ms; half
    // of a nap is lost to falling asleep and waking up. Where there is no limit, whoever has to
    // stop us still needs a moment now and then.
    options.asleep_share = limit < 1 ? 2 * std::max(0.05, 1 - limit) : 0.01;
    loops_.push_back(std::make_unique<Loop>(options, duties));
  }
  if (!has_baseband()) return;
  std::vector<std::uint32_t> worker_threads;
  for (std::uint32_t t = 0; t < assignments_.size(); ++t)
    if (assignments_[t].worker >= 0) worker_threads.push_back(t);
  std::vector<Loop*> loops;
  for (auto& loop : loops_) loops.push_back(loop.get());
  recorder_.watch(baseband_->runtime(), worker_threads, loops);
}

bool Station::prepare(const std::atomic<bool>& stop) {
  if (!has_radio()) return true;
  radio_->prepare([&](std::uint32_t i) {
    if (i % 4 == 0)
      say("making the radio's frames: " + std::to_string(i) + " of " +
          std::to_string(plan_.radio.frames));
    return !stop.load();
  });
  return !stop.load();
}

void Station::launch() {
  for (auto& loop : loops_) threads_.emplace_back([&loop] { loop->run(); });
  for (auto& loop : loops_) {
    while (!loop->started()) sleep_until(now() + kMillisecond);
    if (!loop->complaint().empty()) say(loop->options().name + ": " + loop->complaint());
  }
}

// Frames that the radio sends; 0: until it is stopped.
std::uint64_t Station::frames_due() const {
  const auto& run = plan_.run;
  if (run.frames != 0) return run.frames;
  const double length = run.seconds * static_cast<double>(kSecond);
  return static_cast<std::uint64_t>(std::ceil(length / static_cast<double>(frame_.duration())));
}

bool Station::over(Tick begun, const std::atomic<bool>& stop) const {
  if (stop.load()) return true;
  if (has_radio()) return radio_->finished();
  const auto& run = plan_.run;
  if (run.frames != 0) return baseband_->frames_ended() >= run.frames;
  if (run.seconds <= 0) return false;
  return now() - begun > static_cast<Tick>(run.seconds * static_cast<double>(kSecond));
}

void Station::run(const std::atomic<bool>& stop) {
  for (const auto* end : {link_.baseband.get(), link_.radio.get()})
    if (end != nullptr)
      for (const auto& note : end->notes()) say(note);
  if (const auto wanted = plan_.runtime.workers; has_baseband() && wanted > workers())
    say("only " + std::to_string(workers()) + " of " + std::to_string(wanted) +
        " workers have a core of their own here; the others are left out");
  if (!prepare(stop)) {
    say("stopped before the run began");
    store_.counters().started = store_.counters().ended = now();
    store_.counters().phase = 3;
    return;
  }
  if (plan_.runtime.realtime)
    if (const Attempt locked = lock_memory(); !locked.done) say(locked.reason);
  Tick begun = now() + 50 * kMillisecond;  // the threads are up by then
  if (has_radio()) radio_->start(begun, frames_due());
  store_.counters().started = begun;
  launch();
  store_.counters().phase = 1;
  if (!has_radio()) say("waiting for the radio");
  while (!over(begun, stop)) {
    sleep_until(now() + kLooking);
    report();
    if (!has_radio() && store_.counters().packets_received == 0) begun = now();
  }
  store_.counters().phase = 2;
  drain();
  for (auto& loop : loops_) loop->stop();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
  if (has_baseband()) baseband_->close();
  report();
  store_.counters().phase = 3;
}

// The radio ends its frame, the baseband those that it has; nothing waits for longer than that
// can take.
void Station::drain() {
  const auto budget =
      static_cast<Tick>(plan_.cell.deadlines.uplink_budget_ms * static_cast<double>(kMillisecond));
  const Tick patience = now() + 2 * frame_.duration() * plan_.cell.ring + budget + kSecond / 2;
  if (has_radio()) radio_->stop();
  while (has_radio() && !radio_->finished() && now() < patience) sleep_until(now() + kMillisecond);
  if (!has_baseband()) return;
  sleep_until(now() + 2 * kMillisecond);  // what is on the wire
  baseband_->stop_opening();
  while (!baseband_->drained() && now() < patience) sleep_until(now() + kMillisecond);
}

// Sums that live outside the store, copied into it.
void Station::report() {
  for (std::size_t t = 0; t < loops_.size(); ++t) {
    const auto& a = assignments_[t];
    Loop::Purposes purposes;
    for (const auto r : a.receivers) purposes.receiving += link_.baseband->receive_time(r).busy;
    if (a.conductor) purposes.sending = link_.baseband->send_time().busy;
    if (a.worker >= 0)
      purposes.kernels = baseband_->runtime().times(static_cast<std::uint32_t>(a.worker)).kernel;
    store_.threads()[t] = loops_[t]->account(purposes);
  }
  if (has_baseband()) {
    const auto from = baseband_->ingest().counters();
    auto& to = store_.counters();
    using fronthaul::Reject;
    to.packets_received = from.received;
    to.packets_sent = baseband_->sender().sent();
    const auto imagined = recorder_.ghosts() * layout_.packets(fronthaul::Carries::Uplink);
    to.packets_missing = from.missing - std::min(from.missing, imagined);
    to.rejected_length = from[Reject::Length];
    to.rejected_cell = from[Reject::Cell];
    to.rejected_antenna = from[Reject::Antenna];
    to.rejected_symbol = from[Reject::Symbol];
    to.rejected_old = from[Reject::Old];
    to.rejected_early = from[Reject::Early];
    to.rejected_duplicate = from[Reject::Duplicate];
  }
  if (has_radio()) radio_->report();
  store_.counters().ended = now();
}

}  // namespace carillon::app
