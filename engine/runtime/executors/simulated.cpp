#include "runtime/executors/simulated.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace carillon::runtime {
namespace {

// What is at most so large a share of the distribution.
double factor_at(std::span<const Quantile> spread, double share) {
  const auto above = std::find_if(spread.begin() + 1, spread.end() - 1,
                                  [&](const Quantile& point) { return point.share > share; });
  const Quantile &low = above[-1], &high = *above;
  return std::lerp(low.factor, high.factor, (share - low.share) / (high.share - low.share));
}

}  // namespace

SimulatedExecutor::SimulatedExecutor(ScoreboardWriter& board, std::span<const Arrivals> arrivals,
                                     std::vector<std::vector<Cost>> costs, std::uint64_t seed)
    : board_(board),
      arrivals_(arrivals),
      costs_(std::move(costs)),
      devices_(board.devices().size()),
      random_(seed) {
  for (std::uint16_t c = 0; c < costs_.size(); ++c) costs_[c].resize(board_[c].graph().opcodes());
}

void SimulatedExecutor::issue(const Issue& issue, Tick) noexcept {
  const auto place = std::upper_bound(
      live_.begin(), live_.end(), issue.priority,
      [](const Priority& priority, const Live& live) { return priority < live.issue.priority; });
  live_.insert(place, {.issue = issue,
                       .next = issue.first,
                       .left = issue.count,
                       .record = {.what = issue.what, .count = issue.count}});
}

std::size_t SimulatedExecutor::poll(std::span<Finished> out) noexcept {
  const std::size_t count = std::min(out.size(), finished_.size());
  const auto end = finished_.begin() + static_cast<std::ptrdiff_t>(count);
  std::copy(finished_.begin(), end, out.begin());
  finished_.erase(finished_.begin(), end);
  return count;
}

std::uint32_t SimulatedExecutor::undone(const InstanceId& what) const noexcept {
  std::uint32_t chunks = 0;
  for (const Live& live : live_)
    if (live.issue.what == what) chunks += live.left;
  return chunks;
}

void SimulatedExecutor::cancel(const InstanceId& what) noexcept {
  for (std::size_t i = live_.size(); i-- > 0;) {
    Live& live = live_[i];
    if (!(live.issue.what == what)) continue;
    const std::uint32_t unclaimed = live.issue.first + live.issue.count - live.next;
    live.next += unclaimed;
    live.record.count -= unclaimed;
    if (unclaimed != 0) subtract(i, unclaimed);
  }
}

void SimulatedExecutor::subtract(std::size_t index, std::uint32_t chunks) {
  Live& live = live_[index];
  live.left -= chunks;
  if (live.left != 0) return;
  finished_.push_back(live.record);
  live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(index));
}

void SimulatedExecutor::advance(Tick now) {
  for (std::uint32_t d = 0; d < devices_.size(); ++d) {
    if (!devices_[d].running || devices_[d].execution.end > now) continue;
    devices_[d].running = false;
    board_.device(d).running = false;
    finish(devices_[d].execution);
  }
}

void SimulatedExecutor::finish(const Execution& execution) {
  for (std::size_t i = 0; i < live_.size(); ++i) {
    Live& live = live_[i];
    const Issue& issue = live.issue;
    if (!(issue.what == execution.what) || execution.first < issue.first ||
        execution.first >= issue.first + issue.count) {
      continue;
    }
    live.record.busy += execution.end - execution.start;
    live.record.at = execution.end;
    return subtract(i, execution.count);
  }
}

std::uint32_t SimulatedExecutor::claimable(const Live& live, std::uint32_t device) const {
  if (!live.issue.where.test(device)) return 0;
  const InstanceId& what = live.issue.what;
  const std::uint32_t left = live.issue.first + live.issue.count - live.next;
  const std::uint32_t count = std::min(live.issue.grain, left);
  const std::uint16_t* arrived = arrivals_[what.source].list(what.slot, what.instruction);
  return arrived == nullptr ? count : Arrivals::available(arrived, live.next, count);
}

Tick SimulatedExecutor::duration(const Live& live, std::uint32_t count) {
  const InstanceId& what = live.issue.what;
  const Cost& cost = costs_[what.source][board_[what.source].graph()[what.instruction].opcode];
  Tick time = cost.claim + cost.chunk * count;
  if (!cost.spread.empty())
    time = std::llround(static_cast<double>(time) * factor_at(cost.spread, random_.uniform()));
  const bool last = live.next + count == live.issue.first + live.issue.count;
  return last ? time + cost.commit : time;
}

bool SimulatedExecutor::start(Tick now) {
  bool started = false;
  for (std::uint32_t d = 0; d < devices_.size(); ++d) {
    if (devices_[d].running) continue;
    for (Live& live : live_) {
      const std::uint32_t count = claimable(live, d);
      if (count == 0) continue;
      const InstanceId& what = live.issue.what;
      const Tick end = now + duration(live, count);
      devices_[d] = {true, {what, d, live.next, count, now, end}};
      executions_.push_back(devices_[d].execution);
      board_.device(d) = {.running = true, .what = what, .start = now, .estimated_end = end};
      if (live.next == live.issue.first) {
        live.record.executed = now;
        live.record.device = static_cast<std::uint16_t>(d);
      }
      live.next += count;
      started = true;
      break;
    }
  }
  return started;
}

Tick SimulatedExecutor::next() const {
  Tick next = kNever;
  for (const Device& device : devices_) {
    if (device.running) next = std::min(next, device.execution.end);
  }
  return next;
}

}  // namespace carillon::runtime
