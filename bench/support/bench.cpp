#include "support/bench.hpp"

#include <cmath>
#include <optional>

#include "support/peaks.hpp"

namespace carillon::bench {
namespace {

auto& registry() {
  static std::vector<std::pair<std::string_view, Group::Run>> groups;
  return groups;
}

std::vector<Isa> selected(const std::vector<std::string>& names) {
  std::vector<Isa> isas;
  for (const Isa isa : available_isas())
    if (names.empty() || std::find(names.begin(), names.end(), to_string(isa)) != names.end())
      isas.push_back(isa);
  return isas;
}

std::optional<Isa> isa_named(std::string_view name) {
  for (const Isa isa : available_isas())
    if (to_string(isa) == name) return isa;
  return std::nullopt;
}

// How near a case comes to the nearest of the core's limits that it works against.
struct Share {
  double value = 0;
  const char* of = nullptr;
};

Share share_of_peak(const Case& c, double ns) {
  Share most;
  const auto consider = [&](double amount, const char* of, auto&& peak) {
    if (amount <= 0) return;
    const double share = amount / ns / peak();
    if (share > most.value) most = {share, of};
  };
  const Isa isa = isa_named(c.isa).value_or(available_isas().back());
  consider(c.work.flops, "fp32", [&] { return peak_fp32(isa); });
  consider(c.work.int8_ops, "int8", [&] { return peak_int8(isa); });
  consider(c.work.bytes, "memory", [] { return peak_memory(); });
  return most;
}

void json_number(const char* key, double value, bool known) {
  if (known)
    std::printf(", \"%s\": %.5g", key, value);
  else
    std::printf(", \"%s\": null", key);
}

}  // namespace

Sample summary(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return {*std::min_element(values.begin(), values.end()), *middle};
}

Group::Group(std::string_view name, Run run) { registry().emplace_back(name, run); }

std::vector<std::pair<std::string_view, Group::Run>> Group::all() {
  auto groups = registry();
  std::sort(groups.begin(), groups.end());
  return groups;
}

Bench::Bench(Options options) : options_(std::move(options)), isas_(selected(options_.isas)) {}

bool Bench::wants(const std::string& kernel, const std::string& shape) const {
  const std::string name = std::string(group_) + " " + kernel + " " + shape;
  return std::regex_search(name, options_.filter);
}

bool Bench::begin(const Case& c) const {
  if (!wants(c.kernel, c.shape)) return false;
  if (!options_.list) return true;
  std::printf("%.*s %s %s %s\n", static_cast<int>(group_.size()), group_.data(), c.kernel.c_str(),
              c.shape.c_str(), c.isa.c_str());
  return false;
}

void Bench::report(const Case& c, const Sample& sample, const FrameCost* frame) const {
  const double ns = sample.best / c.items;
  const Share share = share_of_peak(c, ns);
  const double mbps = c.work.bits / ns * 1e3;
  const double gflops = c.work.flops / ns;
  if (options_.json) {
    std::printf(
        "{\"group\": \"%.*s\", \"kernel\": \"%s\", \"shape\": \"%s\", \"isa\": \"%s\", "
        "\"per\": \"%s\", \"ns\": %.5g, \"median_ns\": %.5g",
        static_cast<int>(group_.size()), group_.data(), c.kernel.c_str(), c.shape.c_str(),
        c.isa.c_str(), c.per.c_str(), ns, sample.median / c.items);
    json_number("gflops", gflops, c.work.flops > 0);
    json_number("gops", c.work.int8_ops / ns, c.work.int8_ops > 0);
    json_number("gbytes", c.work.bytes / ns, c.work.bytes > 0);
    json_number("mbps", mbps, c.work.bits > 0);
    json_number("share", share.value, share.of != nullptr);
    if (share.of != nullptr) std::printf(", \"of\": \"%s\"", share.of);
    if (frame != nullptr) {
      json_number("us_per_frame", frame->us_per_frame, true);
      json_number("core_ms_per_ms", frame->core_ms_per_ms, true);
    }
    std::printf("}\n");
  } else {
    std::printf("%-22s %-22s %-8s %10.4g ns per %-12s", c.kernel.c_str(), c.shape.c_str(),
                c.isa.c_str(), ns, c.per.c_str());
    if (c.work.flops > 0) std::printf(" %8.1f GFLOP/s", gflops);
    if (c.work.int8_ops > 0) std::printf(" %8.1f Gop/s", c.work.int8_ops / ns);
    if (c.work.bytes > 0) std::printf(" %8.1f GB/s", c.work.bytes / ns);
    if (c.work.bits > 0) std::printf(" %8.0f Mb/s", mbps);
    if (share.of != nullptr) std::printf(" %4.0f %% of %s", 100 * share.value, share.of);
    if (frame != nullptr)
      std::printf(" %9.1f us per frame, %.3f core-ms per ms", frame->us_per_frame,
                  frame->core_ms_per_ms);
    std::printf("\n");
  }
  std::fflush(stdout);
}

}  // namespace carillon::bench
