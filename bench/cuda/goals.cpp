#include "cuda/goals.hpp"

#include <algorithm>
#include <cstdio>

namespace carillon::bench {
namespace {

constexpr double kTail = 0.9999;
constexpr std::uint64_t kForTail = 20'000;  // two frames beyond it
constexpr double kShareOfBus = 90;          // %
constexpr double kNearSource = 0.9;         // of its rate: then it is what limits

template <typename... Values>
std::string format(const char* how, Values... values) {
  char text[240];
  std::snprintf(text, sizeof text, how, values...);
  return text;
}

// What a driver says may have quotes in it.
std::string quoted(std::string text) {
  std::erase_if(text, [](char c) { return c == '"' || c == '\\' || (c >= 0 && c < ' '); });
  return '"' + text + '"';
}

std::string count_of(std::uint64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// What must not be; empty: all is well.
std::string trouble(const Served& served) {
  if (served.wrong_blocks != 0) return count_of(served.wrong_blocks, "block") + " not as sent";
  return served.frames() == 0 && served.why.empty() ? "no frames" : served.why;
}

Goal frames_figure(const SustainedCells& cells, std::uint32_t count, const Served& served) {
  Goal figure = {.what = "frames in time, " + std::to_string(count) + " × " + cells.name,
                 .unit = "frames/s"};
  figure.note = trouble(served);
  figure.failed = !figure.note.empty();
  if (figure.failed) return figure;
  figure.value = static_cast<double>(served.in_time) / served.seconds;
  figure.note = format("%llu of %llu; their samples are %.1f GB/s",
                       static_cast<unsigned long long>(served.in_time),
                       static_cast<unsigned long long>(served.frames()), cells.needs * count);
  if (cells.bus > 0) figure.note += format(", the bus carries %.1f", cells.bus);
  return figure;
}

Goal completion_goal(const Completion& completion, const char* what, const char* how) {
  Goal goal = {.what = std::string(what) + ", " + how + ", p90", .unit = "µs"};
  goal.limit = kCompletionGoal;
  goal.note = "no such row was measured";
  for (const Latency& row : completion.rows)
    if (row.what == what && row.how == how && row.samples != 0) {
      goal.value = row.p90;
      goal.error = row.error;
      goal.note = "of " + std::to_string(row.samples);
    }
  return goal;
}

}  // namespace

std::string verdict(const Goal& goal) {
  if (goal.limit == 0) return "";
  if (!goal.value) return "not measured";
  const double within = goal.at_least ? *goal.value - goal.limit : goal.limit - *goal.value;
  if (within >= goal.error) return "met";
  return within < -goal.error ? "missed" : "too close to tell";
}

std::string text(const Goal& goal) {
  std::string line = goal.what + ": ";
  line += goal.value ? format("%.4g %s", *goal.value, goal.unit.c_str()) : "unknown";
  if (goal.error > 0) line += format(", ± %.2g", goal.error);
  line += goal.limit == 0 ? "; a figure, no goal"
                          : format("; goal at %s %g %s: %s", goal.at_least ? "least" : "most",
                                   goal.limit, goal.unit.c_str(), verdict(goal).c_str());
  return goal.note.empty() ? line : line + "; " + goal.note;
}

void write_goals(std::ostream& out, const std::vector<Goal>& goals) {
  out << "\"goals\": [";
  const char* between = "\n";
  for (const Goal& goal : goals) {
    out << between << "  {\"what\": " << quoted(goal.what) << ", \"value\": ";
    if (goal.value)
      out << *goal.value;
    else
      out << "null";
    out << ", \"unit\": " << quoted(goal.unit) << ", \"error\": " << goal.error
        << ", \"goal\": " << goal.limit << ", \"at_least\": " << (goal.at_least ? "true" : "false")
        << ", \"verdict\": \"" << verdict(goal) << "\", \"note\": " << quoted(goal.note) << "}";
    between = ",\n";
  }
  out << "]";
}

std::vector<Goal> completion_goals(const Completion& completion) {
  return {completion_goal(completion, kEndSeen, kByStream),
          completion_goal(completion, kIssue, kAllCalls)};
}

Goal latency_goal(const std::string& cell, const Served& served, double limit) {
  Goal goal = {.what = "latency of " + cell + ", p99.99", .unit = "ms"};
  goal.limit = limit;
  const std::uint64_t frames = served.frames();
  if (goal.note = trouble(served); !goal.note.empty()) {
    goal.failed = true;
  } else if (frames < kForTail) {
    const double part = 1 - 2 / static_cast<double>(frames);
    goal.note =
        format("%llu frames are too few; p%.4g is %.4g ms", static_cast<unsigned long long>(frames),
               100 * part, share(served.latency, part));
  } else {
    goal.value = share(served.latency, kTail);
    goal.note = format("of %llu frames, %llu of them in time; p50 %.4g, p99 %.4g",
                       static_cast<unsigned long long>(frames),
                       static_cast<unsigned long long>(served.in_time), share(served.latency, 0.5),
                       share(served.latency, 0.99));
    if (served.waited >= 0)
      goal.note += format("; the host's thread waited %.3g ms for a core", served.waited);
  }
  return goal;
}

bool sustained(const Served& served) {
  return served.wrong_blocks == 0 && served.frames() != 0 &&
         static_cast<double>(served.in_time) >= kTail * static_cast<double>(served.frames());
}

std::vector<Goal> sustained_figures(const SustainedCells& cells) {
  std::vector<Goal> figures;
  bool any = false;
  const std::uint32_t best = largest(cells.most, [&](std::uint32_t count) {
    const Served served = cells.serve(count);
    any = any || served.frames() != 0;
    figures.push_back(frames_figure(cells, count, served));
    return sustained(served);
  });
  Goal figure = {.what = "cells of " + cells.name + " sustained", .unit = "cells"};
  if (any) figure.value = best;
  figure.note =
      format("of %u at most; %.2f %% of frames within %lld ms of their start on air", cells.most,
             100 * kTail, static_cast<long long>(cells.deadline / kMillisecond));
  figures.push_back(figure);
  return figures;
}

std::uint32_t largest(std::uint32_t most, const std::function<bool(std::uint32_t)>& holds) {
  if (most == 0 || holds(most)) return most;
  std::uint32_t best = 0, failed = most;
  while (failed - best > 1) {
    const std::uint32_t middle = best + (failed - best) / 2;
    (holds(middle) ? best : failed) = middle;
  }
  return best;
}

Goal bus_goal(const std::string& what, const Rates& rates) {
  Goal goal = {.what = what, .unit = "% of the bus"};
  goal.limit = kShareOfBus;
  goal.at_least = true;
  if (rates.moved == 0 || rates.bus == 0) {
    goal.note = "no rate";
    return goal;
  }
  const double percent = 100 * rates.moved / rates.bus;
  goal.note = format("%.2f GB/s, %.3g %% of the bus", rates.moved * 1e-3, percent);
  if (rates.link > 0)
    goal.note +=
        format(", %.3g %% of what its link is reckoned to carry", 100 * rates.moved / rates.link);
  if (percent < kShareOfBus && rates.source > 0 && rates.moved >= kNearSource * rates.source)
    goal.note += format("; the radio's stand-in limits it, which brings %.2f GB/s to the host",
                        rates.source * 1e-3);
  else
    goal.value = percent;
  return goal;
}

}  // namespace carillon::bench
