#include "app/station.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/cpu.hpp"
#include "base/thread.hpp"

namespace carillon::app {
namespace {

// What a datagram may cost in the kernel; duties send a symbol of all antennas in one step.
constexpr Tick kDatagram = 5 * kMicrosecond;
constexpr Tick kLooking = 20 * kMillisecond;  // how often the main thread looks after the run

void say(const std::string& text) { std::fprintf(stderr, "carillond: %s\n", text.c_str()); }

struct WorkerDuty final : Duty {
  WorkerDuty(runtime::Runtime& r, const std::vector<std::unique_ptr<Cell>>& c, std::uint32_t w)
      : runtime(r), cells(c), worker(w) {}
  RoleKind kind() const override { return RoleKind::Worker; }
  bool step() noexcept override { return runtime.work(worker); }
  Tick next_event() noexcept override {
    Tick next = runtime.quiet_until();
    for (const auto& cell : cells) next = std::min(next, cell->baseband()->next_opening());
    return next;
  }
  Tick expected() noexcept override { return runtime.expected(worker); }
  runtime::Runtime& runtime;
  const std::vector<std::unique_ptr<Cell>>& cells;
  std::uint32_t worker;
};

struct ReceiverDuty final : Duty {
  ReceiverDuty(const runtime::Runtime& all, Baseband& b, std::uint32_t r)
      : runtime(all), baseband(b), receiver(r) {}
  RoleKind kind() const override { return RoleKind::Receiver; }
  bool step() noexcept override { return baseband.receive(receiver); }
  Tick next_event() noexcept override {
    return std::min(runtime.quiet_until(), baseband.next_opening());
  }
  const runtime::Runtime& runtime;
  Baseband& baseband;
  std::uint32_t receiver;
};

// On a worker's thread, which knows when there may be something.
struct ConductorDuty final : Duty {
  ConductorDuty(Baseband& b, Tick s) : baseband(b), sending(s) {}
  RoleKind kind() const override { return RoleKind::Conductor; }
  bool step() noexcept override { return baseband.conduct(); }
  Tick next_event() noexcept override { return runtime::kNever; }
  Tick expected() noexcept override { return sending; }
  Baseband& baseband;
  Tick sending;
};

// While frames are with GPUs their words are looked at all the time.
struct AcceleratorDuty final : Duty {
  AcceleratorDuty(Accelerator& a, const std::vector<std::unique_ptr<Cell>>& c)
      : accelerator(a), cells(c) {}
  RoleKind kind() const override { return RoleKind::Accelerator; }
  bool step() noexcept override { return accelerator.step(); }
  Tick next_event() noexcept override {
    if (accelerator.busy()) return runtime::kAlways;
    Tick next = runtime::kNever;
    for (const auto& cell : cells) next = std::min(next, cell->baseband()->next_opening());
    return next;
  }
  Accelerator& accelerator;
  const std::vector<std::unique_ptr<Cell>>& cells;
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

// Whether the radio is another process on this machine.
bool has_neighbour(const RunPlan& plan) {
  const auto& link = plan.fronthaul;
  return !has_radio(plan) &&
         (link.kind == fronthaul::LinkKind::Shm || link.radio_address.starts_with("127."));
}

}  // namespace

/// What one thread does; duties by urgency.
struct Station::Assignment {
  struct Receiver {
    std::size_t cell;
    std::uint32_t receiver;
  };
  std::string name;
  std::uint32_t core;
  bool radio = false;
  std::vector<Receiver> receivers = {};
  std::vector<std::size_t> conducted = {};  // cells
  std::int32_t worker = -1;
  bool accelerator = false;

  static std::vector<Assignment> all(const std::vector<RunPlan>& plans);
};

// One thread on each core. The emulated radios have the last core: also when they are another
// process on this machine, since two real-time threads on one core starve each other. In one
// process they share a thread with the last worker when there are only one or two. So does the
// accelerator unless that leaves two workers. Cells are received and conducted by one worker after
// the other. A single worker leaves receiving to the radio's thread where that is another one.
std::vector<Station::Assignment> Station::Assignment::all(const std::vector<RunPlan>& plans) {
  const RunPlan& first = plans.front();
  auto cores = first.runtime.cores.empty() ? allowed_cpus() : first.runtime.cores;
  const std::uint32_t wanted = first.runtime.workers;
  const auto available = static_cast<std::uint32_t>(cores.size());
  const bool neighbour = std::any_of(plans.begin(), plans.end(), has_neighbour);
  const bool alone = neighbour || (has_radio(first) && (!has_baseband(first) || available > 2));
  std::uint32_t workers = has_baseband(first) ? std::max(1U, available - (alone ? 1U : 0U)) : 0;
  const bool accelerated = has_baseband(first) && first.runtime.gpus > 0;
  const bool of_its_own = accelerated && workers > 2;
  if (of_its_own) --workers;
  const std::uint32_t core_of_its_own = cores[workers % available];
  workers = std::min(workers, runtime::DeviceMask::kDevices);
  if (wanted != 0) workers = std::min(wanted, workers);
  std::vector<Assignment> threads;
  for (std::uint32_t w = 0; w < workers; ++w)
    threads.push_back({.name = "worker " + std::to_string(w),
                       .core = cores[w],
                       .worker = static_cast<std::int32_t>(w)});
  std::size_t next = 0;
  for (std::size_t c = 0; workers > 0 && c < plans.size(); ++c) {
    threads[c % workers].conducted.push_back(c);
    for (std::uint32_t r = 0; r < plans[c].fronthaul.receivers; ++r)
      threads[next++ % workers].receivers.push_back({c, r});
  }
  if (of_its_own)
    threads.push_back({.name = "accelerator", .core = core_of_its_own, .accelerator = true});
  else if (accelerated)
    threads.back().accelerator = true;
  if (!has_radio(first)) return threads;
  if (available > threads.size())
    threads.push_back({.name = "radio", .core = cores.back(), .radio = true});
  else
    threads.back().radio = true;
  if (workers == 1 && threads.back().worker < 0)
    threads.back().receivers = std::exchange(threads.front().receivers, {});
  if (threads.back().worker >= 0) threads.back().name += " + radio";
  return threads;
}

std::uint32_t Station::workers() const {
  std::uint32_t count = 0;
  for (const auto& a : assignments_) count += a.worker >= 0;
  return count;
}

Station::Station(const std::vector<RunPlan>& plans, const Gpus& gpus)
    : first_(plans.front()), assignments_(Assignment::all(plans)) {
  check_groups();
  std::vector<std::string> names;
  for (const auto& a : assignments_) names.push_back(a.name);
  for (const auto& plan : plans) cells_.push_back(std::make_unique<Cell>(plan, names, workers()));
  if (has_baseband(first_)) join(gpus);
  make_loops();
}

void Station::join(const Gpus& gpus) {
  std::vector<Sharer> sharers;
  std::vector<Accelerator::Served> served;
  for (auto& cell : cells_) {
    sharers.push_back(cell->sharer());
    served.push_back({sharers.back().pipeline, cell->link().baseband->received_memory().host});
  }
  if (first_.runtime.gpus > 0) accelerate(gpus, served);
  shared_cores_.emplace(sharers, workers());
  for (std::uint16_t c = 0; c < cells_.size(); ++c) {
    const runtime::Runtime::Source cell = shared_cores_->runtime().source(c);
    if (accelerator_) accelerator_->join(c, cell);
    cells_[c]->join(cell, accelerator_ ? &accelerator_->cell(c) : nullptr);
  }
  if (!first_.power.chooses()) return;
  std::set<std::uint32_t> cores;
  for (const Assignment& thread : assignments_) cores.insert(thread.core);
  clocks_.emplace(first_.power, shared_cores_->runtime(), cores, first_.runtime.realtime);
  for (auto& cell : cells_)
    cell->recorder().govern([this](const auto& record) { clocks_->settled(record); },
                            clocks_->mhz());
}

void Station::accelerate(const Gpus& gpus, const std::vector<Accelerator::Served>& served) {
  const RuntimeOptions& options = first_.runtime;
  try {
    accelerator_.emplace(gpus(options.gpu_partitions, options.gpus), served, options.gpu_policy);
  } catch (const std::exception& error) {
    throw std::runtime_error("runtime.gpus is " + std::to_string(options.gpus) + ", but " +
                             error.what() + "; 0 leaves all frames to the cores");
  }
}

// A stage whose cores have no worker would wait for ever.
void Station::check_groups() const {
  if (!has_baseband(first_) || first_.runtime.policy != "core-groups") return;
  const std::uint32_t cores = frame::cores(first_.runtime.groups);
  if (cores != workers())
    throw std::runtime_error("runtime.groups has " + std::to_string(cores) + " cores in all, but " +
                             std::to_string(workers()) +
                             " workers run here; give each of them a stage");
}

Station::~Station() {
  for (auto& loop : loops_) loop->stop();
  for (auto& thread : threads_)
    if (thread.joinable()) thread.join();
  // A GPU that hangs may still read where a card received.
  if (accelerator_ && !accelerator_->devices_at_rest())
    for (const auto& cell : cells_) cell->link().baseband->receive_in_host();
}

void Station::make_loops() {
  const double limit = realtime_limit();
  const auto sending = [](const Cell& cell) { return kDatagram * cell.plan().cell.antennas; };
  const Tick wakeup = measure_wakeup_p99();
  std::vector<std::uint32_t> worker_threads;
  bool governs = false;  // the thread that does is found
  for (std::uint32_t t = 0; t < assignments_.size(); ++t) {
    const auto& a = assignments_[t];
    if (a.worker >= 0) worker_threads.push_back(t);
    std::vector<Duty*> duties;
    const auto add = [&](std::unique_ptr<Duty> duty) {
      duties.push_back(duty.get());
      duties_.push_back(std::move(duty));
    };
    if (a.radio)
      for (auto& cell : cells_) add(std::make_unique<RadioDuty>(*cell->radio(), sending(*cell)));
    for (const auto& [cell, receiver] : a.receivers)
      add(std::make_unique<ReceiverDuty>(shared_cores_->runtime(), *cells_[cell]->baseband(),
                                         receiver));
    for (const auto c : a.conducted)
      add(std::make_unique<ConductorDuty>(*cells_[c]->baseband(), sending(*cells_[c])));
    if (clocks_ && !a.conducted.empty() && !std::exchange(governs, true))
      duties.push_back(&*clocks_);
    if (a.accelerator) add(std::make_unique<AcceleratorDuty>(*accelerator_, cells_));
    if (a.worker >= 0)
      add(std::make_unique<WorkerDuty>(shared_cores_->runtime(), cells_,
                                       static_cast<std::uint32_t>(a.worker)));
    if (a.radio)
      for (auto& cell : cells_) add(std::make_unique<UsersDuty>(*cell->radio()));
    Loop::Options options;
    options.name = a.name;
    options.core = a.core;
    options.realtime = first_.runtime.realtime;
    options.wakeup_p99 = wakeup;
    // What others do not get of their share while we nap, Linux takes in one piece of 50 ms; half
    // of a nap is lost to falling asleep and waking up. Where there is no limit, whoever has to
    // stop us still needs a moment now and then.
    options.asleep_share = limit < 1 ? 2 * std::max(0.05, 1 - limit) : 0.01;
    loops_.push_back(std::make_unique<Loop>(options, duties));
  }
  if (!has_baseband(first_)) return;
  std::vector<Loop*> loops;
  for (auto& loop : loops_) loops.push_back(loop.get());
  for (std::uint16_t c = 0; c < cells_.size(); ++c)
    cells_[c]->recorder().watch(shared_cores_->runtime(), c, worker_threads, loops);
}

bool Station::prepare(const std::atomic<bool>& stop) {
  if (has_radio(first_))
    for (auto& cell : cells_) cell->prepare(stop, say);
  return !stop.load();
}

void Station::launch(Tick begun) {
  for (auto& loop : loops_) threads_.emplace_back([&loop, begun] { loop->run(begun); });
  for (auto& loop : loops_) {
    while (!loop->started()) sleep_until(now() + kMillisecond);
    if (!loop->complaint().empty()) say(loop->options().name + ": " + loop->complaint());
  }
}

bool Station::over(Tick begun, const std::atomic<bool>& stop) const {
  if (stop.load()) return true;
  if (std::all_of(cells_.begin(), cells_.end(), [](const auto& cell) { return cell->over(); }))
    return true;
  const double seconds = first_.run.seconds;
  if (has_radio(first_) || seconds <= 0) return false;
  return now() - begun > static_cast<Tick>(seconds * static_cast<double>(kSecond));
}

// Of cells that still wait for frames.
std::uint64_t Station::packets_still_coming() const {
  std::uint64_t packets = 0;
  for (const auto& cell : cells_)
    if (!cell->over()) packets += cell->store().counters().packets_received;
  return packets;
}

// Whether a run that counts frames has heard nothing for long of the cells that still wait for
// some.
bool Station::fell_silent(const Silence& silence) const {
  return !has_radio(first_) && first_.run.frames != 0 && silence.too_long(now());
}

void Station::tell_who_is_silent(bool all) const {
  for (const auto& cell : cells_) {
    if (cell->store().counters().packets_received != 0 && !(all && !cell->over())) continue;
    say("cell-" + std::to_string(cell->plan().cell.cell_id) +
        ": nothing comes from its radio unit; frames over: " +
        std::to_string(cell->baseband()->frames_ended()));
  }
}

void Station::set_phase(std::uint64_t phase) {
  for (auto& cell : cells_) cell->store().counters().phase = phase;
}

void Station::run(const std::atomic<bool>& stop) {
  for (const auto& cell : cells_)
    for (const auto* end : {cell->link().baseband.get(), cell->link().radio.get()})
      if (end != nullptr)
        for (const auto& note : end->notes()) say(note);
  for (const auto& cell : cells_)
    if (!cell->why_in_host().empty())
      say("samples are received in host memory: " + cell->why_in_host());
  if (const auto wanted = first_.runtime.workers; has_baseband(first_) && wanted > workers())
    say("only " + std::to_string(workers()) + " of " + std::to_string(wanted) +
        " workers have a core of their own here; the others are left out");
  if (!prepare(stop)) {
    say("stopped before the run began");
    for (auto& cell : cells_) {
      cell->store().counters().started = cell->store().counters().ended = now();
      cell->report_ports();
    }
    set_phase(3);
    return;
  }
  if (first_.runtime.realtime)
    if (const Attempt locked = lock_memory(); !locked.done) say(locked.reason);
  Tick begun = now() + 50 * kMillisecond;  // the threads are up by then
  for (auto& cell : cells_) {
    if (has_radio(first_)) cell->start(begun);
    cell->store().counters().started = begun;
  }
  launch(begun);
  set_phase(1);
  if (!has_radio(first_)) say("waiting for the radio");
  Silence silence(begun);
  while (!over(begun, stop) && !fell_silent(silence)) {
    sleep_until(now() + kLooking);
    report();
    silence.look(now(), packets_still_coming());
    if (!silence.heard()) begun = now();
  }
  if (!has_radio(first_) && !stop.load()) tell_who_is_silent(fell_silent(silence));
  set_phase(2);
  drain();
  for (auto& loop : loops_) loop->stop();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
  for (auto& cell : cells_) cell->close();
  tell_findings();
  report();
  share_ghosts();
  set_phase(3);
}

// Threads are common to all cells, and so is what they did for frames that nobody sent. When no
// thread is at it any more.
void Station::share_ghosts() {
  Tick busy = 0;
  for (const auto& cell : cells_) busy += cell->store().counters().ghost_busy;
  for (const auto& cell : cells_) cell->store().counters().ghost_busy = busy;
}

// When no thread is at it any more.
void Station::tell_findings() {
  if (clocks_)
    for (const std::string& problem : clocks_->finish()) say(problem);
  if (const std::string trouble = accelerator_ ? accelerator_->trouble() : ""; !trouble.empty())
    say(trouble);
  for (const auto& cell : cells_) {
    for (const auto* end : {cell->link().baseband.get(), cell->link().radio.get()})
      if (end != nullptr)
        for (const auto& finding : end->findings()) say(finding);
    if (cell->baseband() == nullptr) continue;
    if (const auto lost = cell->baseband()->packets_out_of_reach(); lost > 0)
      say("packets in GPU memory that were lost to the cores: " + std::to_string(lost));
  }
}

// The radio ends its frame, the baseband those that it has; nothing waits for longer than that
// can take.
void Station::drain() {
  Tick patience = 0;
  for (const auto& cell : cells_) patience = std::max(patience, cell->patience());
  patience += now();
  const auto wait_for = [&](auto&& done) {
    for (auto& cell : cells_)
      while (!done(*cell) && now() < patience) sleep_until(now() + kMillisecond);
  };
  if (has_radio(first_)) {
    for (auto& cell : cells_) cell->end_together();
    wait_for([](Cell& cell) { return cell.radio()->finished(); });
    if (has_baseband(first_)) wait_for([](Cell& cell) { return cell.all_announced(); });
  }
  if (!has_baseband(first_)) return;
  sleep_until(now() + 2 * kMillisecond);  // what is on the wire
  for (auto& cell : cells_) cell->baseband()->stop_opening();
  wait_for([](Cell& cell) { return cell.baseband()->drained(); });
}

// Threads are common to all cells: each cell's records have the whole account.
void Station::report() {
  for (std::size_t t = 0; t < loops_.size(); ++t) {
    const auto& a = assignments_[t];
    Loop::Purposes purposes;
    for (const auto& [c, r] : a.receivers)
      purposes.receiving += cells_[c]->link().baseband->receive_time(r).busy;
    for (const auto c : a.conducted)
      purposes.sending += cells_[c]->link().baseband->send_time().busy;
    if (a.worker >= 0)
      purposes.kernels =
          shared_cores_->runtime().times(static_cast<std::uint32_t>(a.worker)).kernel;
    const telemetry::ThreadRecord account = loops_[t]->account(purposes);
    for (auto& cell : cells_) cell->store().threads()[t] = account;
  }
  for (auto& cell : cells_) cell->report();
}

}  // namespace carillon::app
