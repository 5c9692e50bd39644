#include "cuda/work.hpp"

#include <algorithm>
#include <bit>

#include "phy/ldpc/base_graph.hpp"

namespace carillon::bench {
namespace {

// For an edge, on all lanes of a word at once, as on a CPU (docs/performance.md): old message out
// of the posterior, parity, magnitude, the two least (3), whether it is the least, choice of
// message, sign (2), new posterior. No GPU does byte minima or saturating sums in one instruction;
// this is what an instruction set would allow that had them.
constexpr double kEdgeOperations = 11;
constexpr double kLanes = 4;  // bytes in a word

constexpr double kMagnitudeBits = 5;  // of a message, at most 28

// Bits that hold what a check said last: two magnitudes, which edge has the second, all signs.
double message_bits(std::uint32_t degree) {
  return 2 * kMagnitudeBits + std::bit_width(degree - 1) + degree;
}

}  // namespace

GpuPeaks clocked_peaks(int major, int minor, double mhz, std::uint32_t sms) {
  // CUDA C++ Programming Guide, "Arithmetic instructions": fp32 multiply-adds of an SM in a cycle,
  // and its 32-bit integer additions, comparisons, minima and logic: 64 up to 9.0, taken as twice
  // as many from 10.0 on, where the lanes are shared. "Shared memory": 32 banks of 4 bytes. Data
  // sheets: multiply-adds of its tensor cores in half precision, dense.
  const double lanes = major == 8 && minor == 0 ? 64 : 128;
  const double integer = major >= 10 ? 128 : 64;
  const double tensor = major >= 9 ? 2048 : minor == 0 ? 1024 : 512;
  const double cycles = mhz * sms;  // of all SMs in a µs
  return {.shared_bytes_per_us = 128 * cycles,
          .flops_per_us = 2 * lanes * cycles,
          .half_flops_per_us = 2 * tensor * cycles,
          .int_ops_per_us = integer * cycles};
}

double bound_us(const GpuWork& work, const GpuPeaks& peaks) {
  double longest = 0;
  const auto need = [&](double amount, double in_us) {
    if (amount > 0) longest = std::max(longest, amount / in_us);
  };
  need(work.bytes, peaks.bytes_per_us);
  need(work.bus_bytes, peaks.bus_bytes_per_us);
  need(work.shared_bytes, peaks.shared_bytes_per_us);
  need(work.flops, peaks.flops_per_us);
  need(work.half_flops, peaks.half_flops_per_us);
  need(work.int_ops, peaks.int_ops_per_us);
  return longest;
}

GpuWork decode_work(phy::LdpcCode code, std::uint32_t sent, double iterations, double count) {
  const phy::BaseGraph graph = phy::base_graph(code);
  const double z = code.lifting;
  sent = std::min(sent, code.length());
  const std::uint32_t columns = 2 + (sent + code.lifting - 1U) / code.lifting;
  const std::uint32_t core = graph.info_columns + phy::kCoreRows;
  const std::uint32_t rows = std::max(columns, core) - graph.info_columns;
  double edges = 0,
         bits = 0;  // of one check of each row; an extension's own column is its last edge
  for (std::uint32_t r = 0; r < rows; ++r) {
    const std::uint32_t degree =
        graph.row_begin[r + 1] - graph.row_begin[r] - (r < phy::kCoreRows ? 0U : 1U);
    edges += degree;
    bits += message_bits(degree);
  }
  GpuWork work;
  work.int_ops = kEdgeOperations * edges * z / kLanes * iterations * count;
  // A posterior of an edge is a byte, read and written. Messages are not there before the first
  // iteration and not needed after the last.
  work.shared_bytes = (2 * edges * iterations + 2 * bits / 8 * (iterations - 1)) * z * count;
  work.bytes = (sent + code.info_bits() / 8.0) * count;
  work.bits = code.info_bits() * count;
  return work;
}

}  // namespace carillon::bench
