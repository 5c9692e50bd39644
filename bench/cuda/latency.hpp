// How soon a host sees what a device did, from readings of both their clocks, and how such times
// are shown. Arithmetic alone: it needs no device.
#pragma once

#include <cstddef>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "base/tick.hpp"

namespace carillon::bench {

/// What the device's clock showed at some instant after `before` and before `after`, which are the
/// host's. ns.
struct Reading {
  Tick before = 0, device = 0, after = 0;
};

/// How far the device's clock is ahead of the host's. ns.
struct Offset {
  Tick host = 0;   ///< when, by the host's clock
  Tick ahead = 0;  ///< the middle of what all readings allow
  Tick error = 0;  ///< to either side
  Tick took = 0;   ///< from the first reading to the last
};

/// Of some ms of readings. Each says that the offset is between device − after and device + step −
/// before, so the quickest of many round trips count. `step`: by so much the device's clock jumps.
/// None: there is no reading, or no offset that all of them allow.
std::optional<Offset> compare(std::span<const Reading> readings, Tick step);

/// The device's clock in the host's terms, between two comparisons: it drifts evenly from one to
/// the other.
class Clocks {
 public:
  Clocks() = default;
  /// `step`: as of compare().
  Clocks(const Offset& first, const Offset& second, Tick step);

  /// What the host's clock was when the device's showed that.
  Tick on_host(Tick device) const;
  /// Of on_host(), to either side: what the readings leave open, the drift while they were taken,
  /// and half a step. ns.
  Tick error() const { return error_; }
  /// Of the device's clock, in ns for each ms.
  double drift() const { return drift_ * 1e6; }

 private:
  Offset first_;
  double drift_ = 0;
  Tick half_step_ = 0, error_ = 0;
};

/// A kernel that the host waited for. `ready` and `seen`: when it began to look, and when it saw
/// that the kernel was over, by the host's clock; `end`: when it was, by the device's. ns.
struct Round {
  Tick ready = 0, seen = 0, end = 0;
};

/// How long after the end it was seen, µs, of those for which the host was ready in time.
std::vector<double> seen_after(std::span<const Round> rounds, const Clocks& clocks);

/// The value below which that part of them lies. There is at least one.
double share(const std::vector<double>& sorted, double part);

/// Times of one kind, µs. A goal is for the 90th percentile; 0: there is none.
struct Latency {
  std::string what, how;
  std::size_t samples = 0;
  double p50 = 0, p90 = 0, p99 = 0;
  double error = 0;  ///< of each, to either side
  double goal = 0;
  std::string note;
};

/// Of samples in µs; none of them: all is 0, and no goal is met.
Latency latency(std::string what, std::string how, std::vector<double> samples, double error,
                double goal);

/// "met", "missed", or "too close to tell" when the goal lies within the error; without a goal
/// nothing.
std::string verdict(const Latency& row);

/// What a symbol's launches amount to: whether handing them over takes the host longer than the
/// device needs for the same kernels in one graph, and how much longer the device takes for them.
std::string launches(double host_us, double device_us, double graph_us);

/// As a line for people.
std::string text(const Latency& row);

/// What all such rows have in common: how the clocks were compared.
struct ClockRow {
  Tick step = 0;     ///< of the device's clock, ns
  Tick error = 0;    ///< the most of all comparisons, ns
  double drift = 0;  ///< the most, ns for each ms
};

struct Completion {
  ClockRow clock;
  std::vector<Latency> rows;
};

/// µs, for nine of ten: until the host sees that a kernel is over, and for the calls of an issue.
inline constexpr double kCompletionGoal = 2;
/// The rows of what an executor does, `what` and `how`.
inline constexpr char kEndSeen[] = "end of a kernel seen";
inline constexpr char kByStream[] = "by a word that the stream writes";
inline constexpr char kIssue[] = "host's time for an issue";
inline constexpr char kAllCalls[] = "all four calls";

/// As member "completion" of a JSON object.
void write_completion(std::ostream& out, const Completion& completion);

}  // namespace carillon::bench
