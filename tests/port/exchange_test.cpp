#include "port/exchange.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "frame/frame.hpp"
#include "frame/grants.hpp"
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

struct Cell {
  std::vector<const std::uint8_t*> begin(std::uint32_t number, Tick air_start = 0) {
    std::vector<const std::uint8_t*> bits(blocks());
    exchange.take({number, 0}, air_start, bits);
    return bits;
  }
  std::size_t blocks(Direction d = Direction::Downlink) const {
    return frame.program().transport_blocks(d).size();
  }
  std::size_t bytes(std::uint32_t block) const {
    return port::bytes_for(
        frame.program().plan(frame.program().transport_blocks(Direction::Downlink)[block]).A());
  }
  Message message(std::uint32_t number, std::uint32_t block) const {
    return port::message_of(MessageType::Bits, frame, frame.program(number), Direction::Downlink,
                            number, block);
  }
  // What the owner gives for a block, told by its frame and number.
  std::vector<std::uint8_t> pattern(std::uint32_t number, std::uint32_t block) const {
    std::vector<std::uint8_t> bits(bytes(block));
    for (std::size_t i = 0; i < bits.size(); ++i)
      bits[i] = static_cast<std::uint8_t>(31 * number + 7 * block + i);
    if (const std::uint32_t spare = message(number, block).bits % 8; spare != 0)
      bits.back() &= static_cast<std::uint8_t>(0xff << (8 - spare));
    return bits;
  }
  Refusal give(std::uint32_t number, std::uint32_t block) {
    return exchange.offer(message(number, block), pattern(number, block));
  }
  bool has(const std::uint8_t* bits, std::uint32_t number, std::uint32_t block) const {
    return std::ranges::equal(pattern(number, block), std::span(bits, bytes(block)));
  }
  bool is_padding(const std::uint8_t* bits, std::uint32_t block) const {
    return std::ranges::all_of(std::span(bits, bytes(block)), [](auto byte) { return byte == 0; });
  }

  frame::Frame frame{small_cell()};
  Exchange exchange{frame, Direction::Downlink, 4};
};

frame::ReceivedTransportBlock received(std::uint32_t block, Verdict verdict,
                                       std::span<const std::uint8_t> bits) {
  return {.block = block, .verdict = verdict, .at = 77, .bits = bits};
}

}  // namespace

// Frames that differ have blocks of their own, by their number.
TEST(Exchange, TakesTheBlocksThatAFrameHas) {
  frame::FrameFormat f = small_cell();
  constexpr auto kDown = Direction::Downlink;
  f.grants = test::listed({{0, 0, kDown, 0, 6}, {1, 0, kDown, 0, 6}, {0, 1, kDown, 0, 2}}, 3);
  const frame::Frame frame(f);
  Exchange exchange(frame, kDown, 4);
  const auto blocks = [&](std::uint32_t n) { return frame.program(n).transport_blocks(kDown); };
  ASSERT_EQ(blocks(0).size(), 6U);
  ASSERT_EQ(blocks(1).size(), 3U);
  ASSERT_EQ(blocks(2).size(), 0U);
  std::vector<const std::uint8_t*> bits(6);
  const auto take = [&](std::uint32_t n) {
    exchange.take({n, 0}, 0, std::span(bits).first(blocks(n).size()));
  };
  const auto give = [&](std::uint32_t n, std::uint32_t b, std::uint32_t of) {
    Message message = port::message_of(MessageType::Bits, frame, frame.program(of), kDown, of, b);
    message.frame = n;
    return exchange.offer(message, std::vector<std::uint8_t>(port::bytes_for(message.bits), 1));
  };
  take(0);
  EXPECT_EQ(give(1, 0, 1), Refusal::None);
  EXPECT_EQ(give(1, 1, 0), Refusal::Bits) << "of a block as long as another frame's";
  EXPECT_EQ(give(1, 3, 0), Refusal::Block);
  EXPECT_EQ(give(2, 0, 0), Refusal::Block);
  take(1);
  EXPECT_EQ(bits[0][0], 1);
  EXPECT_EQ(bits[1][0], 0);
  take(2);
  exchange.close();
  const auto counters = exchange.counters();
  EXPECT_EQ(counters.used, 1U);
  EXPECT_EQ(counters.used + counters.padded, 6U + 3U + 0U);
}

TEST(Exchange, WhatIsGivenInTimeIsUsedAndTheRestIsPadded) {
  Cell cell;
  cell.begin(9);
  EXPECT_EQ(cell.give(10, 0), Refusal::None);
  EXPECT_EQ(cell.give(10, 3), Refusal::None);
  const auto bits = cell.begin(10);
  for (std::uint32_t b = 0; b < cell.blocks(); ++b) {
    if (b == 0 || b == 3)
      EXPECT_TRUE(cell.has(bits[b], 10, b));
    else
      EXPECT_TRUE(cell.is_padding(bits[b], b));
  }
  const auto counters = cell.exchange.counters();
  EXPECT_EQ(counters.accepted, 2U);
  EXPECT_EQ(counters.used, 2U);
  EXPECT_EQ(counters.padded, 2 * cell.blocks() - 2);
}

TEST(Exchange, RefusesWhatDoesNotFit) {
  Cell cell;
  EXPECT_EQ(cell.give(1, 0), Refusal::NoFrame);
  cell.begin(0xffff'fffe);  // numbers wrap
  EXPECT_EQ(cell.give(0xffff'fffe, 0), Refusal::Late);
  EXPECT_EQ(cell.give(0xffff'fffd, 0), Refusal::Late);
  EXPECT_EQ(cell.give(Exchange::kAhead - 2, 0), Refusal::None);
  EXPECT_EQ(cell.give(Exchange::kAhead - 1, 0), Refusal::Early);
  Message message = cell.message(0, 0);
  const auto pattern = cell.pattern(0, 0);
  const std::span<const std::uint8_t> bits(pattern);
  const auto offer = [&](auto&& change, std::span<const std::uint8_t> piece) {
    Message changed = message;
    change(changed);
    return cell.exchange.offer(changed, piece);
  };
  const auto as_it_is = [](Message&) {};
  EXPECT_EQ(offer([&](Message& m) { m.block = static_cast<std::uint32_t>(cell.blocks()); }, bits),
            Refusal::Block);
  EXPECT_EQ(offer([](Message& m) { ++m.bits; }, bits), Refusal::Bits);
  EXPECT_EQ(offer([](Message& m) { m.offset = 1; }, bits), Refusal::Bits);
  EXPECT_EQ(offer([](Message& m) { m.offset = 0xffff'ffff; }, bits), Refusal::Bits);
  EXPECT_EQ(offer(as_it_is, {}), Refusal::Bits);
  EXPECT_EQ(offer([](Message& m) { m.offset = 2; }, bits.subspan(2)), Refusal::Order);
  EXPECT_EQ(offer(as_it_is, bits.first(2)), Refusal::None);
  EXPECT_EQ(offer(as_it_is, bits), Refusal::Order);
  EXPECT_EQ(offer([](Message& m) { m.offset = 2; }, bits.subspan(2)), Refusal::None);
  EXPECT_EQ(offer(as_it_is, bits), Refusal::Order);  // all of it is there
  EXPECT_EQ(cell.exchange.counters().accepted, 2U);
}

TEST(Exchange, APieceThatLacksIsPadding) {
  Cell cell;
  cell.begin(0);
  const auto pattern = cell.pattern(1, 0);
  EXPECT_EQ(cell.exchange.offer(cell.message(1, 0), std::span(pattern).first(2)), Refusal::None);
  const auto bits = cell.begin(1);
  Message rest = cell.message(1, 0);
  rest.offset = 2;
  EXPECT_EQ(cell.exchange.offer(rest, std::span(pattern).subspan(2)), Refusal::Late);
  EXPECT_TRUE(cell.is_padding(bits[0], 0));
  EXPECT_EQ(cell.exchange.counters().accepted, 0U);
}

TEST(Exchange, WhatAFrameThatNeverBeganWasToCarryIsUnused) {
  Cell cell;
  cell.begin(0);
  EXPECT_EQ(cell.give(2, 0), Refusal::None);
  EXPECT_EQ(cell.give(2, 1), Refusal::None);
  EXPECT_EQ(cell.give(3, 0), Refusal::None);
  cell.begin(3);
  const std::uint32_t places = 16;  // for frames that may be held or ahead: 4 + 8, and their round
  for (std::uint32_t n = 4; n <= places + 1; ++n) cell.begin(n);
  EXPECT_EQ(cell.give(2 + places, 1), Refusal::None);  // in the place of frame 2
  EXPECT_EQ(cell.exchange.counters().unused, 2U);
  cell.exchange.close();
  const auto counters = cell.exchange.counters();
  EXPECT_EQ(counters.accepted, 4U);
  EXPECT_EQ(counters.used, 1U);
  EXPECT_EQ(counters.unused, 3U);
}

TEST(Exchange, AFrameThatIsHeldKeepsItsPlace) {
  Cell cell;
  cell.begin(0);
  EXPECT_EQ(cell.give(1, 0), Refusal::None);
  const auto bits = cell.begin(1);
  for (std::uint32_t n = 2; n < 16; ++n) cell.begin(n);
  EXPECT_EQ(cell.give(17, 0), Refusal::Early);
  EXPECT_TRUE(cell.has(bits[0], 1, 0));
  cell.exchange.release({1, 1});
  EXPECT_EQ(cell.give(17, 0), Refusal::None);
}

TEST(Exchange, TellsTheNewestFrameOnce) {
  Cell cell;
  EXPECT_FALSE(cell.exchange.newest());
  cell.begin(4, 400);
  cell.begin(5, 500);
  const auto newest = cell.exchange.newest();
  ASSERT_TRUE(newest);
  EXPECT_EQ(newest->frame, 5U);
  EXPECT_EQ(newest->air_start, 500);
  EXPECT_FALSE(cell.exchange.newest());
}

TEST(Exchange, HandsOutUplinkBlocksInOrderWithTheirBits) {
  Cell cell;
  const auto blocks = cell.frame.program().transport_blocks(Direction::Uplink);
  const std::vector<std::uint8_t> bits(port::bytes_for(cell.frame.program().plan(blocks[0]).A()),
                                       0xa5);
  cell.exchange.receive({7, 0}, received(0, Verdict::Good, bits));
  cell.exchange.receive({7, 0}, received(1, Verdict::Late, {}));
  const Message* first = cell.exchange.front();
  ASSERT_TRUE(first != nullptr);
  EXPECT_EQ(first->frame, 7U);
  EXPECT_EQ(first->block, 0U);
  EXPECT_EQ(first->user, blocks[0].user);
  EXPECT_EQ(first->verdict, static_cast<std::uint8_t>(Verdict::Good));
  EXPECT_EQ(first->time, 77);
  EXPECT_TRUE(std::ranges::equal(cell.exchange.bits(), bits));
  cell.exchange.pop();
  ASSERT_TRUE(cell.exchange.front() != nullptr);
  EXPECT_EQ(cell.exchange.front()->block, 1U);
  EXPECT_TRUE(cell.exchange.bits().empty());
  cell.exchange.pop();
  EXPECT_TRUE(cell.exchange.front() == nullptr);
}

TEST(Exchange, AFullQueueDropsWhatCame) {
  Cell cell;
  const auto blocks = cell.frame.program().transport_blocks(Direction::Uplink);
  const std::vector<std::uint8_t> bits(port::bytes_for(cell.frame.program().plan(blocks[0]).A()),
                                       1);
  for (std::uint32_t n = 0; n < 4096; ++n)
    cell.exchange.receive({n, 0}, received(0, n % 2 == 0 ? Verdict::Good : Verdict::Failed, bits));
  const auto counters = cell.exchange.counters();
  EXPECT_EQ(counters.good + counters.failed, 4096U);
  EXPECT_GT(counters.dropped, 0U);
  std::uint64_t fetched = 0;
  for (; cell.exchange.front() != nullptr; cell.exchange.pop()) {
    EXPECT_EQ(cell.exchange.front()->frame, fetched++);
  }
  EXPECT_EQ(fetched + counters.dropped, 4096U);
}

// Whatever the two threads' order, a block is whole or padding, and each is counted once.
TEST(Exchange, IsWholeWhateverTheOwnersPace) {
  constexpr std::uint32_t kFrames = 4000;
  Cell cell;
  std::atomic<std::uint32_t> begun{0};
  std::atomic<bool> done{false};
  cell.begin(0);
  std::thread owner([&] {
    for (std::uint32_t next = 1; !done.load(std::memory_order_acquire);) {
      const std::uint32_t now = begun.load(std::memory_order_acquire);
      next = std::max(next, now);  // sometimes just too late
      if (next > now + Exchange::kAhead) continue;
      for (std::uint32_t b = 0; b < cell.blocks(); ++b) (void)cell.give(next, b);
      ++next;
    }
  });
  std::uint64_t wrong = 0;
  for (std::uint32_t n = 1; n <= kFrames; ++n) {
    const auto bits = cell.begin(n);
    begun.store(n, std::memory_order_release);
    for (std::uint32_t b = 0; b < cell.blocks(); ++b)
      wrong += !cell.has(bits[b], n, b) && !cell.is_padding(bits[b], b);
    cell.exchange.release({n, 0});
  }
  done.store(true, std::memory_order_release);
  owner.join();
  cell.exchange.close();
  EXPECT_EQ(wrong, 0U);
  const auto counters = cell.exchange.counters();
  EXPECT_EQ(counters.used + counters.padded, (kFrames + 1) * cell.blocks());
  EXPECT_EQ(counters.accepted, counters.used + counters.unused);
}
