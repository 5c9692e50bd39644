#include "fronthaul/shm.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

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
