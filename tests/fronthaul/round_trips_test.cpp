#include "fronthaul/round_trips.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "fronthaul/veth.hpp"
#include "support/test.hpp"
#include "support/transport.hpp"

namespace carillon::fronthaul {
namespace {

using test::says;
using test::what;

struct Ends {
  std::unique_ptr<UdpTransport> baseband, radio;
};

UdpOptions options_of(UdpIo io, const RoundTripPlan& plan) {
  UdpOptions options;
  options.io = io;
  options.buffers = 1024;
  options.packet_bytes = plan.packet_bytes();
  options.buffer_bytes = (plan.packet_bytes() + 127) / 64 * 64;
  options.socket_packets = 512;
  return options;
}

void introduce(Ends& ends) {
  ends.baseband->set_peer_ports(ends.radio->ports());
  ends.radio->set_peer_ports(ends.baseband->ports());
}

Ends loopback(UdpIo io, const RoundTripPlan& plan) {
  const UdpOptions options = options_of(io, plan);
  Ends ends{UdpTransport::open(options), UdpTransport::open(options)};
  introduce(ends);
  return ends;
}

// 128 samples are what an MTU of 604 allows.
RoundTripPlan small_plan() {
  RoundTripPlan plan;
  plan.per_s = 5000;
  plan.exchanges = 50;
  plan.packet_samples = 128;
  plan.patience = 60 * kSecond;
  return plan;
}

void all_come_back(Ends& ends, const RoundTripPlan& plan, bool sleeping) {
  const std::uint32_t free = ends.radio->available();
  {
    Echo echo(*ends.baseband, {-1, sleeping, 0});
    RoundTrips trips(*ends.radio, plan);
    trips.run();
    echo.stop();
    EXPECT_EQ(trips.sent(), plan.exchanges);
    EXPECT_EQ(trips.returned(), plan.exchanges);
    EXPECT_EQ(trips.damaged(), 0U);
    EXPECT_EQ(echo.packets(), plan.exchanges * plan.packets());
    EXPECT_EQ(trips.trips().size(), plan.exchanges);
    EXPECT_GT(std::ranges::min(trips.trips()), 0);
    EXPECT_GE(trips.took(), 49 * 200 * kMicrosecond);  // its rate is no higher than asked
  }
  EXPECT_EQ(ends.radio->available(), free);
  EXPECT_EQ(ends.baseband->available(), free);
}

TEST(RoundTrips, EveryExchangeComesBackUnchanged) {
  for (const UdpIo io : {UdpIo::Socket, UdpIo::IoUring})
    for (const bool sleeping : {false, true}) {
      try {
        Ends ends = loopback(io, small_plan());
        all_come_back(ends, small_plan(), sleeping);
      } catch (const std::runtime_error& error) {
        EXPECT_TRUE(io == UdpIo::IoUring && says(error.what(), "io_uring")) << error.what();
      }
    }
}

TEST(RoundTrips, AnExchangeAtThePapersPointIsThreePacketsOrOne) {
  RoundTripPlan plan;
  plan.packet_samples = 128;
  EXPECT_EQ(plan.packets(), 3U);
  EXPECT_EQ(plan.packet_bytes(), 604U - 28);
  plan.packet_samples = 1984;
  EXPECT_EQ(plan.packets(), 1U);
  EXPECT_EQ(plan.packet_bytes(), 64U + 1472);
}

TEST(RoundTrips, HeldPacketsAreReleasedTogether) {
  RoundTripPlan plan = small_plan();
  plan.per_s = 1e6;
  Ends ends = loopback(UdpIo::Socket, plan);
  const Tick held = 3 * kMillisecond;
  Echo echo(*ends.baseband, {-1, false, held});
  RoundTrips trips(*ends.radio, plan);
  trips.run();
  echo.stop();
  EXPECT_EQ(trips.returned(), plan.exchanges);
  EXPECT_GE(std::ranges::max(trips.trips()), held);
  EXPECT_LT(echo.bursts(), echo.packets());
}

TEST(RoundTrips, WhatIsLostOrDamagedIsCounted) {
  RoundTripPlan plan = small_plan();
  plan.exchanges = 2;
  plan.patience = 1;
  Ends ends = loopback(UdpIo::Socket, plan);
  Outgoing packet{{0, 0, 0, 1}, plan.packet_bytes(), ends.baseband->acquire(), 0, false};
  std::fill_n(ends.baseband->samples(packet.buffer), 256, std::int16_t{-1});
  ASSERT_EQ(ends.baseband->send({&packet, 1}), 1U);
  RoundTrips trips(*ends.radio, plan);
  trips.run();  // nobody sends them back
  EXPECT_EQ(trips.sent(), 2U);
  EXPECT_EQ(trips.returned(), 0U);
  EXPECT_EQ(trips.damaged(), 1U);
  for (const Tick trip : trips.trips()) EXPECT_EQ(trip, RoundTrips::kNotBack);
}

TEST(RoundTrips, StopEndsItEarly) {
  RoundTripPlan plan = small_plan();
  plan.per_s = 1e-3;
  Ends ends = loopback(UdpIo::Socket, plan);
  RoundTrips trips(*ends.radio, plan);
  std::thread runs([&] { trips.run(); });
  while (trips.sent() == 0) std::this_thread::yield();
  trips.stop();
  runs.join();
  EXPECT_EQ(trips.sent(), 1U);
}

TEST(RoundTrips, APlanThatCannotBeIsRefused) {
  RoundTripPlan plan = small_plan();
  Ends ends = loopback(UdpIo::Socket, plan);
  plan.packet_samples = 1;
  EXPECT_TRUE(says(what([&] { RoundTrips trips(*ends.radio, plan); }), "64 packets at most"));
}

TEST(VirtualCable, CarriesDatagramsBetweenTwoNamespacesThatFitItsMtu) {
  std::unique_ptr<VirtualCable> cable;
  if (const auto why = what([&] { cable = std::make_unique<VirtualCable>(604); }); !why.empty())
    GTEST_SKIP() << why;
  RoundTripPlan plan = small_plan();
  const auto open = [&](UdpIo io, std::size_t which, std::uint32_t bytes) {
    UdpOptions options = options_of(io, plan);
    options.address = VirtualCable::address(which);
    options.peer_address = VirtualCable::address(1 - which);
    options.packet_bytes = bytes;
    std::unique_ptr<UdpTransport> end;
    cable->end(which).inside([&] { end = UdpTransport::open(options); });
    return end;
  };
  EXPECT_TRUE(says(open(UdpIo::Socket, 0, plan.packet_bytes() + 1)->notes().at(0), "MTU of 604"));
  for (const UdpIo io : {UdpIo::Socket, UdpIo::AfXdp}) {
    Ends ends{open(io, 0, plan.packet_bytes()), open(io, 1, plan.packet_bytes())};
    EXPECT_TRUE(ends.radio->notes().empty());
    introduce(ends);
    all_come_back(ends, plan, true);
  }
}

}  // namespace
}  // namespace carillon::fronthaul
