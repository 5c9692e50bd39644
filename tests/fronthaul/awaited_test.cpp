// How long packets are known to have been late: what decides whether the network is to blame.
#include <functional>

#include "fronthaul/forwarding.hpp"
#include "fronthaul/ingest.hpp"
#include "support/fronthaul.hpp"

namespace carillon::fronthaul {
namespace {

using test::CheckingSink;

const Layout kLayout = test::small_layout();
constexpr std::uint32_t kPackets = 12;  // of a frame

// Something happens once, after a receiver has looked and before it goes on.
struct Preempted final : ForwardingTransport {
  using ForwardingTransport::ForwardingTransport;
  std::size_t receive(std::uint32_t receiver, std::span<Received> out) noexcept override {
    const std::size_t count = inner_.receive(receiver, out);
    if (meanwhile) std::exchange(meanwhile, nullptr)();
    return count;
  }
  std::function<void()> meanwhile;
};

TEST(UplinkIngest, KnowsSinceWhenAPacketWasAwaited) {
  for (auto& [name, link] : test::each_link(kLayout)) {
    CheckingSink sink(kLayout);
    UplinkIngest ingest(kLayout, *link.baseband, sink, {.paced = false});
    ingest.poll(0);
    test::send_frame(*link.radio, kLayout, 0);
    const Tick sent = now();
    test::poll_for(ingest, kPackets);
    // It lay there when somebody looked, unless the kernel delivered it later.
    EXPECT_LE(ingest.awaited(0, 2), name == "shm" ? sent : ingest.last_packet(0, 2)) << name;
    EXPECT_GT(ingest.awaited(0, 2), 0) << name;
    ingest.release(0);
    ingest.poll(0);
    const Tick before = ingest.caught_up();
    test::send_frame(*link.radio, kLayout, 1);
    test::poll_for(ingest, kPackets);
    EXPECT_GE(ingest.awaited(1, 2), before) << name;
    ingest.release(1);
    EXPECT_EQ(ingest.awaited(1, 2), 0) << name;
  }
}

// As a receiver that polls without end mostly is, when something else takes its core.
TEST(UplinkIngest, WhatComesAfterAReceiverHasLookedIsNotKnownToBeLate) {
  for (auto& [name, link] : test::each_link(kLayout)) {
    CheckingSink sink(kLayout);
    Preempted transport(*link.baseband);
    UplinkIngest ingest(kLayout, transport, sink, {.paced = false});
    Tick sent = 0;
    transport.meanwhile = [&] {
      sent = now();
      test::send_frame(*link.radio, kLayout, 0);
    };
    EXPECT_EQ(ingest.poll(0), 0U) << name;
    EXPECT_LE(ingest.caught_up(), sent) << name;
    test::poll_for(ingest, kPackets);
    EXPECT_LE(ingest.awaited(0, 2), name == "shm" ? sent : ingest.last_packet(0, 2)) << name;
    ingest.release(0);
  }
}

}  // namespace
}  // namespace carillon::fronthaul
