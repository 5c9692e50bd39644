// What is said about samples arrives where they do; parameters change at the sample that is named;
// devices are waited for; a block that wants no more ends.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "dataflow/blocks/type.hpp"
#include "dataflow/executor.hpp"

namespace carillon::dataflow {
namespace {

// Counts, and tags what its `tags` say.
class Counting final : public Block {
 public:
  explicit Counting(std::vector<Tag> tags) : Block({{}, Output{Items::Real}}), tags_(tags) {}
  void execute(const float* const*, float* out, std::size_t count) noexcept override {
    for (Tag tag : tags_)
      if (tag.position >= made_ && tag.position < made_ + count) {
        tag.position -= made_;
        tags_out.add(tag);
      }
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<float>(made_++);
  }

 private:
  std::vector<Tag> tags_;
  std::uint64_t made_ = 0;
};

// Keeps each fifth sample times a factor that changes.
class Fifth final : public Block {
 public:
  Fifth() : Block({{{Items::Real, 5, 5}}, Output{Items::Real}}) {}
  void execute(const float* const* in, float* out, std::size_t count) noexcept override {
    for (std::size_t i = 0; i < count; ++i) out[i] = factor_ * in[0][5 * i];
  }
  void set(std::string_view, double value) noexcept override {
    factor_ = static_cast<float>(value);
  }

 private:
  float factor_ = 1;
};

class Keeping final : public Block {
 public:
  Keeping() : Block({{{Items::Real}}, {}}) {}
  void execute(const float* const* in, float*, std::size_t count) noexcept override {
    for (Tag tag : tags_in) {
      tag.position += samples.size();
      tags.push_back(tag);
    }
    samples.insert(samples.end(), in[0], in[0] + count);
  }

  std::vector<float> samples;
  std::vector<Tag> tags;
};

Graph chain() {
  return Graph({{{"source", {}, {1'000'000, 1}}, {"fifth", {}, {}}, {"sink", {}, {}}},
                {{0, 1, 1, 5, 5}, {1, 2, 1, 1, 1}}});
}

constexpr std::uint64_t kSamples = 1000;

ExecutorOptions saturated() {
  return {.paced = false, .executions = {kSamples, 0, 0}, .workers = 2};
}

TEST(Tags, TravelThroughChangesOfRate) {
  std::vector<Tag> tags{{0, TagKind::Rate, 1e6, {}},
                        {12, TagKind::Overflow, 30, {}},
                        annotation(499, 100, "a burst"),
                        {999, TagKind::Frequency, 4.5e8, {}}};
  const Graph graph = chain();
  for (const std::uint64_t batch : {1U, 7U, 64U}) {
    Counting source(tags);
    Fifth fifth;
    Keeping sink;
    Executor executor(graph, {batch, batch, 3}, {&source, &fifth, &sink}, saturated());
    std::thread second(&Executor::work, &executor, 1);
    executor.work();
    second.join();
    ASSERT_EQ(sink.samples.size(), kSamples / 5);
    ASSERT_EQ(sink.tags.size(), 4U) << batch;
    const std::vector<std::uint64_t> places{0, 2, 99, 199};
    const std::vector<double> values{2e5, 6, 20, 4.5e8};
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(sink.tags[i].position, places[i]) << batch;
      EXPECT_EQ(sink.tags[i].kind, tags[i].kind);
      EXPECT_EQ(sink.tags[i].value, values[i]);
    }
    EXPECT_EQ(sink.tags[2].said(), "a burst");
    for (NodeId node = 0; node < 3; ++node) EXPECT_EQ(executor.account(node).lost_tags, 0U);
  }
}

// Each on its sample; what was said before the first that is left holds from there on.
TEST(Tags, StayWithTheirSamplesWhereTheFirstAreLeftOut) {
  const Graph graph({{{"source", {}, {1'000'000, 1}}, {"skip", {}, {}}, {"sink", {}, {}}},
                     {{0, 1, 1, 11, 1}, {1, 2, 1, 1, 1}}});
  for (const std::uint64_t batch : {1U, 7U, 64U}) {
    Counting source({{0, TagKind::Time, 1000, {}},
                     {0, TagKind::Rate, 1e6, {}},
                     {3, TagKind::Overflow, 7, {}},
                     annotation(4, 5, "over before"),
                     annotation(5, 20, "goes on"),
                     {10, TagKind::Frequency, 1e8, {}},
                     annotation(11, 2, "second"),
                     annotation(500, 2, "later")});
    const auto skip = make_block("skip", {{"count", std::int64_t{10}}, {"samples", "real"}});
    Keeping sink;
    Executor executor(graph, {batch, batch, 3}, {&source, skip.get(), &sink}, saturated());
    executor.work();
    ASSERT_EQ(sink.samples.size(), kSamples - 10);
    ASSERT_EQ(sink.tags.size(), 6U) << batch;
    EXPECT_DOUBLE_EQ(sink.tags[0].value, 1000 + 10e-6);
    EXPECT_EQ(sink.tags[1].value, 1e6);
    EXPECT_EQ(sink.tags[2].value, 15);
    EXPECT_EQ(sink.tags[3].value, 1e8);
    const std::vector<std::uint64_t> places{0, 0, 0, 0, 1, 490};
    for (std::size_t i = 0; i < places.size(); ++i)
      EXPECT_EQ(sink.tags[i].position, places[i]) << batch;
  }
}

TEST(Tags, ThoseForWhichThereIsNoRoomAreCounted) {
  TagQueue queue(2);
  for (std::uint64_t i = 0; i < kMostTags + 3; ++i) queue.put(annotation(i, 1, "x"));
  EXPECT_EQ(queue.lost(), 3U);
  EXPECT_EQ(queue.next(0, 0), nullptr);
  ASSERT_NE(queue.next(0, 1), nullptr);
  queue.take(0);
  queue.put(annotation(kMostTags + 3, 1, "x"));  // the other reader has not taken it
  EXPECT_EQ(queue.lost(), 4U);
}

// Those of both inputs, at their samples.
TEST(Tags, OfSeveralInputsComeInOrder) {
  const Graph graph({{{"one", {}, {1'000'000, 1}},
                      {"other", {}, {1'000'000, 1}},
                      {"sum", {}, {}},
                      {"sink", {}, {}}},
                     {{0, 2}, {1, 2}, {2, 3}}});
  for (const std::uint64_t batch : {1U, 7U, 500U}) {
    Counting one({annotation(3, 1, "a"), annotation(250, 1, "c")});
    Counting other({annotation(5, 1, "b"), {400, TagKind::Overflow, 7, {}}});
    const auto sum = make_block("add-two", {{"samples", "real"}});
    Keeping sink;
    Executor executor(graph, {batch, batch, batch, 1}, {&one, &other, sum.get(), &sink},
                      {.paced = false, .executions = {kSamples, kSamples, 0, 0}});
    executor.work();
    std::vector<std::uint64_t> places;
    for (const Tag& tag : sink.tags) places.push_back(tag.position);
    EXPECT_EQ(places, (std::vector<std::uint64_t>{3, 5, 250, 400})) << batch;
  }
}

// Also of a job that has more of them than there is room for.
TEST(Tags, NoneIsLostUncounted) {
  const Graph graph = chain();
  for (const std::size_t count : {std::size_t{100}, kMostTags + 40}) {
    std::vector<Tag> tags;
    for (std::uint64_t i = 0; i < count; ++i) tags.push_back(annotation(i, 1, "mark"));
    Counting source(tags);
    Fifth fifth;
    Keeping sink;
    Executor executor(graph, {500, 1, 1}, {&source, &fifth, &sink}, saturated());
    executor.work();
    std::uint64_t lost = 0;
    for (NodeId node = 0; node < 3; ++node) lost += executor.account(node).lost_tags;
    EXPECT_EQ(sink.tags.size() + lost, count);
    EXPECT_EQ(lost > 0, count > kMostTags);
  }
}

TEST(Parameters, ChangeAtTheExecutionThatIsNamed) {
  const Graph graph = chain();
  for (const std::uint64_t at : {0U, 1U, 63U, 64U, 130U}) {
    Counting source({});
    Fifth fifth;
    Keeping sink;
    Executor executor(graph, {64, 64, 64}, {&source, &fifth, &sink}, saturated());
    ASSERT_TRUE(executor.change(1, {"factor", -2, at}));
    executor.work();
    EXPECT_EQ(executor.account(1).changes, 1U);
    EXPECT_EQ(executor.account(1).late_changes, 0U);
    for (std::size_t i = 0; i < sink.samples.size(); ++i)
      ASSERT_EQ(sink.samples[i], (i < at ? 1.0F : -2.0F) * static_cast<float>(5 * i)) << at;
  }
}

// Whatever the order in which they are asked for, and however many are in a job.
TEST(Parameters, ChangeOneAfterTheOther) {
  constexpr std::uint64_t kRoom = ExecutorOptions{}.changes;
  const Graph graph = chain();
  for (const std::uint64_t batch : {1U, 10U, 200U}) {
    Counting source({});
    Fifth fifth;
    Keeping sink;
    Executor executor(graph, {batch, batch, batch}, {&source, &fifth, &sink}, saturated());
    std::uint64_t asked = 0;
    for (std::uint64_t i = 0; i < kRoom; ++i, ++asked) {
      const std::uint64_t at = (i * 37) % kRoom;  // each once
      ASSERT_TRUE(executor.change(1, {"factor", static_cast<double>(at + 1), at}));
    }
    EXPECT_FALSE(executor.change(1, {"factor", 0, 5}));  // there is no room
    executor.work();
    EXPECT_EQ(executor.account(1).changes, asked);
    EXPECT_EQ(executor.account(1).late_changes, 0U);
    for (std::size_t i = 0; i < sink.samples.size(); ++i) {
      const auto factor = static_cast<float>(std::min<std::size_t>(i + 1, kRoom));
      ASSERT_EQ(sink.samples[i], factor * static_cast<float>(5 * i)) << batch;
    }
  }
}

TEST(Parameters, ChangesAreMadeInOrderAndCounted) {
  Changes changes(3);
  EXPECT_EQ(changes.next(100), nullptr);
  for (const double value : {1.0, 2.0}) EXPECT_TRUE(changes.add({"x", value, 50}));
  EXPECT_TRUE(changes.add({"x", 3, 0}));
  const auto make = [&](std::uint64_t at) {
    const double value = changes.next(at + 1)->value;
    changes.made(at);
    return value;
  };
  EXPECT_EQ(make(7), 3);  // whenever that is: not late
  EXPECT_EQ(changes.next(50), nullptr);
  EXPECT_EQ(make(50), 1);
  EXPECT_EQ(changes.late(), 0U);
  EXPECT_EQ(make(51), 2);
  EXPECT_EQ(changes.late(), 1U);
  EXPECT_EQ(changes.all_made(), 3U);
}

// Gives what it is told to have, and is over when told.
class Device final : public Block {
 public:
  Device() : Block({{}, Output{Items::Real}}) {}
  void execute(const float* const*, float* out, std::size_t count) noexcept override {
    for (std::size_t i = 0; i < count; ++i) out[i] = 1;
    given += count;
  }
  bool has_device() const noexcept override { return true; }
  std::uint64_t ready() noexcept override { return there.load() - given; }
  bool over() noexcept override { return ended.load(); }

  std::atomic<std::uint64_t> there{0}, given{0};
  std::atomic<bool> ended{false};
};

TEST(Devices, AreWaitedForAndGiveTheirLastSamples) {
  const Graph graph = chain();
  for (const bool paced : {true, false}) {
    Device source;
    Fifth fifth;
    Keeping sink;
    Executor executor(graph, {50, 10, 10}, {&source, &fifth, &sink},
                      {.paced = paced, .workers = 2});
    std::thread first(&Executor::work, &executor, 0), second(&Executor::work, &executor, 1);
    for (const std::uint64_t more : {49U, 1U, 100U}) {
      source.there += more;
      while (source.given.load() < source.there.load() / 50 * 50) std::this_thread::yield();
    }
    source.there += 37;
    source.ended = true;
    first.join();
    second.join();
    EXPECT_EQ(source.given, 187U);
    EXPECT_EQ(sink.samples.size(), 37U);
    EXPECT_EQ(executor.left(0), 2U);
  }
}

std::unique_ptr<Block> head(std::int64_t count) {
  return make_block("head", {{"count", count}, {"samples", "real"}});
}

// Of two threads, until all has ended.
void work(Executor& executor) {
  std::thread second(&Executor::work, &executor, 1);
  executor.work();
  second.join();
}

TEST(Ends, AHeadEndsWhatComesBeforeAndAfterIt) {
  const Graph graph(
      {{{"source", {}, {1'000'000, 1}}, {"head", {}, {}}, {"sink", {}, {}}}, {{0, 1}, {1, 2}}});
  for (const bool paced : {true, false})
    for (const std::uint64_t batch : {1U, 7U, 64U}) {
      Counting source({annotation(1002, 1, "last"), annotation(1003, 1, "too late")});
      const auto first = head(1003);
      Keeping sink;
      Executor executor(graph, {7, batch, 5}, {&source, first.get(), &sink},
                        {.paced = paced, .workers = 2});
      work(executor);
      ASSERT_EQ(sink.samples.size(), 1003U) << batch;
      EXPECT_EQ(sink.samples.back(), 1002);
      EXPECT_EQ(executor.account(1).executions, 1003U);
      ASSERT_EQ(sink.tags.size(), 1U);
      EXPECT_EQ(sink.tags[0].said(), "last");
      EXPECT_EQ(executor.left(0), 0U);
    }
}

// The others' samples do not wait for a reader that has gone.
TEST(Ends, WhatIsReadElsewhereGoesOnBehindAHead) {
  const Graph graph(
      {{{"source", {}, {1'000'000, 1}}, {"head", {}, {}}, {"sink", {}, {}}, {"all", {}, {}}},
       {{0, 1}, {1, 2}, {0, 3}}});
  std::vector<Tag> tags;
  for (std::uint64_t i = 0; i < 1000; ++i) tags.push_back(annotation(100 * i, 1, "mark"));
  Counting source(tags);
  const auto first = head(10);
  Keeping sink, all;
  Executor executor(graph, {64, 8, 8, 64}, {&source, first.get(), &sink, &all},
                    {.paced = false, .executions = {100'000, 0, 0, 0}, .workers = 2});
  work(executor);
  EXPECT_EQ(sink.samples.size(), 10U);
  EXPECT_EQ(all.samples.size(), 100'000U);
  EXPECT_EQ(all.tags.size(), 1000U);
  EXPECT_EQ(executor.account(0).lost_tags, 0U);
}

TEST(Ends, ABlockOfTwoInputsEndsWithTheShorterOne) {
  const Graph graph({{{"one", {}, {1'000'000, 1}},
                      {"head", {}, {}},
                      {"other", {}, {1'000'000, 1}},
                      {"sum", {}, {}},
                      {"sink", {}, {}}},
                     {{0, 1}, {1, 3}, {2, 3}, {3, 4}}});
  for (const std::uint64_t batch : {1U, 7U, 64U}) {
    Counting one({}), other({});
    const auto first = head(1003), sum = make_block("add-two", {{"samples", "real"}});
    Keeping sink;
    Executor executor(graph, {64, batch, 5, batch, 3},
                      {&one, first.get(), &other, sum.get(), &sink},
                      {.paced = false, .workers = 2});
    work(executor);
    ASSERT_EQ(sink.samples.size(), 1003U) << batch;
    EXPECT_EQ(sink.samples.back(), 2004);
  }
}

}  // namespace
}  // namespace carillon::dataflow
