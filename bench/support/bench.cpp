#include "support/bench.hpp"

#include <optional>

#include "support/row.hpp"

namespace carillon::bench {
namespace {

auto& registry() {
  static std::vector<std::pair<std::string_view, Group::Run>> groups;
  return groups;
}

std::vector<Isa> selected(const Options& options) {
  std::vector<Isa> isas;
  const auto& names = options.isas;
  for (const Isa isa : available_isas())
    if (names.empty() || std::find(names.begin(), names.end(), to_string(isa)) != names.end())
      isas.push_back(isa);
  if (options.compare && names.empty()) isas = {isas.back()};
  return isas;
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

Bench::Bench(Options options) : options_(std::move(options)), isas_(selected(options_)) {}

bool Bench::wants(const std::string& kernel, const std::string& shape) const {
  const std::string name = std::string(group_) + " " + kernel + " " + shape;
  return std::regex_search(name, options_.filter);
}

bool Bench::select(const Case& c) const {
  if (!wants(c.kernel, c.shape)) return false;
  if (!options_.list) return true;
  std::printf("%.*s %s %s %s\n", static_cast<int>(group_.size()), group_.data(), c.kernel.c_str(),
              c.shape.c_str(), c.isa.c_str());
  return false;
}

void Bench::report(const Case& c, const Sample& sample, const FrameCost* frame) const {
  print(c, {sample}, {}, frame);
}

// A call too long to be repeated within a round finds its caches as the one before left them;
// the others are warmed again after the contenders have used the caches.
std::vector<Sample> Bench::measure(const std::vector<Round>& rounds) const {
  constexpr double kRound = 20'000;
  std::vector<std::int64_t> calls;
  for (const Round& round : rounds) {
    round(1);
    calls.push_back(1 + static_cast<std::int64_t>(kRound / std::max(1.0, round(1))));
  }
  const auto count = static_cast<Tick>(rounds.size());
  std::vector<std::vector<double>> ns(rounds.size());
  const Tick end = now() + count * (options_.quick ? 15 : 100) * kMillisecond;
  while (ns[0].size() < 5 || now() < end)
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      if (count > 1 && calls[i] > 1) rounds[i](1);
      ns[i].push_back(rounds[i](calls[i]));
    }
  std::vector<Sample> samples;
  for (auto& values : ns) samples.push_back(summary(values));
  return samples;
}

void Bench::print(const Case& c, const std::vector<Sample>& samples,
                  const std::vector<Rival>& rivals, const FrameCost* frame) const {
  Row row(group_, c, samples[0]);
  std::size_t measured = 1;
  for (const Rival& rival : rivals) row.add(rival, rival.call ? samples[measured++] : Sample{});
  if (frame != nullptr) row.add(*frame);
  options_.json ? row.print_json() : row.print_text();
}

}  // namespace carillon::bench
