#include "runtime/worker_loop.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include "support/test.hpp"

namespace carillon::runtime {
namespace {

TEST(WorkerLoop, OneThreadReceivesWorksAndSinksAndRestsInBetween) {
  constexpr std::uint32_t kFrames = 20;
  GraphBuilder builder;
  builder.add({.feed = Feed::Arrivals, .chunks = 4});
  builder.depend(0, builder.add({.chunks = 3}));
  const Graph graph = std::move(*builder.build().graph);
  std::atomic<std::uint32_t> executed{0};
  const Opcode opcode{"Count", [](void* context, const Task& task) noexcept {
                        *static_cast<std::atomic<std::uint32_t>*>(context) += task.count;
                      }};
  const auto policy = make_policy("earliest-frame");
  Runtime runtime(graph, {&opcode, 1}, &executed, *policy, {.ring = 2, .trace = 4096});

  std::atomic<bool> stop{false};
  std::uint32_t next = 0, done = 0;
  const Tick start = now();
  const auto others = [&] {
    FrameEvent event;
    if (runtime.poll({&event, 1}) == 1) {
      if (event.kind == FrameEvent::Kind::Done) runtime.release(event.frame);
      if (++done == kFrames) stop = true;
      return true;
    }
    const Tick due = start + Tick{next} * kMillisecond;
    runtime.expect(due);
    if (next == kFrames || now() < due || !runtime.begin(next, due)) return false;
    for (std::uint32_t item = 0; item < 4; ++item) runtime.arrive(next, 0, item);
    ++next;
    return true;
  };
  Backoff backoff({.wakeup_p99 = 100 * kMicrosecond});
  work_loop(runtime, 0, backoff, stop, others);

  EXPECT_EQ(done, kFrames);
  EXPECT_EQ(executed.load(), kFrames * 7U);
  const WorkerTimes times = runtime.times(0);
  const Tick wall = now() - start;
  EXPECT_LT(0, times.idle);
  EXPECT_LE(times.kernel + times.schedule + times.idle, wall);

  std::vector<telemetry::TraceEvent> events(4096);
  telemetry::TraceRing::Cursor cursor;
  events.resize(runtime.trace(0).read(cursor, events));
  Tick asleep = 0;
  for (const telemetry::TraceEvent& event : events) {
    if (event.kind == telemetry::TraceKind::Sleep) asleep += event.duration;
  }
  EXPECT_LE(backoff.slept(), asleep);
}

TEST(WorkerLoop, EndsWhenToldTo) {
  GraphBuilder builder;
  builder.add({});
  const Graph graph = std::move(*builder.build().graph);
  const Opcode opcode{"Nothing", [](void*, const Task&) noexcept {}};
  const auto policy = make_policy("earliest-frame");
  Runtime runtime(graph, {&opcode, 1}, nullptr, *policy, {});
  std::atomic<bool> stop{false};
  std::thread worker([&] {
    Backoff backoff({.asleep_share = 0.05});
    work_loop(runtime, 0, backoff, stop, [] { return false; });
  });
  stop = true;
  worker.join();
  EXPECT_EQ(runtime.live(), 0U);
}

}  // namespace
}  // namespace carillon::runtime
