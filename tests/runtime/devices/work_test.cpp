#include "runtime/devices/work.hpp"

#include "support/test.hpp"

namespace carillon::runtime {
namespace {

const DeviceType& a100() { return *find_device_type("a100"); }

TEST(Work, AnSmOfItsOwnComputesAtItsShareOfThePeak) {
  const Work work{.footprint = {.ctas = 10, .warps = 4, .registers = 32},
                  .flops = 1e6,
                  .bytes = 7,
                  .efficiency = 0.25,
                  .floor = 3};
  const KernelLoad load = load_on(a100(), work);
  EXPECT_EQ(load.ctas, 10U);
  EXPECT_EQ(load.ctas_per_sm, 16U);  // 64 warps, 65536 registers
  EXPECT_EQ(load.floor, 3);
  EXPECT_EQ(load.bytes, 7);
  EXPECT_DOUBLE_EQ(load.sm_time, 1e6 / (0.25 * a100().fp32_flops / a100().sms) * 1e9);
}

TEST(Work, MatrixUnitsHaveAPeakOfTheirOwn) {
  Work work{.footprint = {.ctas = 1, .warps = 1, .registers = 32}, .flops = 1e6};
  const double single = load_on(a100(), work).sm_time;
  work.half = true;
  EXPECT_DOUBLE_EQ(single / load_on(a100(), work).sm_time, a100().half_flops / a100().fp32_flops);
}

TEST(Work, ACoreOfTheHostRunsOneCtaAtATimeWhateverItAsksFor) {
  const DeviceType& host = *find_device_type("epyc-7763");
  const Work work{
      .footprint = {.ctas = 130, .warps = 32, .registers = 255, .shared_bytes = 1 << 20},
      .flops = 39.2e6,
      .half = true,
      .floor = 1000};
  EXPECT_EQ(ctas_per_sm(host, work.footprint), 1U);
  EXPECT_EQ(sms_needed(host, work.footprint), 64U);
  const KernelLoad load = load_on(host, work);
  EXPECT_EQ(load.floor, 0);
  EXPECT_NEAR(load.sm_time, 1e6, 1);  // half of 78.4 GFLOP/s
}

}  // namespace
}  // namespace carillon::runtime
