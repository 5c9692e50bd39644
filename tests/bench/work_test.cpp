// What a device needs at least for decoding: worked by hand, and from the published base graphs.
#include "cuda/work.hpp"

#include "support/base_graph_table.hpp"
#include "support/test.hpp"

namespace carillon::bench {
namespace {

// 132 SMs at 1980 MHz, compute capability 9.0; memory as an H200's was measured.
GpuPeaks h200() {
  GpuPeaks peaks = clocked_peaks(9, 0, 1980, 132);
  peaks.bytes_per_us = 4.3e6;
  peaks.bus_bytes_per_us = 55e3;
  return peaks;
}

TEST(Work, PeaksAreOperationsOfAllSmsInAMicrosecond) {
  const GpuPeaks peaks = h200();
  EXPECT_NEAR(peaks.int_ops_per_us, 64.0 * 132 * 1980, 1);        // 16.7 · 10¹² a second
  EXPECT_NEAR(peaks.shared_bytes_per_us, 128.0 * 132 * 1980, 1);  // 33.5 TB/s
  EXPECT_NEAR(peaks.flops_per_us, 66.9e6, 0.1e6);                 // the data sheet's 67 TFLOP/s
  EXPECT_NEAR(clocked_peaks(8, 0, 1410, 108).flops_per_us, 19.5e6, 0.1e6);  // an A100's
}

// Base graph 1 has 316 edges; 42 are those of a column that one row alone has. That leaves 274, of
// 384 checks each: 105 216 edges an iteration, 526 080 in five, 131 520 words of four.
TEST(Work, TheLongestBlockTakes1446720OperationsInFiveIterations) {
  const GpuWork work = decode_work({1, 384}, 66 * 384, 5, 1);
  EXPECT_EQ(work.int_ops, 131520.0 * 11);
  // 526 080 posteriors of a byte, read and written. What the rows' checks said last is 856 bits a
  // lane: 4 rows of 19 edges have 2·5 + 19 + 5 each; then rows of 2 (13 bits, one), 3 (15, five),
  // 4 (16, 18), 5 (18, eight), 6 (19, five), 7 (20, two), 8 (21, two), 9 edges (23, one).
  const double record = 4 * 34 + 13 + 5 * 15 + 18 * 16 + 8 * 18 + 5 * 19 + 2 * 20 + 2 * 21 + 23;
  EXPECT_EQ(record, 856);
  EXPECT_EQ(work.shared_bytes, 2 * 526080.0 + 4 * 2 * 856.0 / 8 * 384);
  EXPECT_EQ(work.bytes, 25344.0 + 1056);  // soft bits in, information bits out
  EXPECT_EQ(work.bits, 8448.0);
}

// At rate 8/9 24.75 columns are sent: with the two that never are, 27, so five rows.
TEST(Work, RowsThatWereNotSentCostNothing) {
  const GpuWork work = decode_work({1, 384}, 9504, 5, 1);
  EXPECT_EQ(work.int_ops, (4.0 * 19 + 2) * 96 * 5 * 11);
  EXPECT_EQ(work.bytes, 9504.0 + 1056);
  EXPECT_EQ(decode_work({1, 384}, 1, 5, 1).int_ops, 4.0 * 19 * 96 * 5 * 11);  // the core's always
}

// 1 446 720 operations at 16.727 · 10⁶ in a µs; what is moved takes 41 and 6 ns.
TEST(Work, ArithmeticBoundsTheLongestBlockAt86Nanoseconds) {
  const GpuWork work = decode_work({1, 384}, 66 * 384, 5, 1);
  EXPECT_NEAR(bound_us(work, h200()), 0.0865, 0.0001);
  EXPECT_NEAR(bound_us({.shared_bytes = work.shared_bytes}, h200()), 0.0413, 0.0001);
  EXPECT_NEAR(bound_us({.bytes = work.bytes}, h200()), 0.0061, 0.0001);
  EXPECT_NEAR(work.bits / bound_us(work, h200()) * 1e-3, 97.7, 0.1);  // Gb/s
  EXPECT_EQ(decode_work({1, 384}, 66 * 384, 5, 4096).int_ops, 4096 * work.int_ops);
}

TEST(Work, OneIterationLeavesNoMessagesToMove) {
  EXPECT_EQ(decode_work({2, 16}, 800, 1, 1).shared_bytes, 2.0 * 159 * 16);
}

TEST(Work, EdgesAreThoseOfThePublishedBaseGraphs) {
  for (const std::uint8_t graph : {std::uint8_t{1}, std::uint8_t{2}}) {
    const auto table = test::base_graph_table(graph);
    std::size_t edges = 0;
    for (std::size_t r = 0; r < table.size(); ++r) edges += table[r].size() - (r < 4 ? 0 : 1);
    EXPECT_EQ(edges, graph == 1 ? 274U : 159U);
    const phy::LdpcCode code{graph, 64};
    EXPECT_EQ(decode_work(code, code.length(), 3, 2).int_ops,
              static_cast<double>(edges) * 64 / 4 * 11 * 3 * 2);
  }
}

TEST(Work, TheTightestLimitCounts) {
  GpuPeaks peaks;
  peaks.bytes_per_us = 10;
  peaks.bus_bytes_per_us = 20;
  peaks.shared_bytes_per_us = 30;
  peaks.flops_per_us = 40;
  peaks.half_flops_per_us = 50;
  peaks.int_ops_per_us = 60;
  EXPECT_EQ(bound_us({}, peaks), 0.0);
  EXPECT_EQ(bound_us({.bytes = 30, .int_ops = 60}, peaks), 3.0);
  EXPECT_EQ(bound_us({.bytes = 10, .bus_bytes = 80}, peaks), 4.0);
  EXPECT_EQ(bound_us({.shared_bytes = 150, .flops = 40}, peaks), 5.0);
  EXPECT_EQ(bound_us({.flops = 240, .half_flops = 50}, peaks), 6.0);
  EXPECT_EQ(bound_us({.half_flops = 350, .int_ops = 60}, peaks), 7.0);
  EXPECT_EQ(bound_us({.bytes = 10, .int_ops = 480}, peaks), 8.0);
}

}  // namespace
}  // namespace carillon::bench
