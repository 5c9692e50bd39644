// An emulated, slower clock: work is done several times over, and leaves what it leaves once.
#include <algorithm>
#include <memory>
#include <vector>

#include "frame/cell.hpp"
#include "runtime/runtime.hpp"

using namespace carillon;
using test::Cell;

namespace {

struct Left {
  std::vector<std::uint8_t> payload, good;
  std::vector<std::int16_t> radiated;
  std::uint32_t ill_conditioned = 0, saturated = 0;
  std::uint64_t chunks = 0;
  bool operator==(const Left&) const = default;
};

// `again`: each claim is done so many times before it is done in earnest, in part the last time.
Left run(const frame::FrameFormat& format, std::uint32_t again, const Cell::Lost& lost) {
  Cell cell(format);
  cell.fill(0, lost);
  std::uint64_t chunks = 0;
  const frame::Claim claim = [&](const runtime::Task& task) {
    const auto kernel = cell.pipeline.opcodes()[task.opcode].kernel;
    runtime::Task rehearsed = task;
    rehearsed.rehearsal = true;
    for (std::uint32_t i = 0; i < again; ++i) {
      if (i + 1 == again) rehearsed.count = (task.count + 1) / 2;
      kernel(cell.pipeline.context(), rehearsed);
    }
    kernel(cell.pipeline.context(), task);
    chunks += task.count;
  };
  frame::run_serially(cell.pipeline, 0, claim, 5);
  const frame::FrameSlot& slot = cell.pipeline.slot(0);
  return {{slot.payload.begin(), slot.payload.end()},
          {slot.good.begin(), slot.good.end()},
          cell.radiated,
          slot.combiners->ill_conditioned.load(),
          static_cast<std::uint32_t>(slot.saturated.load()),
          chunks};
}

}  // namespace

TEST(Rehearsal, LeavesWhatIsLeftWithoutIt) {
  const auto none = [](std::uint32_t, std::uint32_t) { return false; };
  const auto some = [](std::uint32_t s, std::uint32_t a) { return a == 2 && s % 3 == 1; };
  for (const std::uint32_t group : {1U, 4U, 16U})
    for (const auto precision : {frame::Precision::Fp32, frame::Precision::Int16})
      for (const Cell::Lost& lost : {Cell::Lost(none), Cell::Lost(some)}) {
        const auto format = test::changed([&](frame::FrameFormat& f) {
          f.schedule = "PPUUUUDDD";
          f.deadlines.downlink_lead_ms = 0;
          f.combiner.group = group;
          f.combiner.precision = precision;
        });
        const Left once = run(format, 0, lost);
        EXPECT_GT(once.chunks, 0U);
        EXPECT_TRUE(std::ranges::any_of(once.good, [](auto good) { return good != 0; }));
        for (const std::uint32_t again : {1U, 3U}) EXPECT_TRUE(run(format, again, lost) == once);
      }
}

namespace {

struct Seen {
  bool whole = true;  // rehearsals are of the claim that follows
  std::uint64_t earnest = 0, rehearsed = 0;
  runtime::Task last{};
};

void look(void* context, const runtime::Task& task) noexcept {
  Seen& seen = *static_cast<Seen*>(context);
  (task.rehearsal ? seen.rehearsed : seen.earnest) += task.count;
  if (!task.rehearsal && seen.last.rehearsal)
    seen.whole = seen.whole && seen.last.first == task.first && seen.last.count <= task.count &&
                 seen.last.instruction == task.instruction;
  seen.last = task;
}

}  // namespace

TEST(Rehearsal, IsOfTheClaimThatFollowsAndOnlyUnderALowerClock) {
  runtime::GraphBuilder builder;
  builder.add({.chunks = 100});
  builder.add({.chunks = 1});
  builder.depend(0, 1);
  const runtime::Graph graph = std::move(*builder.build().graph);
  const auto policy = runtime::make_policy("earliest-frame");
  const std::vector<runtime::Opcode> opcodes(graph.opcodes(), {"Look", look});
  Seen seen;
  runtime::Runtime runtime({{graph, {opcodes, &seen}, 1}}, *policy, {});
  const auto cell = runtime.source(0);
  const auto run = [&](std::uint64_t first, std::uint64_t frames) {
    seen = {};
    for (std::uint64_t f = first; f < first + frames; ++f) {
      ASSERT_TRUE(cell.begin(f, now()));
      runtime::FrameEvent event{};
      while (cell.poll({&event, 1}) == 0) runtime.work(0);
      cell.release(f);
      runtime.work(0);
    }
    EXPECT_EQ(seen.earnest, 101 * frames);
    EXPECT_TRUE(seen.whole);
  };
  run(0, 10);
  EXPECT_EQ(seen.rehearsed, 0U);
  runtime.emulate_clock(0.4);
  run(10, 100);
  EXPECT_GT(seen.rehearsed, 0U);
  runtime.emulate_clock(1);
  run(110, 10);
  EXPECT_EQ(seen.rehearsed, 0U);
}
