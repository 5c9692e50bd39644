// What the workers of an Executor do: take jobs, sleep where there are none, and call each other.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "base/thread.hpp"
#include "dataflow/executor.hpp"

namespace carillon::dataflow {
namespace {

// A sleep and the call that ends it are not worth less.
constexpr Tick kShort = 10 * kMicrosecond;
// While devices are asked.
constexpr Tick kPoll = 100 * kMicrosecond;
constexpr Tick kLongest = 100 * kMillisecond;

// Until the word is no longer `seen`, which is returned, or so late. By what is left, since now()
// is not the kernel's clock.
bool wait_for(std::atomic<std::uint32_t>& word, std::uint32_t seen, Tick until) noexcept {
  const Tick left = until - now();
  if (left <= 0) return false;
  const timespec time{left / kSecond, left % kSecond};
  return syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, &time, nullptr, 0) == 0 ||
         errno == EAGAIN;
}

}  // namespace

void Executor::stop() noexcept {
  stopping_.store(true);
  wake(INT_MAX);
  for (const auto& state : states_) wake_own(*state);
}

// When a source that is paced has its next job; a file that is behind its pace is polled. One
// without room, or with a job, is looked at by whoever makes room or ends that.
Tick Executor::next_due(NodeId node, Tick at) const noexcept {
  const NodeState& state = *states_[node];
  const bool waits =
      options_.paced && state.source() && !state.live && !state.ended.load() && !state.busy.load();
  const std::uint64_t count = waits ? next_count(node) : 0;
  if (count == 0 || !state.has_room(count)) return kNever;
  const Tick own = due(state, count);
  return state.device && own <= at ? kNever : own;
}

Tick Executor::next_due(Tick at) const noexcept {
  Tick due = kNever;
  for (const NodeId node : polled_) due = std::min(due, next_due(node, at));
  return due;
}

// When somebody has to look again: after a source that is due, or devices.
Tick Executor::next_look(Tick due, Tick at) const noexcept {
  return devices_ ? std::min(due, at + kPoll) : due;
}

// Sleeps until it is called, or, where no other worker does, until a source's next job is due.
// Without a pace there is a job again soon, if there is one at all.
void Executor::idle(Tick at, Tick last_job, Journal& journal) noexcept {
  const Tick due = next_due(at), until = next_look(due, at);
  if (until <= at + kShort || (!options_.paced && at <= last_job + kShort)) {
    spin_pause();
    if (const Tick looked = now(); looked - at > Journal::kStandstill) journal.woke(at, looked);
    return;
  }
  // Who has watched and goes to work sees that this one sleeps, or this one that nobody watches.
  asleep_.fetch_add(1);
  const bool watches = until < watched_.load();
  if (watches) watched_.store(until);
  const std::uint32_t called = called_.load();
  bool was_called = false;
  // Who makes a job ready after this look sees that somebody is asleep.
  if (!any_ready() && alive_.load() > 0)
    was_called = wait_for(called_, called, std::min(watches ? until : kNever, at + kLongest));
  asleep_.fetch_sub(1);
  if (watches) watched_.store(kNever);
  const Tick woken = now();
  // Who does not watch may wake before who does, and find what that should have taken.
  const Tick own = !watches ? std::min(watched_.load(), woken) : due <= woken ? due : until;
  journal.woke(std::max(was_called ? call_.load() : own, at), woken);
}

// Before a job: whether another worker has to be up, for other jobs, or to watch meanwhile.
bool Executor::needs_another(NodeId node, Tick at) const noexcept {
  if (asleep_.load() == 0) return false;
  if (any_ready()) return true;
  if (!options_.paced || watched_.load() != kNever) return false;
  const NodeState& state = *states_[node];
  const Tick longest = state.longest_job.load(std::memory_order_relaxed);
  const Tick takes = std::max(state.budget, longest);
  return takes == 0 || next_look(next_due(at), at) < at + takes;
}

void Executor::wake(int sleepers) noexcept {
  call_.store(now());
  called_.fetch_add(1);
  syscall(SYS_futex, &called_, FUTEX_WAKE_PRIVATE, sleepers, nullptr, nullptr, 0);
}

void Executor::work(std::size_t worker) noexcept {
  const Tick at = now();
  Tick nobody = 0;
  begun_.compare_exchange_strong(nobody, at);
  journals_[worker]->begin(at);
  if (options_.worker_for_each)
    serve(static_cast<NodeId>(worker));
  else
    share(*journals_[worker]);
}

// Whatever job is the most urgent.
void Executor::share(Journal& journal) noexcept {
  Tick last_job = 0;
  NodeId next = kNone;
  for (Tick at = now(); alive_.load() > 0;) {
    if (next == kNone) {
      for (const NodeId node : polled_) offer(node, at);
      next = take(at);
    }
    if (next != kNone) {
      if (needs_another(next, at)) wake(1);
      at = last_job = run(next, at, journal);
      next = follow(next, at);
      continue;
    }
    idle(at, last_job, journal);
    const Tick looked = now();
    journal.slept(looked - at);
    at = looked;
  }
}

// The jobs of one node.
void Executor::serve(NodeId node) noexcept {
  NodeState& state = *states_[node];
  Journal& journal = *journals_[node];
  const std::uint64_t bit = std::uint64_t{1} << node % 64;
  for (Tick at = now(); !state.ended.load();) {
    offer(node, at);
    if ((ready_[node / 64].fetch_and(~bit) & bit) != 0) {
      at = run(node, at, journal);
      follow(node, at);
      continue;
    }
    const Tick due = next_due(node, at);
    const std::uint32_t called = state.called.load();
    state.asleep.store(true);
    // Who makes its job ready after this look sees that it sleeps.
    if ((ready_[node / 64].load() & bit) == 0 && !state.ended.load())
      wait_for(state.called, called, std::min(due, at + (state.device ? kPoll : kLongest)));
    state.asleep.store(false);
    const Tick woken = now();
    journal.woke(due == kNever ? woken : std::max(due, at), woken);
    journal.slept(woken - at);
    at = woken;
  }
}

void Executor::wake_own(NodeState& state) const noexcept {
  if (!options_.worker_for_each || !state.asleep.load()) return;
  state.called.fetch_add(1);
  syscall(SYS_futex, &state.called, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace carillon::dataflow
