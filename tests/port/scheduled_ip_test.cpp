// IP packets in frames that a scheduler schedules: both ports, the channel between them, and an air
// that is none.
#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "port/control_channel.hpp"
#include "port/ip.hpp"
#include "port/ip_air.hpp"
#include "port/scheduling.hpp"
#include "port/small_cell.hpp"
#include "support/test.hpp"

using namespace carillon;
using frame::Direction;
using frame::Verdict;
using port::ControlChannel;
using port::Exchange;
using port::IpPort;
using port::Refusal;
using port::StationScheduling;
using port::UsersScheduling;
using test::Bytes;
using test::Device;
using test::kFirst;
using test::kServer;
using test::number_of;
using test::packet;

namespace {

constexpr std::uint32_t kUsersAhead = 2;  // frames that they begin before the air
constexpr std::uint32_t kRing = 4;

// Two slots, each with both directions.
frame::FrameFormat format(frame::GrantPolicy policy = frame::GrantPolicy::ProportionalFair) {
  frame::FrameFormat f = small_cell("PPUUUUGDDDUUUUGDDD");
  f.symbols_per_slot = 10;
  f.numerology.fft_size = 512;
  f.numerology.subcarriers = 300;
  f.downlink.block = frame::BlockSpan::Slot;
  f.uplink.mcs_table = f.downlink.mcs_table = frame::McsTable::Qam64;
  f.uplink.mcs_index = f.downlink.mcs_index = {28};
  f.grants.kind = frame::GrantKind::Scheduler;
  f.grants.policy = policy;
  f.ring = kRing;
  return f;
}

template <typename Kind>
struct End {
  End(const frame::Frame& frame, Direction sends, ControlChannel& channel)
      : exchange(frame, sends, kRing + kUsersAhead),
        ip(std::move(device.port), kFirst, frame, exchange,
           std::make_unique<Kind>(frame, exchange, channel)) {}
  const Kind& scheduling() const { return static_cast<const Kind&>(*ip.scheduling()); }

  // What a frame that begins sends: by block, as the frame has them.
  std::vector<Bytes> begin(std::uint32_t number) {
    const auto work = exchange.hold(number);
    std::vector<const std::uint8_t*> bits;
    if (work.program != nullptr)
      bits.resize(work.program->transport_blocks(exchange.sends()).size());
    exchange.take({number, 0}, 0, bits);
    std::vector<Bytes> sent;
    for (std::size_t b = 0; b < bits.size(); ++b) {
      const auto& block = work.program->transport_blocks(exchange.sends())[b];
      sent.emplace_back(bits[b], bits[b] + port::bytes_for(work.program->plan(block).A()));
    }
    return sent;
  }
  void end(std::uint32_t number) {
    exchange.release({number, 0});
    exchange.release(number);
  }

  Device device;
  Exchange exchange;
  IpPort ip;
};

// What a cell and its users do. A block fails whose row needs more than its user's SNR, less what
// noise does to it; without SNRs none does.
struct Air {
  explicit Air(const frame::FrameFormat& format = ::format()) : frame(format) {}
  /// Until frames are scheduled well ahead.
  Air& settled() {
    for (int n = 0; n < 10; ++n) frame_goes();
    return *this;
  }

  void frame_goes(bool users_look = true) {
    server.ip.look();
    if (users_look) users.ip.look();
    goes();
  }
  void goes() {
    const std::uint32_t ahead = number + kUsersAhead;
    sent_up[ahead] = users.begin(ahead);
    const auto down = server.begin(number);
    receive(server, users, sent_up[number]);
    receive(users, server, down);
    server.end(number);
    users.end(number);
    sent_up.erase(number);
    ++number;
  }

  // Who has not the same schedule as the sender receives in vain.
  template <typename To, typename From>
  void receive(To& to, const From& from, const std::vector<Bytes>& sent) {
    const auto work = to.exchange.find(number), theirs = from.exchange.find(number);
    if (work.program == nullptr) return;
    const auto blocks = work.program->transport_blocks(to.exchange.receives());
    for (const std::uint32_t b : test::shuffled(blocks.size(), random)) {
      const phy::TransportPlan& plan = work.program->plan(blocks[b]);
      const double snr_db = snr.empty() ? 30 : snr[blocks[b].user];
      const double needed =
          10 * std::log10(std::exp2(static_cast<double>(plan.A()) / plan.re_count()) - 1) + 3;
      const bool heard = theirs.program != nullptr;
      const bool good = heard && (snr.empty() || snr_db + random.normal_pair()[0] > needed);
      const Bytes nothing(port::bytes_for(plan.A()));
      to.exchange.receive({number, 0}, {.block = b,
                                        .verdict = good ? Verdict::Good : Verdict::Failed,
                                        .at = 0,
                                        .bits = heard ? sent[b] : nothing,
                                        .snr = static_cast<float>(std::pow(10, snr_db / 10))});
      ++received;
    }
  }

  frame::Frame frame;
  ControlChannel channel;
  End<StationScheduling> server{frame, Direction::Downlink, channel};
  End<UsersScheduling> users{frame, Direction::Uplink, channel};
  std::vector<double> snr;  // dB, of each user
  Random random{5};
  std::map<std::uint32_t, std::vector<Bytes>> sent_up;
  std::uint32_t number = 0;
  std::uint64_t received = 0;  // blocks
};

}  // namespace

TEST(ScheduledIp, PacketsArriveInOrderBothWays) {
  for (const auto policy : {frame::GrantPolicy::RoundRobin, frame::GrantPolicy::ProportionalFair}) {
    Air air(format(policy));
    air.settled();
    test::expect_all_in_order(air, 150, 1400);
    for (const IpPort* ip : {&air.server.ip, &air.users.ip})
      EXPECT_EQ(ip->scheduling()->refused(Refusal::Grant), 0U);
    // Each block that was granted was filled, and carried something.
    for (const Exchange* exchange : {&air.server.exchange, &air.users.exchange}) {
      const auto counters = exchange->counters();
      EXPECT_EQ(counters.padded, 0U);
      EXPECT_EQ(counters.accepted, counters.used + counters.unused);
    }
  }
}

TEST(ScheduledIp, WhoHasNothingToSendIsNotScheduled) {
  Air air;
  air.settled();
  for (int n = 0; n < 30; ++n) air.frame_goes();
  EXPECT_EQ(air.received, 0U);
  EXPECT_TRUE(air.users.device.send(packet(kFirst + 1, kServer, 7, 20)));
  for (int n = 0; n < 30; ++n) air.frame_goes();
  EXPECT_EQ(air.received, 1U) << "one block has room for it";
  const auto got = air.server.device.received();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(number_of(got[0]), 7U);
  for (const auto& flow : air.server.scheduling().flows())
    EXPECT_EQ(flow.counters.blocks,
              flow.direction == Direction::Uplink && flow.user == 1 ? 1U : 0U);
}

// Each user's queue is never empty. Who is far gets slower rows, and a tenth of all blocks fails.
TEST(ScheduledIp, LinkAdaptationKeepsTheTargetAndPacketsAddUp) {
  Air air;
  air.settled();
  air.snr = {15, 4};
  std::uint64_t up = 0, down = 0, got_up = 0, got_down = 0;
  std::map<std::pair<bool, std::uint32_t>, std::uint32_t> last;
  bool ordered = true;
  const auto look = [&](const Device& device, bool uplink, std::uint64_t& got) {
    for (const Bytes& bytes : device.received()) {
      std::uint32_t& before = last[{uplink, bytes[uplink ? 15 : 19]}];
      ordered &= number_of(bytes) > before && bytes.size() == 700;
      before = number_of(bytes);
      ++got;
    }
  };
  for (std::uint32_t n = 1; n < 6000; ++n) {
    for (std::uint32_t u = 0; u < 2; ++u) {
      up += air.users.device.send(packet(kFirst + u, kServer, n, 700));
      down += air.server.device.send(packet(kServer, kFirst + u, n, 700));
    }
    air.frame_goes();
    look(air.server.device, true, got_up);
    look(air.users.device, false, got_down);
  }
  air.users.ip.finish();
  air.server.ip.finish();
  look(air.server.device, true, got_up);
  look(air.users.device, false, got_down);
  EXPECT_TRUE(ordered);
  const auto flows = air.server.scheduling().flows();
  ASSERT_EQ(flows.size(), 4U);
  std::uint64_t known = 0;
  for (const auto& flow : flows)
    known += flow.counters.good + flow.counters.failed + flow.counters.late;
  EXPECT_EQ(known, air.received);
  for (const auto& flow : flows) {
    const auto& counters = flow.counters;
    const double bler =
        static_cast<double>(counters.failed) / static_cast<double>(counters.good + counters.failed);
    EXPECT_NEAR(bler, 0.1, 0.03);
    EXPECT_LE(counters.good + counters.failed + counters.late, counters.blocks);
    EXPECT_GE(counters.good + counters.failed + counters.late + 40, counters.blocks) << "on air";
    ASSERT_TRUE(flow.snr_db.has_value());
    EXPECT_NEAR(*flow.snr_db, air.snr[flow.user], 0.1);
  }
  for (const std::size_t d : {0U, 2U}) {
    const auto mcs = [&](std::size_t f) {
      return static_cast<double>(flows[f].counters.mcs_sum) /
             static_cast<double>(flows[f].counters.resource_blocks);
    };
    EXPECT_GT(mcs(d), mcs(d + 1) + 5);
  }
  const auto server = air.server.ip.counters(), users = air.users.ip.counters();
  EXPECT_EQ(server.delivered, got_up);
  EXPECT_EQ(users.delivered, got_down);
  EXPECT_LE(server.delivered + server.broken, users.sent);
  EXPECT_LE(users.delivered + users.broken, server.sent);
  // What is neither waits, in a queue or before it.
  EXPECT_LE(users.sent + users.dropped, up);
  EXPECT_LE(server.sent + server.dropped, down);
  EXPECT_EQ(server.foreign + users.foreign, 0U);
}

// For some frames the users' thread does not get a core: these come to nothing, and packets go on
// with the next ones.
TEST(ScheduledIp, GoesOnAfterUsersThatHeardTooLate) {
  Air air;
  air.settled();
  constexpr std::uint32_t kPackets = 60;
  for (std::uint32_t n = 1; n <= kPackets; ++n)
    EXPECT_TRUE(air.users.device.send(packet(kFirst, kServer, n, 300)));
  std::vector<std::uint32_t> got;
  for (int n = 0; got.empty() || got.back() != kPackets; ++n) {
    air.frame_goes(n < 4 || n > 20);
    for (const Bytes& bytes : air.server.device.received()) got.push_back(number_of(bytes));
  }
  EXPECT_TRUE(std::ranges::is_sorted(got));
  EXPECT_GT(air.users.scheduling().refused(Refusal::Late), 0U);
  EXPECT_EQ(air.users.ip.counters().sent, kPackets);
  // Link adaptation knows that nobody sent these.
  const auto flows = air.server.scheduling().flows();
  EXPECT_GT(flows[0].counters.late, 0U);
  EXPECT_EQ(flows[0].counters.failed, 0U);
  EXPECT_GT(flows[0].offset_db, 0);
}

// As in a run, where nothing waits for them: packets are sent until one has come each way.
TEST(ScheduledIp, ThreadsOfTheirOwnDoTheSame) {
  Air air;
  air.server.ip.start();
  air.users.ip.start();
  bool up = false, down = false;
  for (std::uint32_t n = 1; !up || !down; ++n) {
    (void)air.users.device.send(packet(kFirst, kServer, n, 100));
    (void)air.server.device.send(packet(kServer, kFirst + 1, n, 100));
    // No frame goes before both have looked: however slow they are, they have time to schedule it.
    while (!air.users.device.all_taken() || !air.server.device.all_taken())
      std::this_thread::yield();
    air.goes();
    up |= !air.server.device.received().empty();
    down |= !air.users.device.received().empty();
    (void)air.server.scheduling().flows();
  }
  air.server.ip.finish();
  air.users.ip.finish();
  EXPECT_GT(air.server.ip.counters().delivered, 0U);
  EXPECT_GT(air.users.ip.counters().delivered, 0U);
}

TEST(ScheduledIp, FramesAreScheduledAsFarAheadAsTheyAreShort) {
  const auto lead = [](double spacing_khz) {
    frame::FrameFormat f = format();
    f.numerology.spacing_khz = spacing_khz;
    f.numerology.prefix = frame::PrefixKind::Constant;
    const frame::Frame frame(f);
    Exchange exchange(frame, Direction::Downlink, kRing);
    ControlChannel channel;
    return StationScheduling(frame, exchange, channel).lead();
  };
  EXPECT_EQ(lead(7.5), 7U) << "2.6 ms: 10 ms are four of them";
  EXPECT_EQ(lead(1.5), 4U);
  EXPECT_EQ(lead(15), Exchange::kAhead);
}

TEST(ControlChannel, AnEndThatDoesNotLookAnyMoreCostsNoMemory) {
  ControlChannel channel;
  for (std::uint32_t n = 0; n < 100'000; ++n) {
    channel.grant(n, std::vector<std::uint32_t>(13, n));
    channel.hear({.user = n % 2, .verdict = Verdict::Good, .snr_db = {}});
  }
  const auto grants = channel.grants();
  EXPECT_EQ(grants.size(), ControlChannel::kMostGrants);
  const auto missed = channel.missed();  // the last of those that were forgotten
  EXPECT_EQ(missed.size(), ControlChannel::kMostGrants);
  EXPECT_EQ(missed.back() + 1, grants.front().frame);
  EXPECT_EQ(grants.back().frame, 99'999U);
  EXPECT_EQ(grants.back().list.size(), 13U);
  EXPECT_EQ(channel.heard().size(), ControlChannel::kMostHeard);
  EXPECT_TRUE(channel.grants().empty());
  EXPECT_FALSE(channel.status().has_value());
}
