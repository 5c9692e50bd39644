// A scheduler allocates nothing once it is made: this program counts what is.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "mac/scheduler.hpp"
#include "support/test.hpp"

using namespace carillon;
using frame::Direction;

namespace {

std::atomic<std::uint64_t> allocations{0};

}  // namespace

// Not inline: else GCC 12 takes them for a pair that does not match.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* const place = std::malloc(bytes)) return place;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes);
}
[[gnu::noinline]] void operator delete(void* place) noexcept { std::free(place); }
[[gnu::noinline]] void operator delete(void* place, std::size_t) noexcept { std::free(place); }

TEST(Scheduler, AllocatesNothingOnceItIsMade) {
  for (const auto policy : {frame::GrantPolicy::RoundRobin, frame::GrantPolicy::ProportionalFair}) {
    frame::FrameFormat format;
    format.users = 2;
    format.grants.kind = frame::GrantKind::Scheduler;
    format.grants.policy = policy;
    const frame::Frame frame(format);
    mac::Scheduler scheduler(frame);
    const std::uint64_t before = allocations;
    std::size_t grants = 0;
    for (std::uint32_t number = 1; number < 100; ++number) {
      for (std::uint32_t u = 0; u < 2; ++u) {
        scheduler.report(Direction::Uplink, u, 10'000, number - 1);
        scheduler.heard(Direction::Uplink, u, frame::Verdict::Good, number);
      }
      grants += scheduler.schedule(number).size();
    }
    EXPECT_EQ(allocations, before);
    EXPECT_GT(grants, 0U);
  }
}
