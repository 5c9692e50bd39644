// Blocks through a network card, which here is a library that stands in for libibverbs: they arrive
// whole and in order, nobody looks before they have, and whatever goes wrong is told.
#include "fronthaul/gpu/direct.hpp"

#include <fcntl.h>

#include <string>

#include "fronthaul/gpu/measure.hpp"
#include "fronthaul/gpu/paths.hpp"
#include "support/fake_verbs.hpp"
#include "support/test.hpp"

namespace {

using namespace carillon;
using namespace carillon::fronthaul::gpu;

const Card kCard{"fake_0", CARILLON_FAKE_VERBS};

test::FakeCard& fresh() { return test::FakeVerbs(CARILLON_FAKE_VERBS).fresh(); }

IngestResult through_the_card(std::uint32_t channels, std::uint32_t bytes, double seconds = 0.01) {
  return measure({Path::CardHost, channels, bytes, seconds, 0, kCard}, nullptr);
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(DirectPath, MovesEverySizeAndNumberOfChannelsWhole) {
  for (const std::uint32_t channels : {1U, 3U, 8U})
    for (const std::uint32_t bytes : {64U, 4096U, 1U << 20}) {
      test::FakeCard& card = fresh();
      const IngestResult result = through_the_card(channels, bytes);
      EXPECT_EQ(result.error, "");
      EXPECT_GE(result.blocks, channels);
      EXPECT_EQ(result.bytes, result.blocks * bytes);
      EXPECT_GE(result.checked, 2 * std::uint64_t{result.slots});
      EXPECT_EQ(result.wrong, 0U) << bytes << " bytes, " << channels << " channels";
      EXPECT_EQ(result.lost_samples, 0U);
      EXPECT_EQ(result.out_of_order, 0U);
      EXPECT_GE(card.writes, result.blocks) << "went past the card";
      EXPECT_EQ(card.reads_done, card.writes);
      EXPECT_EQ(card.alive, 0) << "not given back";
    }
}

TEST(DirectPath, KeepsSeveralBlocksInFlightAndNoMoreThanTheCardTakes) {
  test::FakeCard& card = fresh();
  card.empty_polls = 20;
  EXPECT_EQ(through_the_card(1, 4096).error, "");
  EXPECT_GT(card.most_in_flight, 8U);
  card = {};
  card.empty_polls = 20;
  card.requests = 6;  // two of each block
  const IngestResult result = through_the_card(2, 4096);
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.wrong, 0U);
  EXPECT_EQ(card.most_in_flight, 3U);
}

// The ring of the longest blocks has four slots.
TEST(DirectPath, AShortRingIsNoHarm) {
  test::FakeCard& card = fresh();
  card.empty_polls = 3;
  const IngestResult result = through_the_card(3, 32U << 20, 0);
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.slots, 4U);
  EXPECT_EQ(result.wrong, 0U);
  EXPECT_GE(result.checked, 8U);
}

TEST(DirectPath, ADamagedBlockIsFound) {
  test::FakeCard& card = fresh();
  card.damage_at = 7;
  const IngestResult result = through_the_card(2, 4096);
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.wrong, 1U);
  card = {};
  card.damage_at = 7;
  EXPECT_TRUE(says(try_direct(Path::CardHost, nullptr, kCard), "1 of"));
}

TEST(DirectPath, IsFollowedAtARadiosPace) {
  fresh();
  const IngestResult result = measure({Path::CardHost, 2, 4096, 0.2, 1.0, kCard}, nullptr);
  EXPECT_EQ(result.wrong, 0U);
  EXPECT_LE(static_cast<double>(result.bytes) / result.seconds, 1.3 * 8e6);
  EXPECT_GT(result.bytes, 0U);
}

TEST(DirectPath, InfiniBandNeedsALidAndNoGid) {
  test::FakeCard& card = fresh();
  card.ethernet = card.has_gid = false;
  EXPECT_EQ(through_the_card(1, 4096).error, "");
  card.has_lid = false;
  EXPECT_TRUE(says(through_the_card(1, 4096).error, "port 2 of fake_0 has no LID"));
  EXPECT_EQ(card.alive, 0);
}

// Each thing that a card can lack or refuse, and the words by which it is told.
TEST(DirectPath, WhateverGoesWrongIsTold) {
  struct {
    const char* part;
    void (*change)(test::FakeCard&);
  } const cases[] = {
      {"no RDMA device is called fake_0", [](auto& card) { card.present = false; }},
      {"opening fake_0: Permission denied; may you", [](auto& card) { card.opens = false; }},
      {"no port of fake_0 is active", [](auto& card) { card.active_ports = 0; }},
      {"port 2 of fake_0 has no GID", [](auto& card) { card.has_gid = false; }},
      {"at most 1024 bytes", [](auto& card) { card.message_bytes = 1024; }},
      {"(ulimit -l)", [](auto& card) { card.refuse_registration = 0; }},
      {"where blocks go with fake_0: Bad address",
       [](auto& card) {
         card.refuse_registration = 1;
         card.registration_error = 14;
       }},
      {"registering host memory with fake_0", [](auto& card) { card.refuse_registration = 2; }},
      {"cannot be set up", [](auto& card) { card.refuse_state = 1; }},
      {"cannot find itself", [](auto& card) { card.refuse_state = 2; }},
      {"cannot send", [](auto& card) { card.refuse_state = 3; }},
      {"takes no request for block 5: Invalid", [](auto& card) { card.refuse_post = 5; }},
      {"ended block 6 with 'remote access error' (status 10", [](auto& card) { card.fail_at = 6; }},
      {"'transport retry counter exceeded'", [](auto& card) { card.port_down_at = 9; }},
      {"says nothing of block 2 for 5 s", [](auto& card) { card.silent_at = 3; }},
  };
  for (const auto& [part, change] : cases) {
    test::FakeCard& card = fresh();
    change(card);
    const IngestResult result = through_the_card(1, 4096);
    EXPECT_TRUE(says(result.error, part)) << "'" << result.error << "' is not: " << part;
    EXPECT_EQ(card.alive, 0) << part;
  }
}

TEST(DirectPath, APortThatGoesDownWhileItIsMeasuredIsTold) {
  test::FakeCard& card = fresh();
  card.port_down_at = 600;  // after the first pass of two rings
  EXPECT_TRUE(says(through_the_card(1, 4096, 10).error, "transport retry counter exceeded"));
  EXPECT_EQ(card.alive, 0);
}

TEST(DirectPath, ADmaBufIsRegisteredAsSuchAndItsFileClosed) {
  test::FakeCard& card = fresh();
  for (const bool taken : {true, false}) {
    card.dma_buf = taken;
    BlockRing ring(4, 4096);
    Landing landing = make_host_landing(ring, true);
    const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    landing.dma_buf = Descriptor(file);
    std::string why;
    const auto target = make_direct_target(kCard, ring, std::move(landing), why);
    EXPECT_EQ(target != nullptr, taken);
    EXPECT_EQ(says(why, "Operation not supported"), !taken) << why;
    EXPECT_EQ(::fcntl(file, F_GETFD), -1);
  }
  EXPECT_EQ(card.alive, 0);
}

TEST(DirectPath, ItsRowSaysWhetherTheCardWorks) {
  test::FakeCard& card = fresh();
  const auto row = [] {
    for (const PathState& each : paths_of(look_around("/nowhere", CARILLON_FAKE_VERBS)))
      if (each.name == "card-host") return each;
    return PathState{};
  };
  EXPECT_TRUE(row().ready) << row().why;
  card.active_ports = 0;
  EXPECT_FALSE(row().ready);
  EXPECT_TRUE(says(row().why, "no port of fake_0 is active"));
  card.present = false;
  EXPECT_TRUE(says(row().why, "finds no RDMA device"));
}

TEST(DirectPath, ALibraryThatIsNoneOfVerbsIsNamed) {
  const Verbs found = look_for_verbs("libm.so.6");
  EXPECT_TRUE(says(found.why, "libm.so.6 has no ibv_get_device_list")) << found.why;
  EXPECT_TRUE(found.devices.empty());
}

}  // namespace
