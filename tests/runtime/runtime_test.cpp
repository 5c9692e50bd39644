// The runtime on real threads. Kernels and receivers share plain memory, so that the thread
// sanitizer checks every ordering the runtime promises; nothing here asserts how long anything
// takes.
#include "runtime/runtime.hpp"

#include <atomic>
#include <deque>
#include <memory>
#include <random>
#include <span>
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
  World(const Graph& graph, std::uint32_t ring, std::uint32_t frames, std::uint16_t source = 0)
      : graph(graph), source(source), predecessors(predecessors_of(graph)), over(frames) {
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
  const std::uint16_t source;
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
  if (task.source != world.source) ++world.foreign;
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

// Whoever begins a frame may be kept from it half-way, and then others cannot hold it yet.
Runtime::Source::Hold hold(Runtime::Source source, const World& world, std::uint32_t frame) {
  for (;;) {
    Runtime::Source::Hold held = source.hold(frame);
    if (held || world.over[frame].load()) return held;
    std::this_thread::yield();
  }
}

// One receiver: sends its share of each frame's items, some twice, some never.
void receive(Runtime::Source source, World& world, const Course& course, std::uint32_t id) {
  std::mt19937 random(id + 77);
  std::uniform_real_distribution<double> uniform(0, 1);
  const Graph& graph = world.graph;
  for (std::uint32_t frame = 0; frame < course.frames; ++frame) {
    const auto counts = counts_of(graph, course, frame);
    while (!source.begin(frame, now() + course.budget, counts) && !world.over[frame].load()) {
      std::this_thread::yield();
    }
    if (id == 0 && uniform(random) < course.abandon) source.abandon(frame);
    for (std::uint16_t i = 0; i < graph.size(); ++i) {
      if (graph[i].feed != Feed::Arrivals) continue;
      for (std::uint32_t item = id; item < counts[i]; item += course.receivers) {
        if (uniform(random) < course.loss) continue;
        const Runtime::Source::Hold held = hold(source, world, frame);
        if (!held) break;
        world.sample(source.board().slot(frame), i, item) = frame + 1;
        held.arrive(i, item);
        if (uniform(random) < course.duplicate) {
          if (held.arrive(i, item) == Arrival::Accepted) ++world.spoilt;
        }
      }
    }
  }
}

// A finished frame: what committed was executed wholly, what was missed had a reason.
void inspect(Runtime::Source source, World& world, const FrameEvent& event) {
  for (std::uint16_t i = 0; i < world.graph.size(); ++i) {
    const InstructionStatus& status = source.board().status(event.slot, i);
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

// The source's one consumer, until all its frames are over and their places free.
Outcome consume(Runtime::Source source, World& world, const Course& course) {
  Outcome outcome;
  while (outcome.done + outcome.dropped + outcome.refused < course.frames) {
    FrameEvent event;
    if (source.poll({&event, 1}) == 0) {
      std::this_thread::yield();
      continue;
    }
    if (event.source != source.number()) ++world.foreign;
    if (event.kind == Kind::Missed) ++outcome.missed;
    if (event.kind == Kind::Committed || event.kind == Kind::Missed) continue;
    world.over[event.frame].store(true, std::memory_order_relaxed);
    if (event.kind == Kind::Refused) {
      ++outcome.refused;
      continue;
    }
    ++(event.kind == Kind::Done ? outcome.done : outcome.dropped);
    inspect(source, world, event);
    source.release(event.frame);
  }
  while (source.live() != 0) std::this_thread::yield();
  return outcome;
}

void check(Runtime::Source source, const World& world, const Course& course,
           const Outcome& outcome) {
  std::uint64_t counted = 0, expected = 0;
  for (const OpcodeInfo& info : source.board().opcodes()) counted += info.chunks;
  for (const auto& counts : world.counts)
    for (const std::uint32_t count : counts) expected += count;
  const bool all = course.abandon == 0 && world.graph[0].deadline == kNever;
  EXPECT_EQ(counted, world.executed.load());
  EXPECT_EQ(world.repeated.load(), 0U);
  EXPECT_EQ(world.early.load(), 0U);
  EXPECT_EQ(world.after_end.load(), 0U);
  EXPECT_EQ(world.foreign.load(), 0U);
  EXPECT_EQ(world.spoilt.load(), 0U);
  if (all) {
    EXPECT_EQ(world.executed.load(), expected);
    EXPECT_EQ(outcome.done, course.frames);
  }
  if (course.loss == 0 && all) {
    EXPECT_EQ(world.missing.load(), 0U);
  }
}

// Each source with its graph, receivers and consumer, on workers that they share.
std::vector<Outcome> run(std::span<const Graph> graphs, const Course& course) {
  std::deque<World> worlds;
  std::deque<std::vector<Opcode>> opcodes;
  std::vector<Runtime::SourceOptions> sources;
  for (std::uint16_t c = 0; c < graphs.size(); ++c) {
    World& world = worlds.emplace_back(graphs[c], course.ring, course.frames, c);
    for (std::uint32_t frame = 0; frame < course.frames; ++frame)
      world.counts.push_back(counts_of(graphs[c], course, frame));
    opcodes.push_back(kernels(graphs[c].opcodes()));
    sources.push_back({graphs[c], {opcodes[c], &world}, course.ring, {1, 2, 3}});
  }
  const auto policy = make_policy("earliest-frame");
  Runtime runtime(sources, *policy,
                  {.workers = course.workers, .pin_token = course.pin_token, .trace = 64});
  std::vector<Outcome> outcomes(graphs.size());
  {
    const Crew crew(runtime, course.workers);
    std::vector<std::thread> threads;
    for (std::uint16_t c = 0; c < graphs.size(); ++c) {
      for (std::uint32_t id = 0; id < course.receivers; ++id) {
        threads.emplace_back([&, c, id] { receive(runtime.source(c), worlds[c], course, id); });
      }
      threads.emplace_back([&, c] { outcomes[c] = consume(runtime.source(c), worlds[c], course); });
    }
    for (std::thread& thread : threads) thread.join();
  }
  if (course.pin_token) {
    for (std::uint32_t w = 1; w < course.workers; ++w) EXPECT_EQ(runtime.times(w).tokens, 0U);
  }
  for (std::uint16_t c = 0; c < graphs.size(); ++c)
    check(runtime.source(c), worlds[c], course, outcomes[c]);
  return outcomes;
}

Outcome run(const Graph& graph, const Course& course) { return run({&graph, 1}, course).front(); }

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

TEST(Runtime, CellsShareWorkersAndNothingElse) {
  for (std::uint32_t seed = 0; seed < 3; ++seed) {
    std::mt19937 random(seed);
    std::vector<Graph> graphs;
    for (std::uint32_t instructions : {30, 12, 70})
      graphs.push_back(random_graph(
          random,
          {.instructions = instructions, .max_chunks = 8, .arrivals = 0.6, .close = kMillisecond}));
    run(graphs, {.frames = 40, .receivers = 1, .loss = 0.05, .duplicate = 0.1, .skip = seed == 2});
  }
}

TEST(Runtime, AFrameThatThePolicyRefusesFreesItsPlace) {
  GraphBuilder builder;
  builder.add({.deadline = 10});
  const Graph graph = std::move(*builder.build().graph);
  World world(graph, 1, 100);
  const auto policy = make_policy("earliest-frame");
  const auto opcodes = kernels(1);
  Runtime runtime({{graph, {opcodes, &world}, 1}}, *policy, {});
  const Runtime::Source source = runtime.source(0);
  for (std::uint32_t frame = 0; frame < 50; ++frame) {
    EXPECT_TRUE(source.begin(frame, now() - kSecond));
    FrameEvent event;
    ASSERT_EQ(source.poll({&event, 1}), 1U);
    EXPECT_TRUE(event.kind == Kind::Refused && event.frame == frame);
    EXPECT_EQ(source.live(), 0U);
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
  Runtime runtime({{graph, {opcodes, &world}, 2}}, *policy, {});
  const Runtime::Source source = runtime.source(0);
  for (std::uint32_t frame = 0; frame < 50; ++frame) {
    ASSERT_TRUE(source.begin(frame, 0));
    while (runtime.work(0)) {
    }
    FrameEvent events[64];
    const std::size_t count = source.poll(events);
    ASSERT_TRUE(count > 0 && events[count - 1].kind == Kind::Done);
    EXPECT_EQ(events[count - 1].frame, frame);
    source.release(frame);
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
    const std::size_t count = source.poll(events);
    return count > 0 && events[count - 1].frame == frame;
  }
  Graph graph = make();
  World world;
  std::unique_ptr<Policy> policy;
  std::vector<Opcode> opcodes = kernels(1);
  Runtime runtime{{{graph, {opcodes, &world}, 2}}, *policy, {}};
  Runtime::Source source = runtime.source(0);
};

TEST(Runtime, ARingPlaceIsRefusedUntilItsFrameIsReleased) {
  Small small;
  EXPECT_TRUE(small.source.vacant(0));
  EXPECT_TRUE(small.source.begin(0, 0));
  EXPECT_FALSE(small.source.vacant(0));
  EXPECT_TRUE(small.source.begin(0, 0));  // another receiver was first
  EXPECT_TRUE(small.source.begin(1, 0));
  EXPECT_FALSE(small.source.begin(2, 0));
  EXPECT_EQ(small.source.live(), 2U);
  small.source.abandon(0);
  EXPECT_TRUE(small.finish(0));
  EXPECT_FALSE(small.source.begin(2, 0));
  small.source.release(0);
  EXPECT_FALSE(small.source.begin(0, 0));  // it is over
  EXPECT_TRUE(small.source.begin(2, 0));
}

TEST(Runtime, AFrameThatWasGivenUpCanBeDoneAgain) {
  Small small;
  ASSERT_TRUE(small.source.begin(0, 0));
  EXPECT_TRUE(small.source.arrive(0, 0, 0) == Arrival::Accepted);
  small.source.abandon(0);
  EXPECT_TRUE(small.finish(0));
  const Runtime::Source::Item came{0, 1};
  EXPECT_FALSE(small.source.begin_again(0, 0, {}, {&came, 1}));  // not before it is released
  small.source.release(0);
  small.world.sample(0, 0, 0) = small.world.sample(0, 0, 1) = 1;
  EXPECT_TRUE(small.source.begin_again(0, 0, {}, {&came, 1}));
  EXPECT_TRUE(small.source.arrive(0, 0, 1) == Arrival::Duplicate);
  EXPECT_TRUE(small.source.arrive(0, 0, 0) == Arrival::Accepted);
  EXPECT_TRUE(small.finish(0));
  EXPECT_EQ(small.world.missing.load(), 0U);
  small.source.release(0);
  ASSERT_TRUE(small.source.begin(2, 0));
  small.source.abandon(2);
  EXPECT_TRUE(small.finish(2));
  small.source.release(2);
  EXPECT_FALSE(small.source.begin_again(0, 0, {}, {}));  // an older one than the last
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
  Runtime runtime({{graph, {{&note, 1}, &seen}, 3, {2}}}, *policy, {});
  const Runtime::Source source = runtime.source(0);
  constexpr std::uint64_t kFirst = (std::uint64_t{1} << 32) - 4;
  for (std::uint64_t frame = kFirst; frame < kFirst + 8; ++frame) {
    ASSERT_TRUE(source.begin(frame, 0));
    while (runtime.work(0)) {
    }
    FrameEvent event;
    ASSERT_EQ(source.poll({&event, 1}), 1U);
    EXPECT_EQ(event.frame, frame);
    EXPECT_EQ(event.slot, frame % 3);
    EXPECT_EQ(seen.back(), frame);
    source.release(frame);
    EXPECT_FALSE(source.begin(frame, 0));  // it is over
  }
  EXPECT_EQ(source.live(), 0U);
  EXPECT_EQ(seen.size(), 8U);
}

TEST(Runtime, AReceiverInsideASlotKeepsItFromBeingReused) {
  Small small;
  ASSERT_TRUE(small.source.begin(0, 0));
  {
    const Runtime::Source::Hold held = small.source.hold(0);
    EXPECT_TRUE(static_cast<bool>(held));
    small.source.abandon(0);
    EXPECT_TRUE(small.finish(0));
    small.source.release(0);
    EXPECT_FALSE(small.source.vacant(2));
    EXPECT_FALSE(small.source.begin(2, 0));
    EXPECT_FALSE(static_cast<bool>(small.source.hold(0)));
  }
  EXPECT_TRUE(small.source.vacant(2));
  EXPECT_TRUE(small.source.begin(2, 0));
}

TEST(Runtime, ItemsOfFramesThatAreNotLiveChangeNothing) {
  Small small;
  EXPECT_TRUE(small.source.arrive(0, 0, 0) == Arrival::Late);
  ASSERT_TRUE(small.source.begin(0, 0));
  EXPECT_TRUE(small.source.arrive(2, 0, 0) == Arrival::Late);
  EXPECT_TRUE(small.source.arrive(0, 9, 0) == Arrival::Unknown);
  EXPECT_TRUE(small.source.arrive(0, 0, 2) == Arrival::Unknown);
  small.world.sample(0, 0, 1) = 1;
  EXPECT_TRUE(small.source.arrive(0, 0, 1) == Arrival::Accepted);
  EXPECT_TRUE(small.source.arrive(0, 0, 1) == Arrival::Duplicate);
  while (small.runtime.work(0)) {
  }
  EXPECT_EQ(small.world.executed.load(), 1U);
  small.source.close(0, 0);
  EXPECT_TRUE(small.finish(0));
  EXPECT_EQ(small.world.missing.load(), 1U);
  EXPECT_TRUE(small.source.arrive(0, 0, 0) == Arrival::Late);
}

TEST(Runtime, IsQuietOnlyUntilTheNextThingExpected) {
  GraphBuilder builder;
  builder.add({.feed = Feed::Arrivals, .chunks = 1, .release = 100 * kSecond});
  builder.add({.feed = Feed::Arrivals, .chunks = 1, .release = 200 * kSecond});
  const Graph graph = std::move(*builder.build().graph);
  World world(graph, 2, 4);
  const auto policy = make_policy("earliest-frame");
  const auto opcodes = kernels(1);
  Runtime runtime({{graph, {opcodes, &world}, 2}}, *policy, {});
  const Runtime::Source source = runtime.source(0);
  EXPECT_EQ(runtime.quiet_until(), kNever);
  source.expect(1234);
  EXPECT_EQ(runtime.quiet_until(), 1234);
  source.expect(kNever);
  const Tick air = now();
  ASSERT_TRUE(source.begin(0, air));
  EXPECT_EQ(runtime.quiet_until(), air + 100 * kSecond);
}

TEST(Runtime, TracesEveryTask) {
  std::mt19937 random(4);
  const Graph graph = random_graph(random, {.arrivals = 0});
  World world(graph, 2, 1);
  const auto policy = make_policy("earliest-frame");
  const auto opcodes = kernels(graph.opcodes());
  Runtime runtime({{graph, {opcodes, &world}, 2}}, *policy, {.trace = 4096});
  ASSERT_TRUE(runtime.source(0).begin(0, 0));
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

// Also where the worker went on to schedule: what exceeds it by far is a stall. What takes longer
// where its input is hard is none. A claim says nothing of itself: the first one, if the machine
// stood still meanwhile, would excuse that.
TEST(Runtime, KnowsHowLongAWorkersLastClaimShouldHaveTaken) {
  GraphBuilder builder;
  for (const std::uint32_t longest : {1U, 7U}) builder.add({.chunks = 600, .longest = longest});
  builder.depend(0, 1);
  const Graph graph = std::move(*builder.build().graph);
  World world(graph, 1, 2);
  const auto policy = make_policy("earliest-frame");
  const auto opcodes = kernels(1);
  Runtime runtime({{graph, {opcodes, &world}, 1, {600}}}, *policy, {});
  const Runtime::Source source = runtime.source(0);
  int unmeasured = 0;
  for (std::uint32_t frame = 0; frame < 2; ++frame) {
    ASSERT_TRUE(source.begin(frame, 0));
    for (int claims = 0; claims < 2;) {
      const std::uint64_t before = runtime.times(0).chunks;
      const double known = source.board().mean(0);
      ASSERT_TRUE(runtime.work(0));
      const bool claimed = runtime.times(0).chunks != before;
      claims += claimed;
      const auto needed =
          known == 0 ? kMillisecond : static_cast<Tick>(known * 600 * (claims == 1 ? 1 : 7));
      EXPECT_EQ(runtime.expected(0), claimed ? needed : Tick{0});
      unmeasured += claimed && known == 0;
    }
    FrameEvent event;
    while (source.poll({&event, 1}) == 0) runtime.work(0);
    source.release(frame);
  }
  EXPECT_GT(source.board().mean(0), 0.0);
  EXPECT_EQ(unmeasured, 1);
}

TEST(Runtime, RefusesImpossibleOptions) {
  Small small;
  const auto make = [&](std::size_t sources, std::uint32_t ring, std::uint32_t workers) {
    const Runtime::SourceOptions source{small.graph, {small.opcodes, nullptr}, ring};
    Runtime runtime(std::vector(sources, source), *small.policy, {.workers = workers});
  };
  make(1, 64, 128);
  EXPECT_THROW(make(1, 4, 0), std::invalid_argument);
  EXPECT_THROW(make(1, 4, 129), std::invalid_argument);
  EXPECT_THROW(make(1, 65, 1), std::invalid_argument);
  EXPECT_THROW(make(0, 4, 1), std::invalid_argument);
  EXPECT_THROW(make(kMaxSources + 1, 4, 1), std::invalid_argument);
  EXPECT_THROW(Runtime({{small.graph, {}}}, *small.policy, {}), std::invalid_argument);
}

}  // namespace
}  // namespace carillon::runtime
