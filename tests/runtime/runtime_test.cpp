// The runtime on real threads. Kernels and receivers share plain memory, so that the thread
// sanitizer checks every ordering the runtime promises; nothing here asserts how long anything
// takes.
#include "runtime/runtime.hpp"

#include <atomic>
#include <deque>
#include <memory>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "runtime/random_graph.hpp"
#include "support/test.hpp"

namespace carillon::runtime {
namespace {

using Kind = FrameEvent::Kind;

// What every frame leaves behind, and what is wrong with it, if anything.
struct World {
  World(const Graph& graph, std::uint32_t ring, std::uint32_t frames)
      : graph(graph), predecessors(predecessors_of(graph)), over(frames) {
    for (std::uint16_t i = 0; i < graph.size(); ++i) {
      offsets.push_back(chunks);
      chunks += graph[i].chunks;
    }
    done.resize(std::size_t{ring} * chunks);
    samples.resize(std::size_t{ring} * chunks);
  }
  std::uint64_t& done_by(std::uint32_t slot, std::uint16_t instruction, std::uint32_t chunk) {
    return done[std::size_t{slot} * chunks + offsets[instruction] + chunk];
  }
  std::uint64_t& sample(std::uint32_t slot, std::uint16_t instruction, std::uint32_t item) {
    return samples[std::size_t{slot} * chunks + offsets[instruction] + item];
  }

  std::uint32_t count(std::uint64_t frame, std::uint16_t instruction) const {
    return counts.empty() ? graph[instruction].chunks : counts[frame][instruction];
  }

  const Graph& graph;
  std::vector<std::vector<std::uint32_t>> counts;  // by frame; empty = the maxima
  std::vector<std::vector<std::uint16_t>> predecessors;
  std::vector<std::uint32_t> offsets;
  std::uint32_t chunks = 0;
  std::vector<std::uint64_t> done;     // chunk → frame + 1 that executed it last
  std::vector<std::uint64_t> samples;  // item → frame + 1 that a receiver wrote last
  std::vector<std::atomic<bool>> over;
  std::atomic<std::uint64_t> repeated{0}, early{0}, after_end{0}, foreign{0}, executed{0},
      missing{0}, spoilt{0};
};

void kernel(void* context, const Task& task) noexcept {
  World& world = *static_cast<World*>(context);
  if (world.over[task.frame].load(std::memory_order_relaxed)) ++world.after_end;
  for (const std::uint16_t p : world.predecessors[task.instruction]) {
    for (std::uint32_t c = 0; c < world.count(task.frame, p); ++c) {
      if (world.done_by(task.slot, p, c) != task.frame + 1) ++world.early;
    }
  }
  for (std::uint32_t c = task.first; c < task.first + task.count; ++c) {
    std::uint64_t& mark = world.done_by(task.slot, task.instruction, c);
    if (mark == task.frame + 1) ++world.repeated;
    mark = task.frame + 1;
    ++world.executed;
    if (task.arrived == nullptr) continue;
    const std::uint32_t item = task.arrived[c] & ~std::uint32_t{kMissing};
    if ((task.arrived[c] & kMissing) != 0) {
      ++world.missing;
    } else if (world.sample(task.slot, task.instruction, item) != task.frame + 1) {
      ++world.foreign;
    }
  }
}

class Crew {
 public:
  Crew(Runtime& runtime, std::uint32_t workers) {
    for (std::uint32_t w = 0; w < workers; ++w) {
      threads_.emplace_back([this, &runtime, w] {
        while (!stop_.load(std::memory_order_relaxed)) {
          if (!runtime.work(w)) std::this_thread::yield();
        }
      });
    }
  }
  ~Crew() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

std::vector<Opcode> kernels(std::size_t count) {
  return std::vector<Opcode>(count, Opcode{"Check", kernel});
}

struct Course {
  std::uint32_t frames = 200, workers = 3, receivers = 2, ring = 4;
  double loss = 0, duplicate = 0, abandon = 0;
  bool pin_token = false;
  bool skip = false;  // every frame leaves some instructions out, and some chunks of others
  Tick budget = 0;    // air start is this long after begin
};

struct Outcome {
  std::uint32_t done = 0, dropped = 0, missed = 0, refused = 0;
};

// This frame's chunk counts: a function of the frame, so that whoever begins it says the same.
std::vector<std::uint32_t> counts_of(const Graph& graph, const Course& course,
                                     std::uint32_t frame) {
  std::mt19937 random(frame);
  std::vector<std::uint32_t> counts;
  for (const Instruction& instruction : graph.instructions()) {
    std::uniform_int_distribution<std::uint32_t> some(0, instruction.chunks);
    counts.push_back(course.skip ? some(random) : instruction.chunks);
  }
  return counts;
}

// One receiver: sends its share of each frame's items, some twice, some never.
void receive(Runtime& runtime, World& world, const Course& course, std::uint32_t id) {
  std::mt19937 random(id + 77);
  std::uniform_real_distribution<double> uniform(0, 1);
  const Graph& graph = world.graph;
  for (std::uint32_t frame = 0; frame < course.frames; ++frame) {
    const auto counts = counts_of(graph, course, frame);
    while (!runtime.begin(frame, now() + course.budget, counts) && !world.over[frame].load()) {
      std::this_thread::yield();
    }
    if (id == 0 && uniform(random) < course.abandon) runtime.abandon(frame);
    for (std::uint16_t i = 0; i < graph.size(); ++i) {
      if (graph[i].feed != Feed::Arrivals) continue;
      for (std::uint32_t item = id; item < counts[i]; item += course.receivers) {
        if (uniform(random) < course.loss) continue;
        Runtime::Hold held = runtime.hold(frame);
        if (!held) break;
        world.sample(runtime.board().slot(frame), i, item) = frame + 1;
        held.arrive(i, item);
        if (uniform(random) < course.duplicate) {
          if (held.arrive(i, item) == Arrival::Accepted) ++world.spoilt;
        }
      }
    }
  }
}

// A finished frame: what committed was executed wholly, what was missed had a reason.
void inspect(const Runtime& runtime, World& world, const FrameEvent& event) {
  for (std::uint16_t i = 0; i < world.graph.size(); ++i) {
    const InstructionStatus& status = runtime.board().status(event.slot, i);
    if (status.state == InstructionStatus::State::Committed) {
      for (std::uint32_t c = 0; c < status.chunks; ++c) {
        if (world.done_by(event.slot, i, c) != event.frame + 1) ++world.spoilt;
      }
      if (status.ready > status.issued || status.issued > status.committed) ++world.spoilt;
    } else if (event.kind == Kind::Done && status.why == Reason::None) {
      ++world.spoilt;
    }
  }
}

Outcome run(const Graph& graph, const Course& course) {
  World world(graph, course.ring, course.frames);
  std::uint64_t expected = 0;
  for (std::uint32_t frame = 0; frame < course.frames; ++frame) {
    world.counts.push_back(counts_of(graph, course, frame));
    for (const std::uint32_t count : world.counts.back()) expected += count;
  }
  const auto policy = make_policy("earliest-frame");
  const auto opcodes = kernels(graph.opcodes());
  Runtime runtime(graph, opcodes, &world, *policy,
                  {.workers = course.workers,
                   .pin_token = course.pin_token,
                   .ring = course.ring,
                   .grain = {1, 2, 3},
                   .trace = 64});
  Outcome outcome;
  {
    const Crew crew(runtime, course.workers);
    std::vector<std::thread> receivers;
    for (std::uint32_t id = 0; id < course.receivers; ++id) {
      receivers.emplace_back([&, id] { receive(runtime, world, course, id); });
    }
    while (outcome.done + outcome.dropped + outcome.refused < course.frames) {
      FrameEvent event;
      if (runtime.poll({&event, 1}) == 0) {
        std::this_thread::yield();
        continue;
      }
      if (event.kind == Kind::Missed) ++outcome.missed;
      if (event.kind == Kind::Committed || event.kind == Kind::Missed) continue;
      world.over[event.frame].store(true, std::memory_order_relaxed);
      if (event.kind == Kind::Refused) {
        ++outcome.refused;
        continue;
      }
      ++(event.kind == Kind::Done ? outcome.done : outcome.dropped);
      inspect(runtime, world, event);
      runtime.release(event.frame);
    }
    for (std::thread& receiver : receivers) receiver.join();
    while (runtime.live() != 0) std::this_thread::yield();
  }
  if (course.pin_token) {
    for (std::uint32_t w = 1; w < course.workers; ++w) EXPECT_EQ(runtime.times(w).tokens, 0U);
  }
  std::uint64_t counted = 0;
  for (const OpcodeInfo& info : runtime.board().opcodes()) counted += info.chunks;
  EXPECT_EQ(counted, world.executed.load());
  EXPECT_EQ(world.repeated.load(), 0U);
  EXPECT_EQ(world.early.load(), 0U);
  EXPECT_EQ(world.after_end.load(), 0U);
  EXPECT_EQ(world.foreign.load(), 0U);
  EXPECT_EQ(world.spoilt.load(), 0U);
  if (course.abandon == 0 && graph[0].deadline == kNever) {
    EXPECT_EQ(world.executed.load(), expected);
    EXPECT_EQ(outcome.done, course.frames);
  }
  if (course.loss == 0 && course.abandon == 0 && graph[0].deadline == kNever) {
    EXPECT_EQ(world.missing.load(), 0U);
  }
  return outcome;
}

TEST(Runtime, ExecutesEveryChunkOnceAfterItsPredecessors) {
  for (std::uint32_t seed = 0; seed < 6; ++seed) {
    std::mt19937 random(seed);
    run(random_graph(random, {.arrivals = 0.7}), {.frames = 60});
  }
}

TEST(Runtime, AnOwnerOfTheTokenSchedulesForAll) {
  for (std::uint32_t seed = 0; seed < 3; ++seed) {
    std::mt19937 random(seed);
    const Graph graph = random_graph(random, {.arrivals = 0.7, .close = kMillisecond});
    run(graph, {.frames = 60, .loss = 0.05, .pin_token = true});
  }
}

TEST(Runtime, FramesMayLeaveOutInstructionsAndChunks) {
  for (std::uint32_t seed = 0; seed < 3; ++seed) {
    std::mt19937 random(seed);
    run(random_graph(random, {.arrivals = 0.7}), {.frames = 60, .skip = true});
  }
}

TEST(Runtime, AFrameThatThePolicyRefusesFreesItsPlace) {
  GraphBuilder builder;
  builder.add({.deadline = 10});
  const Graph graph = std::move(*builder.build().graph);
  World world(graph, 1, 100);
  const auto policy = make_policy("earliest-frame");
  const auto opcodes = kernels(1);
  Runtime runtime(graph, opcodes, &world, *policy, {.ring = 1});
  for (std::uint32_t frame = 0; frame < 50; ++frame) {
    EXPECT_TRUE(runtime.begin(frame, now() - kSecond));
    FrameEvent event;
    ASSERT_EQ(runtime.poll({&event, 1}), 1U);
    EXPECT_TRUE(event.kind == Kind::Refused && event.frame == frame);
    EXPECT_EQ(runtime.live(), 0U);
  }
  EXPECT_EQ(world.executed.load(), 0U);
}

TEST(Runtime, NeitherLossNorDuplicatesStallIt) {
  for (std::uint32_t seed = 0; seed < 3; ++seed) {
    std::mt19937 random(seed);
    const Graph graph = random_graph(random, {.arrivals = 0.9, .close = kMillisecond});
    run(graph, {.frames = 60, .loss = 0.1, .duplicate = 0.3});
  }
}

TEST(Runtime, DroppedFramesGiveNothingMoreAndReturnTheirSlots) {
  for (std::uint32_t seed = 0; seed < 4; ++seed) {
    std::mt19937 random(seed);
    const Graph graph = random_graph(random, {.instructions = 60,
                                              .max_chunks = 40,
                                              .arrivals = 0.5,
                                              .drop_alone = 0.1,
                                              .close = 300 * kMicrosecond,
                                              .deadline = 600 * kMicrosecond});
    const Outcome outcome =
        run(graph, {.frames = 150, .ring = 3, .loss = 0.02, .duplicate = 0.05, .abandon = 0.3});
    EXPECT_EQ(outcome.done + outcome.dropped + outcome.refused, 150U);
    EXPECT_LT(0U, outcome.dropped);
  }
}

TEST(Runtime, OneWorkerThatIsAlsoReceiverAndSinkSuffices) {
  std::mt19937 random(3);
  const Graph graph = random_graph(random, {.arrivals = 0});
  World world(graph, 2, 50);
  const auto policy = make_policy("earliest-frame");
  const auto opcodes = kernels(graph.opcodes());
  Runtime runtime(graph, opcodes, &world, *policy, {.ring = 2});
  for (std::uint32_t frame = 0; frame < 50; ++frame) {
    ASSERT_TRUE(runtime.begin(frame, 0));
    while (runtime.work(0)) {
    }
    FrameEvent events[64];
    const std::size_t count = runtime.poll(events);
    ASSERT_TRUE(count > 0 && events[count - 1].kind == Kind::Done);
    EXPECT_EQ(events[count - 1].frame, frame);
    runtime.release(frame);
  }
  EXPECT_EQ(world.executed.load(), 50U * world.chunks);
  EXPECT_EQ(runtime.times(0).chunks, 50U * world.chunks);
}

// A graph of one instruction fed by two items, and a runtime that nobody but the test drives.
struct Small {
  Small() : world(graph, 2, 100), policy(make_policy("earliest-frame")) {}
  static Graph make() {
    GraphBuilder builder;
    builder.add({.feed = Feed::Arrivals, .notify = true, .chunks = 2});
    return std::move(*builder.build().graph);
  }
  bool finish(std::uint64_t frame) {
    while (runtime.work(0)) {
    }
    FrameEvent events[8];
    const std::size_t count = runtime.poll(events);
    return count > 0 && events[count - 1].frame == frame;
  }
  Graph graph = make();
  World world;
  std::unique_ptr<Policy> policy;
  std::vector<Opcode> opcodes = kernels(1);
  Runtime runtime{graph, opcodes, &world, *policy, {.ring = 2}};
};

TEST(Runtime, ARingPlaceIsRefusedUntilItsFrameIsReleased) {
  Small small;
  EXPECT_TRUE(small.runtime.vacant(0));
  EXPECT_TRUE(small.runtime.begin(0, 0));
  EXPECT_FALSE(small.runtime.vacant(0));
  EXPECT_TRUE(small.runtime.begin(0, 0));  // another receiver was first
  EXPECT_TRUE(small.runtime.begin(1, 0));
  EXPECT_FALSE(small.runtime.begin(2, 0));
  EXPECT_EQ(small.runtime.live(), 2U);
  small.runtime.abandon(0);
  EXPECT_TRUE(small.finish(0));
  EXPECT_FALSE(small.runtime.begin(2, 0));
  small.runtime.release(0);
  EXPECT_FALSE(small.runtime.begin(0, 0));  // it is over
  EXPECT_TRUE(small.runtime.begin(2, 0));
}

// A ring whose size does not divide 2³²: a number cut to 32 bits would have another slot.
TEST(Runtime, FrameNumbersGoOnBeyondThirtyTwoBits) {
  GraphBuilder builder;
  builder.add({.chunks = 2});
  const Graph graph = std::move(*builder.build().graph);
  const auto policy = make_policy("earliest-frame");
  std::vector<std::uint64_t> seen;
  const Opcode note{"Note", [](void* context, const Task& task) noexcept {
                      static_cast<std::vector<std::uint64_t>*>(context)->push_back(task.frame);
                      if (task.slot != task.frame % 3) std::abort();
                    }};
  Runtime runtime(graph, {&note, 1}, &seen, *policy, {.ring = 3, .grain = {2}});
  constexpr std::uint64_t kFirst = (std::uint64_t{1} << 32) - 4;
  for (std::uint64_t frame = kFirst; frame < kFirst + 8; ++frame) {
    ASSERT_TRUE(runtime.begin(frame, 0));
    while (runtime.work(0)) {
    }
    FrameEvent event;
    ASSERT_EQ(runtime.poll({&event, 1}), 1U);
    EXPECT_EQ(event.frame, frame);
    EXPECT_EQ(event.slot, frame % 3);
    EXPECT_EQ(seen.back(), frame);
    runtime.release(frame);
    EXPECT_FALSE(runtime.begin(frame, 0));  // it is over
  }
  EXPECT_EQ(runtime.live(), 0U);
  EXPECT_EQ(seen.size(), 8U);
}

TEST(Runtime, AReceiverInsideASlotKeepsItFromBeingReused) {
  Small small;
  ASSERT_TRUE(small.runtime.begin(0, 0));
  {
    const Runtime::Hold held = small.runtime.hold(0);
    EXPECT_TRUE(static_cast<bool>(held));
    small.runtime.abandon(0);
    EXPECT_TRUE(small.finish(0));
    small.runtime.release(0);
    EXPECT_FALSE(small.runtime.vacant(2));
    EXPECT_FALSE(small.runtime.begin(2, 0));
    EXPECT_FALSE(static_cast<bool>(small.runtime.hold(0)));
  }
  EXPECT_TRUE(small.runtime.vacant(2));
  EXPECT_TRUE(small.runtime.begin(2, 0));
}

TEST(Runtime, ItemsOfFramesThatAreNotLiveChangeNothing) {
  Small small;
  EXPECT_TRUE(small.runtime.arrive(0, 0, 0) == Arrival::Late);
  ASSERT_TRUE(small.runtime.begin(0, 0));
  EXPECT_TRUE(small.runtime.arrive(2, 0, 0) == Arrival::Late);
  EXPECT_TRUE(small.runtime.arrive(0, 9, 0) == Arrival::Unknown);
  EXPECT_TRUE(small.runtime.arrive(0, 0, 2) == Arrival::Unknown);
  small.world.sample(0, 0, 1) = 1;
  EXPECT_TRUE(small.runtime.arrive(0, 0, 1) == Arrival::Accepted);
  EXPECT_TRUE(small.runtime.arrive(0, 0, 1) == Arrival::Duplicate);
  while (small.runtime.work(0)) {
  }
  EXPECT_EQ(small.world.executed.load(), 1U);
  small.runtime.close(0, 0);
  EXPECT_TRUE(small.finish(0));
  EXPECT_EQ(small.world.missing.load(), 1U);
  EXPECT_TRUE(small.runtime.arrive(0, 0, 0) == Arrival::Late);
}

TEST(Runtime, IsQuietOnlyUntilTheNextThingExpected) {
  GraphBuilder builder;
  builder.add({.feed = Feed::Arrivals, .chunks = 1, .release = 100 * kSecond});
  builder.add({.feed = Feed::Arrivals, .chunks = 1, .release = 200 * kSecond});
  const Graph graph = std::move(*builder.build().graph);
  World world(graph, 2, 4);
  const auto policy = make_policy("earliest-frame");
  const auto opcodes = kernels(1);
  Runtime runtime(graph, opcodes, &world, *policy, {.ring = 2});
  EXPECT_EQ(runtime.quiet_until(), kNever);
  runtime.expect(1234);
  EXPECT_EQ(runtime.quiet_until(), 1234);
  runtime.expect(kNever);
  const Tick air = now();
  ASSERT_TRUE(runtime.begin(0, air));
  EXPECT_EQ(runtime.quiet_until(), air + 100 * kSecond);
}

TEST(Runtime, TracesEveryTask) {
  std::mt19937 random(4);
  const Graph graph = random_graph(random, {.arrivals = 0});
  World world(graph, 2, 1);
  const auto policy = make_policy("earliest-frame");
  const auto opcodes = kernels(graph.opcodes());
  Runtime runtime(graph, opcodes, &world, *policy, {.ring = 2, .trace = 4096});
  ASSERT_TRUE(runtime.begin(0, 0));
  while (runtime.work(0)) {
  }
  std::vector<telemetry::TraceEvent> events(4096);
  telemetry::TraceRing::Cursor cursor;
  events.resize(runtime.trace(0).read(cursor, events));
  std::uint32_t chunks = 0;
  Tick busy = 0;
  for (const telemetry::TraceEvent& event : events) {
    if (event.kind != telemetry::TraceKind::Task) continue;
    chunks += event.count;
    busy += event.duration;
    EXPECT_EQ(event.code, graph[event.instruction].opcode);
  }
  EXPECT_EQ(chunks, world.chunks);
  EXPECT_EQ(busy, runtime.times(0).kernel);
}

TEST(Runtime, RefusesImpossibleOptions) {
  Small small;
  const auto make = [&](Runtime::Options options, std::span<const Opcode> opcodes) {
    Runtime runtime(small.graph, opcodes, nullptr, *small.policy, std::move(options));
  };
  EXPECT_THROW(make({.workers = 0}, small.opcodes), std::invalid_argument);
  EXPECT_THROW(make({.workers = 129}, small.opcodes), std::invalid_argument);
  EXPECT_THROW(make({.ring = 65}, small.opcodes), std::invalid_argument);
  EXPECT_THROW(make({}, {}), std::invalid_argument);
}

}  // namespace
}  // namespace carillon::runtime
