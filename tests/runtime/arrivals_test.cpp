#include "runtime/arrivals.hpp"

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "support/test.hpp"

namespace carillon::runtime {
namespace {

Graph one_instruction(std::uint32_t items) {
  GraphBuilder builder;
  builder.add({.feed = Feed::Arrivals, .chunks = items});
  builder.add({.chunks = 5});
  return std::move(*builder.build().graph);
}

TEST(Arrivals, ListItemsInTheOrderTheyCame) {
  const Graph graph = one_instruction(100);
  Arrivals arrivals(graph, 2);
  EXPECT_TRUE(arrivals.add(1, 0, 70, 100).first);
  EXPECT_FALSE(arrivals.add(1, 0, 3, 100).first);
  const std::uint16_t* list = arrivals.list(1, 0);
  EXPECT_EQ(Arrivals::available(list, 0, 100), 2U);
  EXPECT_EQ(list[0], 70);
  EXPECT_EQ(list[1], 3);
  EXPECT_EQ(Arrivals::available(arrivals.list(0, 0), 0, 100), 0U);
}

TEST(Arrivals, TellDuplicatesLateAndUnknownItemsApart) {
  const Graph graph = one_instruction(10);
  Arrivals arrivals(graph, 1);
  EXPECT_TRUE(arrivals.add(0, 0, 4, 8).arrival == Arrival::Accepted);
  EXPECT_TRUE(arrivals.add(0, 0, 4, 8).arrival == Arrival::Duplicate);
  EXPECT_TRUE(arrivals.add(0, 0, 8, 8).arrival == Arrival::Unknown);
  EXPECT_TRUE(arrivals.add(0, 1, 0, 5).arrival == Arrival::Unknown);
  EXPECT_EQ(arrivals.close(0, 0, 8), 7U);
  EXPECT_TRUE(arrivals.add(0, 0, 5, 8).arrival == Arrival::Late);
  EXPECT_TRUE(arrivals.add(0, 0, 4, 8).arrival == Arrival::Duplicate);
  EXPECT_EQ(arrivals.close(0, 0, 8), 0U);
  EXPECT_EQ(arrivals.taken(0, 0), 8U);
}

TEST(Arrivals, ClosingFeedsWhatIsMissingMarked) {
  const Graph graph = one_instruction(3);
  Arrivals arrivals(graph, 1);
  arrivals.add(0, 0, 1, 3);
  EXPECT_EQ(arrivals.close(0, 0, 3), 2U);
  const std::uint16_t* list = arrivals.list(0, 0);
  ASSERT_EQ(Arrivals::available(list, 0, 3), 3U);
  EXPECT_EQ(list[0], 1);
  EXPECT_EQ(list[1], 0 | kMissing);
  EXPECT_EQ(list[2], 2 | kMissing);
  arrivals.clear(0);
  EXPECT_EQ(Arrivals::available(list, 0, 3), 0U);
  EXPECT_TRUE(arrivals.add(0, 0, 2, 3).arrival == Arrival::Accepted);
}

TEST(Arrivals, EveryItemIsTakenOnceHoweverManyReceiversSendIt) {
  constexpr std::uint32_t kItems = 2000;
  const Graph graph = one_instruction(kItems);
  Arrivals arrivals(graph, 1);
  std::atomic<std::uint32_t> accepted{0}, firsts{0};
  std::vector<std::thread> receivers;
  for (std::uint32_t r = 0; r < 3; ++r) {
    receivers.emplace_back([&, r] {
      for (std::uint32_t i = 0; i < kItems; ++i) {
        const auto added = arrivals.add(0, 0, (i + r * 700) % kItems, kItems);
        accepted += added.arrival == Arrival::Accepted;
        firsts += added.first;
      }
    });
  }
  // Reads along while the list grows, as a worker does.
  const std::uint16_t* list = arrivals.list(0, 0);
  std::set<std::uint16_t> seen;
  for (std::uint32_t next = 0; next < kItems;) {
    const std::uint32_t count = Arrivals::available(list, next, kItems - next);
    for (std::uint32_t i = 0; i < count; ++i) seen.insert(list[next++]);
    std::this_thread::yield();
  }
  for (std::thread& receiver : receivers) receiver.join();
  EXPECT_EQ(accepted.load(), kItems);
  EXPECT_EQ(firsts.load(), 1U);
  EXPECT_EQ(seen.size(), std::size_t{kItems});
}

}  // namespace
}  // namespace carillon::runtime
