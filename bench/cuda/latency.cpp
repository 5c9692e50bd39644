#include "cuda/latency.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

namespace carillon::bench {

std::optional<Offset> compare(std::span<const Reading> readings, Tick step) {
  if (readings.empty()) return std::nullopt;
  Tick least = std::numeric_limits<Tick>::min(), most = std::numeric_limits<Tick>::max();
  for (const Reading& each : readings) {
    least = std::max(least, each.device - each.after);
    most = std::min(most, each.device + step - each.before);
  }
  if (least > most) return std::nullopt;
  const Tick first = readings.front().before, last = readings.back().after;
  return Offset{first + (last - first) / 2, least + (most - least) / 2, (most - least + 1) / 2,
                last - first};
}

Clocks::Clocks(const Offset& first, const Offset& second, Tick step)
    : first_(first), half_step_(step / 2) {
  const auto apart = static_cast<double>(std::max<Tick>(second.host - first.host, 1));
  drift_ = static_cast<double>(second.ahead - first.ahead) / apart;
  // The drift is known no better than the offsets that it is made of, and moves the readings of a
  // comparison against each other, by half its time at either end.
  const double most = std::abs(drift_) + static_cast<double>(first.error + second.error) / apart;
  const auto moved = most * static_cast<double>(std::max(first.took, second.took)) / 2;
  const Tick shown = step - half_step_;
  error_ = std::max(first.error, second.error) + static_cast<Tick>(std::ceil(moved)) + shown;
}

Tick Clocks::on_host(Tick device) const {
  // Differences first: the device's clock may count from 1970, which a double has no ns of.
  const Tick then = device + half_step_ - first_.ahead;
  return then - static_cast<Tick>(drift_ * static_cast<double>(then - first_.host));
}

std::vector<double> seen_after(std::span<const Round> rounds, const Clocks& clocks) {
  std::vector<double> found;
  for (const Round& each : rounds)
    if (const Tick end = clocks.on_host(each.end); each.ready <= end - clocks.error())
      found.push_back(static_cast<double>(each.seen - end) * 1e-3);
  return found;
}

double share(const std::vector<double>& sorted, double part) {
  return sorted[std::min(sorted.size() - 1,
                         static_cast<std::size_t>(part * static_cast<double>(sorted.size())))];
}

Latency latency(std::string what, std::string how, std::vector<double> samples, double error,
                double goal) {
  Latency row;
  row.what = std::move(what);
  row.how = std::move(how);
  row.samples = samples.size();
  row.error = error;
  row.goal = goal;
  if (samples.empty()) return row;
  std::ranges::sort(samples);
  row.p50 = share(samples, 0.5);
  row.p90 = share(samples, 0.9);
  row.p99 = share(samples, 0.99);
  return row;
}

std::string verdict(const Latency& row) {
  if (row.goal == 0) return "";
  if (row.samples == 0) return "missed";
  if (row.p90 + row.error <= row.goal) return "met";
  return row.p90 - row.error > row.goal ? "missed" : "too close to tell";
}

std::string launches(double host_us, double device_us, double graph_us) {
  char text[96];
  std::snprintf(text, sizeof text, "%.2f × a graph of the frame%s", device_us / graph_us,
                host_us > graph_us ? "; launches dominate" : "");
  return text;
}

std::string text(const Latency& row) {
  char numbers[160];
  std::snprintf(numbers, sizeof numbers, "p50 %.2f, p90 %.2f, p99 %.2f µs of %zu", row.p50, row.p90,
                row.p99, row.samples);
  std::string line = row.what + ", " + row.how + ": " + numbers;
  if (row.error > 0) {
    std::snprintf(numbers, sizeof numbers, ", ± %.2f", row.error);
    line += numbers;
  }
  if (row.goal > 0) {
    std::snprintf(numbers, sizeof numbers, "; goal %.0f µs for p90: ", row.goal);
    line += numbers + verdict(row);
  }
  return row.note.empty() ? line : line + "; " + row.note;
}

void write_completion(std::ostream& out, const Completion& completion) {
  const ClockRow& clock = completion.clock;
  out << "\"completion\": {\"timer_step_us\": " << static_cast<double>(clock.step) * 1e-3
      << ", \"clock_error_us\": " << static_cast<double>(clock.error) * 1e-3
      << ", \"drift_ns_per_ms\": " << clock.drift << ", \"rows\": [";
  const char* between = "\n";
  for (const Latency& row : completion.rows) {
    out << between << "  {\"what\": \"" << row.what << "\", \"how\": \"" << row.how
        << "\", \"samples\": " << row.samples << ", \"p50_us\": " << row.p50
        << ", \"p90_us\": " << row.p90 << ", \"p99_us\": " << row.p99
        << ", \"error_us\": " << row.error << ", \"goal_us\": " << row.goal << ", \"verdict\": \""
        << verdict(row) << "\", \"note\": \"" << row.note << "\"}";
    between = ",\n";
  }
  out << "]}";
}

}  // namespace carillon::bench
