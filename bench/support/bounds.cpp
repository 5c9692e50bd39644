#include "support/bounds.hpp"

#include "support/peaks.hpp"

namespace carillon::bench {
namespace {

// Least time for `amount` at `peak` per ns, if it is more than what is known so far.
template <typename Peak>
void tighten(Bound& bound, double amount, std::string_view of, Peak&& peak) {
  if (amount <= 0) return;
  const double rate = peak();
  if (rate > 0 && amount / rate > bound.ns) bound = {amount / rate, of};
}

}  // namespace

Bound arithmetic_bound(const Work& work, Isa isa) {
  Bound least;
  tighten(least, work.flops, "fp32", [&] { return peak_fp32(isa); });
  tighten(least, work.half_flops, "fp16", [&] { return peak_fp16(isa); });
  tighten(least, work.int16_ops, "int16", [&] { return peak_int16(isa); });
  tighten(least, work.int8_ops, "int8", [&] { return peak_int8(isa); });
  return least;
}

Bound bound(const Work& work, Isa isa) {
  Bound least = arithmetic_bound(work, isa);
  tighten(least, work.edges, "LDPC edges", [&] { return peak_edges(isa); });
  tighten(least, work.read_bytes, read_level(work.footprint),
          [&] { return peak_read(work.footprint); });
  return least;
}

}  // namespace carillon::bench
