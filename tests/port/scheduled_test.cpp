// Clients that schedule frames, and who the cell listens to.
#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "frame/grants.hpp"
#include "port/exchange.hpp"
#include "port/small_cell.hpp"
#include "support/test.hpp"

using namespace carillon;
using frame::Direction;
using frame::Verdict;
using port::Exchange;
using port::Message;
using port::MessageType;
using port::Refusal;

namespace {

frame::FrameFormat format() {
  frame::FrameFormat f = small_cell();
  f.grants.kind = frame::GrantKind::Port;
  return f;
}

struct Scheduled {
  // A frame in which each user has so many resource blocks of the downlink.
  Refusal schedule(std::uint32_t number, std::uint32_t blocks) {
    std::vector<std::uint32_t> list;
    for (std::uint32_t user = 0; user < 2; ++user)
      test::append(list, {.user = user, .direction = Direction::Downlink, .blocks = blocks});
    return exchange.schedule(number, list, problems);
  }
  Refusal give(std::uint32_t number, std::uint32_t block) {
    const Message message =
        port::message_of(MessageType::Bits, frame, exchange.program(number), kDown, number, block);
    return exchange.offer(message, std::vector<std::uint8_t>(port::bytes_for(message.bits), 0x30));
  }
  // How many blocks a frame that begins has.
  std::size_t begin(std::uint32_t number) {
    const auto work = exchange.hold(number);
    if (work.program == nullptr) {
      exchange.take({number, 0}, 0, {});
      return 0;
    }
    EXPECT_EQ(exchange.find(number).program, work.program);
    bits.resize(work.program->transport_blocks(kDown).size());
    exchange.take({number, 0}, 0, bits);
    return bits.size();
  }
  void end(std::uint32_t number) {
    exchange.release({number, 0});
    exchange.release(number);
  }

  static constexpr auto kDown = Direction::Downlink;
  frame::Frame frame{format()};
  Exchange exchange{frame, kDown, 4};
  std::vector<Problem> problems;
  std::vector<const std::uint8_t*> bits;
};

}  // namespace

TEST(Scheduled, AFrameDoesWhatItsClientScheduledAndCarriesWhatItGave) {
  Scheduled cell;
  EXPECT_EQ(cell.schedule(1, 2), Refusal::NoFrame);
  EXPECT_EQ(cell.begin(0), 0U);
  EXPECT_EQ(cell.schedule(1, 2), Refusal::None);
  EXPECT_EQ(cell.give(1, 0), Refusal::None);
  EXPECT_EQ(cell.schedule(1, 3), Refusal::Order) << "once";
  EXPECT_EQ(cell.begin(1), 6U) << "a block in each of three symbols, for two users";
  EXPECT_EQ(cell.bits[0][0], 0x30);
  EXPECT_EQ(cell.bits[1][0], 0);
  EXPECT_EQ(cell.schedule(1, 2), Refusal::Late);
  EXPECT_EQ(cell.schedule(0, 2), Refusal::Late);
  EXPECT_EQ(cell.schedule(10, 2), Refusal::Early);
  EXPECT_EQ(cell.begin(2), 0U) << "of which nobody said anything";
  EXPECT_TRUE(cell.problems.empty());
  const auto counters = cell.exchange.counters();
  EXPECT_EQ(counters.used, 1U);
  EXPECT_EQ(counters.padded, 5U);
}

// Bits follow the work that they are for.
TEST(Scheduled, BitsBeforeTheWorkBelongNowhere) {
  Scheduled cell;
  cell.begin(0);
  ASSERT_EQ(cell.schedule(1, 2), Refusal::None);
  Message message = port::message_of(MessageType::Bits, cell.frame, cell.exchange.program(1),
                                     Scheduled::kDown, 2, 0);
  const std::vector<std::uint8_t> bits(port::bytes_for(message.bits));
  EXPECT_EQ(cell.exchange.offer(message, bits), Refusal::Block);
  ASSERT_EQ(cell.schedule(2, 2), Refusal::None);
  EXPECT_EQ(cell.exchange.offer(message, bits), Refusal::None);
  EXPECT_EQ(cell.begin(2), 6U);
  EXPECT_EQ(cell.exchange.offer(message, bits), Refusal::Late);
}

// Its place is another frame's only when nobody holds it any more, however often it is held.
TEST(Scheduled, WhatAFrameDoesStaysUntilItIsReleased) {
  Scheduled cell;
  const auto places = cell.exchange.places();
  cell.begin(0);
  ASSERT_EQ(cell.schedule(1, 2), Refusal::None);
  ASSERT_EQ(cell.begin(1), 6U);
  const auto* program = cell.exchange.hold(1).program;  // taken, held, and held again
  ASSERT_NE(program, nullptr);
  cell.end(1);
  cell.begin(places);  // so that the next frame of that place is in time
  EXPECT_EQ(cell.schedule(1 + places, 1), Refusal::Early);
  EXPECT_EQ(cell.exchange.find(1).program, program);
  EXPECT_EQ(program->transport_blocks(Scheduled::kDown).size(), 6U);
  cell.exchange.release(1);
  EXPECT_EQ(cell.exchange.find(1).program, nullptr);
  EXPECT_EQ(cell.exchange.hold(1).program, nullptr) << "it is over";
  EXPECT_EQ(cell.schedule(1 + places, 1), Refusal::None);
}

TEST(Scheduled, WorkIsPreparedBeforeTheFrameBegins) {
  Scheduled cell;
  std::vector<std::size_t> blocks(cell.exchange.places());
  cell.exchange.prepare_by([&](const frame::WorkSource::Work& work) {
    blocks[work.place] = work.program->transport_blocks(Scheduled::kDown).size();
  });
  cell.begin(0);
  ASSERT_EQ(cell.schedule(3, 1), Refusal::None);
  const auto work = cell.exchange.hold(3);
  EXPECT_EQ(blocks[work.place], 6U);
}

TEST(Scheduled, OtherCellsAreNotScheduled) {
  const frame::Frame frame(small_cell());
  Exchange exchange(frame, Direction::Downlink, 4);
  std::vector<Problem> problems;
  EXPECT_EQ(exchange.schedule(1, {}, problems), Refusal::Format);
}

// A client schedules and fills as fast as it can, while frames begin and end on other threads: what
// each does what was scheduled, whole, as long as it lasts.
TEST(Scheduled, FramesBeginWhileTheyAreScheduled) {
  Scheduled cell;
  constexpr std::uint32_t kFrames = 4000;
  std::atomic<std::uint32_t> begun{0};
  std::atomic<bool> over{false};
  cell.begin(0);
  std::uint64_t accepted = 0;
  std::thread owner([&] {
    std::vector<Problem> problems;
    for (std::uint32_t next = 1; !over.load();) {
      const std::uint32_t now = begun.load();
      next = std::max(next, now + 1);
      if (next > now + Exchange::kAhead) continue;
      accepted +=
          cell.schedule(next, 1 + next % 6) == Refusal::None && cell.give(next, 0) == Refusal::None;
      ++next;
    }
  });
  std::uint64_t used = 0, scheduled = 0;
  for (std::uint32_t n = 1; n < kFrames || scheduled == 0; ++n) {
    const std::size_t blocks = cell.begin(n);
    begun.store(n);
    if (blocks == 0) continue;
    ++scheduled;
    const auto& program = *cell.exchange.find(n).program;
    const auto& block = program.transport_blocks(Scheduled::kDown)[0];
    EXPECT_EQ(program.allocations(13).front().count, std::min(72U, 12 * (1 + n % 6)));
    EXPECT_EQ(port::bytes_for(program.plan(block).A()) > 0, true);
    used += cell.bits[0][0] == 0x30;
    cell.end(n);
  }
  over.store(true);
  owner.join();
  cell.exchange.close();
  const auto counters = cell.exchange.counters();
  EXPECT_EQ(counters.accepted, accepted);
  EXPECT_EQ(counters.used, used);
  EXPECT_EQ(counters.accepted, counters.used + counters.unused);
}

// What is sent again is counted by attempt, and a block's process is free before its owner hears of
// it.
TEST(Scheduled, AttemptsAreCounted) {
  frame::FrameFormat f = format();
  f.grants.harq_processes = 2;
  const frame::Frame frame(f);
  Exchange exchange(frame, Direction::Downlink, 4);
  std::vector<Problem> problems;
  const auto schedule = [&](std::uint32_t number, bool again) {
    std::vector<std::uint32_t> list;
    test::append(list, {.user = 1, .blocks = 2, .harq_process = 1, .again = again});
    problems.clear();
    return exchange.schedule(number, list, problems) == Refusal::None && problems.empty();
  };
  const auto receive = [&](std::uint32_t number, Verdict verdict, Tick at) {
    const std::vector<std::uint8_t> bits(100);
    (void)exchange.hold(number);
    exchange.take({number, 0}, 0, {});
    exchange.receive({number, 0}, {.block = 0, .verdict = verdict, .at = at, .bits = bits});
    exchange.release({number, 0});
    exchange.release(number);
  };
  exchange.take({0, 0}, 0, {});
  ASSERT_TRUE(schedule(1, false));
  EXPECT_FALSE(schedule(2, true)) << "it is under way";
  receive(1, Verdict::Failed, 1000);
  ASSERT_TRUE(schedule(3, true));
  receive(3, Verdict::Late, 2000);
  ASSERT_TRUE(schedule(4, true));
  receive(4, Verdict::Good, 3500);
  ASSERT_TRUE(schedule(5, false));
  receive(5, Verdict::Good, 4000);
  ASSERT_TRUE(schedule(6, false));
  // Its frame never comes: the place goes to a later one.
  exchange.take({6 + exchange.places() - 1, 0}, 0, {});
  ASSERT_TRUE(schedule(6 + exchange.places(), false));
  const auto counters = exchange.harq();
  EXPECT_EQ(counters.blocks, (std::array<std::uint64_t, 4>{2, 1, 1, 0}));
  EXPECT_EQ(counters.good, (std::array<std::uint64_t, 4>{1, 0, 1, 0}));
  EXPECT_EQ(counters.good_bits[0], counters.good_bits[2]);
  EXPECT_EQ(counters.again, 2500);
  EXPECT_EQ(counters.again_most, 2500);
}
