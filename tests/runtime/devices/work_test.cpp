#include "runtime/devices/work.hpp"

#include <stdexcept>

#include "support/test.hpp"

namespace carillon::runtime {
namespace {

// An SM of the A100: 19.5 TFLOP/s and 312 TFLOP/s in half precision over 108 of them, 64 warps.
const DeviceType& a100() { return *find_device_type("a100"); }

TEST(Work, ACtaHasItsShareOfAFullSm) {
  const Work work{.footprint = {.ctas = 1, .warps = 32}, .flops = 19.5e12 / 108 / 1000};
  EXPECT_EQ(cta_time(a100(), work), 2 * kMillisecond);  // of two that an SM holds
  Work smaller = work;
  smaller.footprint.warps = 8;
  EXPECT_EQ(cta_time(a100(), smaller), 8 * kMillisecond);
}

TEST(Work, EfficiencyIsAShareOfThePeak) {
  const Work work{.footprint = {.ctas = 1, .warps = 32},
                  .flops = 312e12 / 108 / 1e6,
                  .efficiency = 0.25,
                  .half = true,
                  .floor = 700};
  EXPECT_EQ(cta_time(a100(), work), 8 * kMicrosecond + 700);
}

TEST(Work, ATransferHasNoCtas) { EXPECT_EQ(cta_time(a100(), {.moved = 1 << 20}), 0); }

TEST(Work, ACtaThatFitsNoSmIsAnError) {
  EXPECT_THROW(cta_time(a100(), {.footprint = {.ctas = 1, .warps = 33}}), std::invalid_argument);
}

}  // namespace
}  // namespace carillon::runtime
