// The executor's scenarios where the driver itself is imaginary, and what needs no others.
#include <set>
#include <utility>
#include <vector>

#include "runtime/cuda_executor_scenarios.inl"
#include "support/fake_gpus.hpp"

namespace carillon::runtime {
namespace {

// The same symbol of eight sources with four places in their rings, and a frame's symbols.
TEST(CudaExecutor, SpreadsCellsAndSymbolsOverStreams) {
  constexpr std::uint16_t kCells = 8, kRing = 4, kSymbols = 14;
  const auto stream = [](std::uint32_t source, std::uint32_t slot, std::uint32_t symbol) {
    return CudaExecutor::ordered(
        static_cast<std::uint16_t>((source * kRing + slot) * kSymbols + symbol));
  };
  for (std::uint32_t slot = 0; slot < kRing; ++slot) {
    for (std::uint32_t s = 0; s < kSymbols; ++s) {
      std::set<std::uint32_t> streams;
      for (std::uint32_t c = 0; c < kCells; ++c) streams.insert(stream(c, slot, s));
      EXPECT_GE(streams.size(), 7U) << slot << " " << s;
      EXPECT_GE(*streams.begin(), CudaExecutor::kOrdered);
      EXPECT_LT(*streams.rbegin(), CudaExecutor::kBackground);
    }
    for (std::uint32_t c = 0; c < kCells; ++c) {
      std::set<std::uint32_t> streams;
      for (std::uint32_t s = 0; s < kSymbols; ++s) streams.insert(stream(c, slot, s));
      EXPECT_GE(streams.size(), 12U) << slot << " " << c;
    }
  }
}

// Kernel 0 of one symbol and 1 and 2 of another, in streams of their own; expected to take 1, 1 and
// 3 µs.
class TwoSymbols : public testing::Test {
 protected:
  using Edges = std::vector<std::pair<std::uint16_t, std::uint16_t>>;

  explicit TwoSymbols(const Edges& edges) : sources_(plans(edges)) {
    std::vector<OnType> profile(3);
    for (std::uint16_t i = 0; i < 3; ++i) {
      profile[i].time.start(i == 2 ? 3000 : 1000);
      board_[0].status(0, i).chunks = 1;
    }
    board_[0].set_profile(std::move(profile), 1e6);
  }
  static std::vector<CellPlan> plans(const Edges& edges) {
    GraphBuilder builder;
    for (std::uint16_t opcode = 0; opcode < 3; ++opcode)
      builder.add({.opcode = opcode, .step = std::uint16_t{opcode != 0}});
    for (const auto& [from, to] : edges) builder.depend(from, to);
    const Work kernel{.footprint = {.ctas = 1}, .output = 1};
    std::vector<CellPlan> plans;
    plans.push_back({std::move(*builder.build().graph), {kernel, kernel, kernel}});
    return plans;
  }
  std::vector<SourceWriter> boards() const {
    std::vector<SourceWriter> boards;
    boards.emplace_back(sources_[0].graph, 1, names(sources_[0].graph),
                        std::vector<std::uint32_t>{});
    return boards;
  }

  void issue(std::uint16_t instruction) {
    Issue issue;
    issue.what.instruction = instruction;
    issue.count = 1;
    issue.where = DeviceMask::first(1);
    issue.stream = instruction == 0 ? 0 : 1;
    executor_.issue(issue, gpus_.time());
  }
  void finish() {
    while (gpus_.step()) {
    }
  }

  const std::vector<CellPlan> sources_;
  ScoreboardWriter board_{boards(), 1};
  test::FakeGpus gpus_{1, CudaExecutor::needs(board_), 1};
  Sums work_{sources_, 1, gpus_};
  CudaExecutor executor_{board_, gpus_, work_, {}};
};

// Who reads of a symbol's middle need not wait for its end.
class Cut : public TwoSymbols {
 protected:
  Cut() : TwoSymbols({{1, 2}, {1, 0}}) {}
};

TEST_F(Cut, IsBehindWhatOthersRead) {
  for (const std::uint16_t i : {std::uint16_t{1}, std::uint16_t{2}, std::uint16_t{0}}) issue(i);
  executor_.flush();
  EXPECT_EQ(work_.launches(), 3U);
  EXPECT_EQ(gpus_.records(), 1U);
}

// Both kernels of a symbol take 8 µs together; the second waits for the other symbol's.
class OneRun : public TwoSymbols {
 protected:
  OneRun() : TwoSymbols({{1, 2}, {0, 2}}) {
    issue(0);
    executor_.flush();
    finish();
    begin_ = gpus_.time();
    issue(1);
    issue(2);
    executor_.flush();
  }
  // What the host hears of when so much time has passed.
  std::vector<Finished> heard(Tick at) {
    gpus_.pass(at - (gpus_.time() - begin_));
    std::array<DeviceEvent, 1> events;
    EXPECT_EQ(executor_.poll(std::span(events)), 0U);
    std::array<Finished, 3> some;
    return {some.begin(), some.begin() + static_cast<std::ptrdiff_t>(executor_.poll(some))};
  }
  void expect(const Finished& of, Tick begin, Tick end) const {
    EXPECT_EQ(of.executed - begin_, begin) << of.what.instruction;
    EXPECT_EQ(of.at - begin_, end) << of.what.instruction;
    EXPECT_EQ(of.busy, end - begin) << of.what.instruction;
  }
  // The host hears of the other symbol, then of both kernels: the first took twice what was
  // expected, as did the second, which began then.
  void expect_twice(Tick other, Tick end, Tick second) {
    EXPECT_EQ(heard(other).size(), 1U);
    finish();
    const std::vector<Finished> run = heard(end);
    ASSERT_EQ(run.size(), 2U);
    expect(run[0], 0, 2000);
    expect(run[1], second, end);
  }

  Tick begin_ = 0;
};

TEST_F(OneRun, SharesItsTimeOutAsItWasExpected) {
  EXPECT_EQ(work_.launches(), 3U);  // one waits
  expect_twice(0, 8000, 2000);
}

TEST_F(OneRun, CountsNoWaiting) { expect_twice(20'000, 26'000, 20'000); }

TEST_F(OneRun, MayHaveFoundThereWhatItWouldWaitFor) { expect_twice(1000, 8000, 2000); }

// The end of what it waited for is told with its own: when that was, nobody knows.
TEST_F(OneRun, EndsWithWhatItWaitedFor) {
  finish();
  const std::vector<Finished> all = heard(8000);
  ASSERT_EQ(all.size(), 3U);
  expect(all[1], 0, 2000);
  expect(all[2], 2000, 8000);
}

}  // namespace

Gpus make_gpus(std::uint16_t devices, const cuda::DriverOptions& options, std::uint64_t seed) {
  const auto gpus = std::make_shared<test::FakeGpus>(devices, options, seed);
  return {gpus, gpus};
}

}  // namespace carillon::runtime
