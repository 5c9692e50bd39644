#include "base/cpu.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/thread.hpp"
#include "support/test.hpp"

namespace carillon {
namespace {

TEST(Cpu, KnowsTheCpusThatThisProcessMayUse) {
  const auto cpus = allowed_cpus();
  ASSERT_TRUE(!cpus.empty());
  EXPECT_TRUE(std::is_sorted(cpus.begin(), cpus.end()));
  EXPECT_LE(cpus.size(), std::size_t{std::max(1U, std::thread::hardware_concurrency())});
  EXPECT_TRUE(!cpu_model().empty());
}

TEST(Cpu, APinnedThreadMayUseThatCpuOnly) {
  const std::uint32_t last = allowed_cpus().back();
  std::thread([&] {
    EXPECT_TRUE(pin_thread(last).done);
    const auto cpus = allowed_cpus();
    ASSERT_EQ(cpus.size(), 1U);
    EXPECT_EQ(cpus[0], last);
  }).join();
}

TEST(Cpu, AnAttemptThatFailsSaysWhy) {
  std::thread([] {
    const Attempt attempt = pin_thread(1023);
    EXPECT_FALSE(attempt.done);
    EXPECT_NE(attempt.reason.find("1023"), std::string::npos);
    EXPECT_FALSE(pin_thread(1U << 20).done);
    EXPECT_FALSE(make_realtime(1000).done);
    const Attempt fifo = make_realtime(1);
    EXPECT_EQ(fifo.done, fifo.reason.empty());
    const Attempt prompt = make_prompt();
    EXPECT_EQ(prompt.done, prompt.reason.empty());
    EXPECT_TRUE(make_ordinary(true).done);
  }).join();
}

TEST(Cpu, ReadsTheKernelsRealTimeLimit) {
  const auto root = std::filesystem::temp_directory_path() / "carillon-cpu-test";
  std::filesystem::create_directories(root / "proc/sys/kernel");
  const auto set = [&](const char* name, const char* value) {
    std::ofstream(root / "proc/sys/kernel" / name) << value << "\n";
  };
  set("sched_rt_period_us", "1000000");
  set("sched_rt_runtime_us", "950000");
  EXPECT_NEAR(realtime_limit(root.string()), 0.95, 1e-12);
  set("sched_rt_runtime_us", "-1");
  EXPECT_NEAR(realtime_limit(root.string()), 1.0, 1e-12);
  std::filesystem::remove_all(root);
  EXPECT_NEAR(realtime_limit(root.string()), 1.0, 1e-12);
}

TEST(Cpu, SleepsUntilTheInstantAndNotBefore) {
  const Tick until = now() + 2 * kMillisecond;
  sleep_until(until);
  EXPECT_LE(until - 20 * kMicrosecond, now());  // the two clocks may differ by a little
  sleep_until(now() - kSecond);
  EXPECT_LT(0, measure_wakeup_p99(20));
}

}  // namespace
}  // namespace carillon
