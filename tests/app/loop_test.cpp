// One thread, several duties.
#include "app/loop.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <thread>

#include "base/cpu.hpp"
#include "base/thread.hpp"
#include "support/test.hpp"

namespace carillon::app {
namespace {

struct Scripted final : Duty {
  explicit Scripted(RoleKind k) : role(k) {}
  RoleKind kind() const override { return role; }
  bool step() noexcept override {
    ++asked;
    return work && work();
  }
  Tick next_event() noexcept override { return next; }
  Tick expected() noexcept override { return needs; }

  RoleKind role;
  std::function<bool()> work;
  Tick next = runtime::kNever, needs = 0;
  std::uint64_t asked = 0;
};

void keep_busy(Tick length) {
  for (const Tick begin = now(); now() - begin < length;) spin_pause();
}

Loop::Options options() {
  Loop::Options options;
  options.name = "tested";
  options.core = allowed_cpus().front();
  return options;
}

std::vector<telemetry::TraceEvent> stalls(const Loop& loop) {
  std::vector<telemetry::TraceEvent> events(64);
  telemetry::TraceRing::Cursor cursor;
  events.resize(loop.stalls().read(cursor, events));
  return events;
}

TEST(Loop, AsksItsDutiesByUrgency) {
  Scripted urgent(RoleKind::Radio), next(RoleKind::Receiver), last(RoleKind::Worker);
  Loop loop(options(), {&urgent, &next, &last});
  std::string order;
  int rounds = 0;
  urgent.work = [&] { return order += 'u', rounds == 1 && ++rounds != 0; };
  next.work = [&] { return order += 'n', rounds == 0 && ++rounds != 0; };
  last.work = [&] {
    order += 'l';
    loop.stop();
    return true;
  };
  loop.run();
  // After `next` has worked, and again after `urgent` has, the most urgent is asked again.
  EXPECT_EQ(order,
            "un"
            "u"
            "unl");
  EXPECT_EQ(loop.roles(), 8U | 2U | 1U);
}

TEST(Loop, AccountsForAllItsTime) {
  constexpr Tick kInKernels = kMillisecond / 4;
  Scripted worker(RoleKind::Worker), receiver(RoleKind::Receiver), radio(RoleKind::Radio);
  Loop loop(options(), {&radio, &receiver, &worker});
  std::atomic<int> turn{0};
  Tick first = 0, last = 0;  // inside steps that worked
  const auto every = [&](int which) {
    if (turn % 4 != which) return false;
    ++turn;
    if (first == 0) first = now();
    keep_busy(kMillisecond);
    last = now();
    return true;
  };
  radio.work = [&] { return every(0); };
  receiver.work = [&] { return every(1); };
  worker.work = [&] { return every(2); };
  worker.next = 0;  // something is always near: it pauses instead of sleeping
  const Tick begin = now();
  std::thread stopper([&] {
    while (now() - begin < 60 * kMillisecond) sleep_until(now() + kMillisecond);
    loop.stop();
  });
  std::thread idler([&] {
    while (now() - begin < 60 * kMillisecond) {
      sleep_until(now() + kMillisecond);
      if (turn % 4 == 3) ++turn;
    }
  });
  loop.run();
  const Tick wall = now() - begin;
  stopper.join();
  idler.join();
  const auto account = loop.account({.kernels = kInKernels, .receiving = wall});
  EXPECT_GE(account.emulating, kMillisecond);
  EXPECT_GE(account.network, kMillisecond);
  EXPECT_EQ(account.busy, kInKernels);
  EXPECT_GE(account.overhead, kMillisecond - kInKernels);  // the rest of the worker's
  EXPECT_GT(account.spinning + account.sleeping, 0);
  const Tick sum = account.busy + account.overhead + account.network + account.spinning +
                   account.sleeping + account.emulating;
  EXPECT_LE(sum, wall);
  EXPECT_GE(sum, last - first);
  EXPECT_EQ(account.roles, loop.roles());
}

TEST(Loop, SleepsWhenNothingIsNear) {
  Scripted worker(RoleKind::Worker);
  Loop loop(options(), {&worker});
  const Tick begin = now();
  worker.work = [&] {
    if (now() - begin > 50 * kMillisecond) loop.stop();
    return false;
  };
  loop.run();
  EXPECT_GT(loop.account({}).sleeping, 20 * kMillisecond);
  EXPECT_LT(worker.asked, 2000U);
}

TEST(Loop, NotesAStallOfAnyDutyThatIsNotItsKnownNeed) {
  for (const bool known : {false, true}) {
    Scripted worker(RoleKind::Worker);
    Loop loop(options(), {&worker});
    if (known) worker.needs = kSecond;
    const Tick begin = now();
    Tick done = 0;
    worker.work = [&] {
      keep_busy(2 * kMillisecond);
      done = now();
      loop.stop();
      return true;
    };
    loop.run();
    bool noted = false;  // of this duty: the machine may stand still after it
    for (const auto& event : stalls(loop))
      noted |= event.start >= begin && event.start < done && event.duration >= 2 * kMillisecond;
    EXPECT_EQ(noted, !known);
    for (const auto& event : stalls(loop)) {
      EXPECT_EQ(event.kind, telemetry::TraceKind::Stall);
      // Without real-time priority the system may always take the core away.
      EXPECT_EQ(event.code, static_cast<std::uint16_t>(telemetry::LateCause::OperatingSystem));
    }
  }
}

TEST(Loop, StoodStillFromWhenItWasDueUntilItsThreadIsThere) {
  for (const Tick late : {5 * kMillisecond, -kSecond}) {
    Scripted worker(RoleKind::Worker);
    Loop loop(options(), {&worker});
    worker.work = [&] { return loop.stop(), true; };
    const Tick due = now() - late;
    loop.run(due);
    bool noted = false;
    for (const auto& event : stalls(loop))
      noted |= event.start == due && event.duration >= 5 * kMillisecond;
    EXPECT_EQ(noted, late > 0);
  }
}

// The longest stall that a duty of 5 ms leaves on a real-time thread; nullopt where none is
// allowed. With a rival, all of it goes by while a thread of higher priority has the core.
std::optional<telemetry::LateCause> blamed(bool rivalled) {
  Scripted worker(RoleKind::Worker);
  Loop::Options realtime = options();
  realtime.realtime = true;
  Loop loop(realtime, {&worker});
  std::atomic<bool> ready{!rivalled}, working{false}, left{!rivalled};
  std::thread rival;
  if (rivalled)
    rival = std::thread([&] {
      pin_thread(realtime.core);
      make_realtime(90);
      ready.store(true);
      while (!working.load()) sleep_until(now() + kMillisecond / 10);
      keep_busy(20 * kMillisecond);
      left.store(true);
    });
  worker.work = [&] {
    working.store(true);
    if (!rivalled) keep_busy(5 * kMillisecond);
    while (!left.load()) spin_pause();
    loop.stop();
    return true;
  };
  // As an ordinary thread it would not get the core before real-time threads are throttled.
  while (!ready.load()) sleep_until(now() + kMillisecond / 10);
  std::thread([&] { loop.run(); }).join();
  if (rivalled) rival.join();
  if (loop.account({}).realtime == 0) return std::nullopt;
  const auto noted = stalls(loop);
  const auto longest = std::ranges::max_element(noted, {}, &telemetry::TraceEvent::duration);
  return static_cast<telemetry::LateCause>(longest->code);
}

TEST(Loop, TellsAPreemptionFromAMachineThatStoodStill) {
  const auto alone = blamed(false), rivalled = blamed(true);
  if (!alone || !rivalled) GTEST_SKIP() << "SCHED_FIFO is not allowed here";
  EXPECT_EQ(*alone, telemetry::LateCause::MachineStall);
  EXPECT_EQ(*rivalled, telemetry::LateCause::OperatingSystem);
}

TEST(Loop, IsSeenToGoOn) {
  Scripted worker(RoleKind::Worker);
  Loop loop(options(), {&worker});
  EXPECT_FALSE(loop.started());
  std::thread thread([&] { loop.run(); });
  while (!loop.started()) sleep_until(now() + kMillisecond);
  for (int i = 0; i < 3; ++i) {
    const Tick since = now();
    const Tick give_up = since + 10 * kSecond;
    while (loop.last_seen() <= since && now() < give_up) sleep_until(now() + kMillisecond);
    EXPECT_GT(loop.last_seen(), since);
  }
  loop.stop();
  thread.join();
  const Tick ended = loop.last_seen();
  sleep_until(now() + 5 * kMillisecond);
  EXPECT_EQ(loop.last_seen(), ended);
}

}  // namespace
}  // namespace carillon::app
