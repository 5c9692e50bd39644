#include "fronthaul/shm.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <functional>

#include "base/aligned.hpp"
#include "support/fronthaul.hpp"
#include "support/transport.hpp"

namespace carillon::fronthaul {
namespace {

using test::receive;
using test::recycle;
using test::says;
using test::what;

const Layout kLayout = test::small_layout();

std::string unique_name() { return "carillon-test-" + std::to_string(getpid()); }

LinkOptions named() {
  LinkOptions options;
  options.shm_name = unique_name();
  return options;
}

bool exists(const std::string& name) { return access(("/dev/shm/" + name).c_str(), F_OK) == 0; }

TEST(Shm, TwoProcessesExchangePacketsAndLeaveNothingBehind) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  LinkOptions options = named();
  options.shm_name = "carillon-test-" + std::to_string(child == 0 ? getpid() : child);
  if (child == 0) {
    bool good = false;
    {
      const auto radio = open_end(Side::Radio, options, kLayout, {});
      const bool sent = test::send_frame(*radio, kLayout, 3) == 12;
      std::vector<Received> back;
      for (const Tick begin = now(); back.size() < 8 && now() - begin < 10 * kSecond;)
        for (const auto& p : receive(*radio, 8 - back.size())) back.push_back(p);
      good = sent && back.size() == 8;
      for (const auto& p : back)
        good &= test::has_stamps(p.samples, 144, p.ids.frame, p.ids.symbol, p.ids.antenna);
      recycle(*radio, back);
      for (const Tick begin = now();
           radio->available() != radio->buffers() && now() - begin < 10 * kSecond;)
        usleep(1000);
      good &= radio->available() == radio->buffers();
    }
    _exit(good ? 0 : 1);
  }
  {
    const auto baseband = open_end(Side::Baseband, options, kLayout, {});
    std::vector<Received> packets;
    for (const Tick begin = now(); packets.size() < 12 && now() - begin < 10 * kSecond;)
      for (const auto& p : receive(*baseband, 12 - packets.size())) packets.push_back(p);
    EXPECT_EQ(packets.size(), 12U);
    for (const auto& p : packets)
      EXPECT_TRUE(test::has_stamps(p.samples, kLayout.symbols()[p.ids.symbol].samples, 3,
                                   p.ids.symbol, p.ids.antenna));
    recycle(*baseband, packets);
    for (const auto symbol : kLayout.symbols(Carries::Downlink))
      for (std::uint32_t a = 0; a < 4; ++a)
        EXPECT_TRUE(test::send_packet(*baseband, kLayout, 3, symbol, a));
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_FALSE(exists(options.shm_name));
}

TEST(Shm, ANameServesOnePairOnly) {
  const auto options = named();
  const auto radio = open_end(Side::Radio, options, kLayout, {});
  EXPECT_TRUE(exists(options.shm_name));
  EXPECT_TRUE(
      says(what([&] { open_end(Side::Radio, options, kLayout, {}); }), "already has a radio unit"));
  const Layout larger = test::small_layout(8);
  EXPECT_TRUE(says(what([&] { open_end(Side::Baseband, options, larger, {}); }), "another size"));
  const auto baseband = open_end(Side::Baseband, options, kLayout, {});
  EXPECT_EQ(test::send_frame(*radio, kLayout, 0), 12U);
  recycle(*baseband, receive(*baseband, 12));
}

// A process that has been killed; its parent has not asked after it yet, so its number is still
// taken.
class Killed {
 public:
  explicit Killed(const std::function<void()>& work) : child_(fork()) {
    if (child_ == 0) {
      work();
      kill(getpid(), SIGKILL);
    }
    siginfo_t how{};
    waitid(P_PID, static_cast<id_t>(child_), &how, WEXITED | WNOWAIT);
    EXPECT_EQ(how.si_status, SIGKILL);
  }
  Killed(const Killed&) = delete;
  Killed& operator=(const Killed&) = delete;
  ~Killed() { waitpid(child_, nullptr, 0); }

 private:
  pid_t child_;
};

TEST(Shm, WhatDeadProcessesLeftIsReplacedOfWhateverSize) {
  const auto options = named();
  for (const std::uint32_t antennas : {4U, 8U, 2U}) {
    const Killed killed([&] {
      static_cast<void>(open_end(Side::Radio, options, test::small_layout(antennas), {}).release());
    });
    EXPECT_TRUE(exists(options.shm_name));
    {
      const auto radio = open_end(Side::Radio, options, kLayout, {});
      const auto baseband = open_end(Side::Baseband, options, kLayout, {});
      EXPECT_EQ(test::send_frame(*radio, kLayout, 0), 12U);
      const auto packets = receive(*baseband, 12);
      EXPECT_EQ(packets.size(), 12U);
      recycle(*baseband, packets);
    }
    EXPECT_FALSE(exists(options.shm_name));
  }
}

Side other(Side side) { return side == Side::Radio ? Side::Baseband : Side::Radio; }
std::uint32_t symbol_from(Side side) { return side == Side::Radio ? 1 : 4; }

bool all_arrives(Transport& from, Side side, Transport& to, std::uint32_t frame) {
  for (std::uint32_t a = 0; a < 4; ++a)
    if (!test::send_packet(from, kLayout, frame, symbol_from(side), a)) return false;
  const auto packets = receive(to, 4);
  recycle(to, packets);
  for (std::uint32_t a = 0; a < packets.size(); ++a)
    if (!test::has_stamps(packets[a].samples, 144, frame, symbol_from(side), a)) return false;
  return packets.size() == 4;
}

// What a process leaves that is killed when it has just claimed a place in the uplink's ring, which
// begins behind the first page: not filled by the radio unit, not freed by the baseband unit.
void claim_in_uplink(const std::string& name, Side side) {
  const int file = open(("/dev/shm/" + name).c_str(), O_RDWR);
  void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 4096);
  auto* const tail = static_cast<std::atomic<std::uint64_t>*>(page);
  auto* const head = tail + kCacheLine / sizeof *tail;
  ++*(side == Side::Radio ? tail : head);
}

TEST(Shm, TheSideThatGoesOnMeetsTheSuccessorOfOneThatWasKilled) {
  const auto options = named();
  for (const Side side : {Side::Radio, Side::Baseband}) {
    const auto survivor = open_end(other(side), options, kLayout, {});
    const auto send = [&] {
      EXPECT_TRUE(test::send_packet(*survivor, kLayout, 99, symbol_from(other(side)), 0));
    };
    for (std::uint32_t frame = 0; frame < 60; frame += 2) {
      send();
      const Killed killed([&] {
        Transport* const end = open_end(side, options, kLayout, {}).release();
        for (int i = 0; i < 3; ++i) send();
        receive(*end, 1);
        for (int i = 0; i < 20; ++i) end->acquire();
        test::send_packet(*end, kLayout, 98, symbol_from(side), 1);
        claim_in_uplink(options.shm_name, side);
      });
      send();
      const auto successor = open_end(side, options, kLayout, {});
      const auto last = receive(*survivor, 1);
      EXPECT_EQ(last.size(), 1U);
      recycle(*survivor, last);
      EXPECT_TRUE(all_arrives(*successor, side, *survivor, frame));
      EXPECT_TRUE(all_arrives(*survivor, other(side), *successor, frame + 1));
      EXPECT_EQ(successor->available(), successor->buffers());
      EXPECT_EQ(survivor->available(), survivor->buffers());
    }
  }
  EXPECT_FALSE(exists(options.shm_name));
}

// Sends and takes packets as fast as it can, until it is killed.
[[noreturn]] void exchange_for_ever(Transport& end, Side side) {
  for (std::array<Received, 1> packet;;) {
    test::send_packet(end, kLayout, 98, symbol_from(side), 0);
    if (end.receive(0, packet) == 1) end.recycle({&packet[0].buffer, 1});
  }
}

TEST(Shm, ASideMayBeKilledWhateverItIsAt) {
  constexpr std::uint32_t kKills = 40;
  const auto options = named();
  for (const Side side : {Side::Radio, Side::Baseband}) {
    const auto survivor = open_end(other(side), options, kLayout, {});
    for (std::uint32_t kill_after = 100; kill_after < 100 + kKills; ++kill_after) {
      const pid_t child = fork();
      if (child == 0) exchange_for_ever(*open_end(side, options, kLayout, {}), side);
      std::uint32_t got = 0;
      for (const Tick begin = now(); got < kill_after && now() - begin < 20 * kSecond;) {
        test::send_packet(*survivor, kLayout, 99, symbol_from(other(side)), 0);
        const auto packets = receive(*survivor, 1);
        recycle(*survivor, packets);
        got += static_cast<std::uint32_t>(packets.size());
      }
      EXPECT_EQ(got, kill_after);
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
      for (std::array<Received, 16> rest; const auto count = survivor->receive(0, rest);)
        for (std::size_t i = 0; i < count; ++i) survivor->recycle({&rest[i].buffer, 1});
    }
    const auto successor = open_end(side, options, kLayout, {});
    EXPECT_TRUE(all_arrives(*successor, side, *survivor, 1));
    EXPECT_TRUE(all_arrives(*survivor, other(side), *successor, 2));
    // At most what was just changing hands each time.
    EXPECT_LE(successor->buffers() - successor->available(), kKills);
    EXPECT_LE(survivor->buffers() - survivor->available(), kKills);
  }
}

TEST(Shm, ASegmentWithoutASizeIsReplaced) {
  const auto options = named();
  const int fd = open(("/dev/shm/" + options.shm_name).c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  ASSERT_GE(fd, 0);  // as its maker was killed
  close(fd);
  const auto radio = open_end(Side::Radio, options, kLayout, {});
  const auto baseband = open_end(Side::Baseband, options, kLayout, {});
  EXPECT_TRUE(test::send_packet(*radio, kLayout, 3, 0, 0));
  EXPECT_EQ(receive(*baseband, 1).size(), 1U);
}

TEST(Shm, AnotherUsersSegmentIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can act as two users";
  const auto options = named();
  const std::string path = "/dev/shm/" + options.shm_name;
  const auto peer = open_end(Side::Radio, options, kLayout, {});
  const auto attach = [&] { open_end(Side::Baseband, options, kLayout, {}); };
  ASSERT_EQ(seteuid(65534), 0);
  const std::string refused_by_system = what(attach);
  ASSERT_EQ(seteuid(0), 0);
  EXPECT_TRUE(says(refused_by_system, path + " belongs to another user")) << refused_by_system;
  ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
  EXPECT_TRUE(says(what(attach), path + " belongs to another user"));
  EXPECT_TRUE(exists(options.shm_name));
}

// A limit on the size of files stands for a full /dev/shm.
TEST(Shm, WithoutRoomNothingIsLeft) {
  const auto options = named();
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit narrow{4096, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &narrow);
  const std::string told = what([&] { open_end(Side::Radio, options, kLayout, {}); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(says(told, "make room in /dev/shm")) << told;
  EXPECT_FALSE(exists(options.shm_name));
}

}  // namespace
}  // namespace carillon::fronthaul
