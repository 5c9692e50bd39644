#include "support/row.hpp"

#include <cstdio>

namespace carillon::bench {
namespace {

Isa isa_of(const Case& c) {
  for (const Isa isa : available_isas())
    if (to_string(isa) == c.isa) return isa;
  return available_isas().back();
}

void number(const char* key, double value, bool known = true) {
  if (known)
    std::printf(", \"%s\": %.5g", key, value);
  else
    std::printf(", \"%s\": null", key);
}

void text(const char* key, std::string_view value) {
  std::printf(", \"%s\": \"%.*s\"", key, static_cast<int>(value.size()), value.data());
}

double operations(const Work& work) { return work.flops + work.half_flops + work.int16_ops; }

// The least time of an item, and the limit that says so.
void limit(const char* key, const char* of_key, const Bound& bound) {
  number(key, bound.ns, bound.ns > 0);
  if (bound.ns > 0) text(of_key, bound.of);
}

}  // namespace

Row::Row(std::string_view group, const Case& c, const Sample& sample)
    : group_(group),
      case_(c),
      ns_(sample.best / c.items),
      median_ns_(sample.median / c.items),
      arithmetic_(arithmetic_bound(c.work, isa_of(c))),
      bound_(bound(c.work, isa_of(c))) {}

void Row::add(const Rival& rival, const Sample& sample) {
  if (rival.call)
    standings_.push_back({rival, sample.best / rival.items, sample.median / rival.items});
  else
    standings_.push_back({rival, rival.recorded_ns, rival.recorded_ns});
}

void Row::print_json() const {
  const Work& work = case_.work;
  std::printf("{\"group\": \"%s\"", group_.c_str());
  text("kernel", case_.kernel);
  text("shape", case_.shape);
  text("isa", case_.isa);
  text("per", case_.per);
  number("ns", ns_);
  number("median_ns", median_ns_);
  number("gflops", operations(work) / ns_, operations(work) > 0);
  number("gops", work.int8_ops / ns_, work.int8_ops > 0);
  number("gbytes", work.read_bytes / ns_, work.read_bytes > 0);
  number("mbps", work.bits / ns_ * 1e3, work.bits > 0);
  limit("peak_ns", "peak", arithmetic_);
  limit("bound_ns", "bound", bound_);
  std::printf(", \"peers\": [");
  for (const Standing& s : standings_) {
    std::printf("%s{\"peer\": \"%s\"", &s == standings_.data() ? "" : ", ", s.rival.peer.c_str());
    text("method", s.rival.method);
    number("ns", s.ns);
    number("median_ns", s.median_ns);
    number("ratio", ratio(s));
    if (!s.rival.call) text("recorded", s.rival.source);
    std::printf("}");
  }
  std::printf("]");
  if (frame_ != nullptr) {
    number("us_per_frame", frame_->us_per_frame);
    number("core_ms_per_ms", frame_->core_ms_per_ms);
    std::printf(", \"blocks\": %lu, \"blocks_failed\": %lu", frame_->blocks, frame_->failed);
  }
  std::printf("}\n");
  std::fflush(stdout);
}

void Row::print_text() const {
  const Work& work = case_.work;
  std::printf("%-22s %-22s %-8s %10.4g ns per %-12s", case_.kernel.c_str(), case_.shape.c_str(),
              case_.isa.c_str(), ns_, case_.per.c_str());
  const auto rate = [&](double amount, double scale, const char* unit) {
    if (amount > 0) std::printf(" %8.1f %s", amount / ns_ * scale, unit);
  };
  rate(operations(work), 1, work.int16_ops > 0 ? "Gop/s" : "GFLOP/s");
  rate(work.int8_ops, 1, "Gop/s");
  rate(work.read_bytes, 1, "GB/s");
  rate(work.bits, 1e3, "Mb/s");
  if (bound_.ns > 0)
    std::printf(" %4.0f %% of %.*s", 100 * bound_.ns / ns_, static_cast<int>(bound_.of.size()),
                bound_.of.data());
  if (frame_ != nullptr)
    std::printf(" %9.1f us per frame, %.3f core-ms per ms", frame_->us_per_frame,
                frame_->core_ms_per_ms);
  std::printf("\n");
  for (const Standing& s : standings_)
    std::printf("  %-43s %-8s %10.4g ns, %.1f times%s\n",
                (s.rival.peer + ", " + s.rival.method).c_str(), "", s.median_ns, ratio(s),
                s.rival.call ? "" : " (recorded)");
  std::fflush(stdout);
}

}  // namespace carillon::bench
