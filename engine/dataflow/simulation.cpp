#include "dataflow/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <stdexcept>

#include "base/random.hpp"

namespace carillon::dataflow {
namespace {

using Time = std::int64_t;
constexpr Time kNever = std::numeric_limits<Time>::max();

struct Job {
  Time release, left;
};

// A task's jobs that were released and have not ended. The first of them is ready or runs.
struct TaskState {
  std::deque<Job> jobs;
  Time last_release = 0;
  std::uint64_t released = 0, ended = 0;
  bool timed = false;  ///< its next release has a time
};

// What comes first in a queue: the earlier time, then the lower number.
using Due = std::pair<Time, std::uint32_t>;
using Queue = std::priority_queue<Due, std::vector<Due>, std::greater<>>;

struct Running {
  Due priority;
  Time end;
};

class Simulation {
 public:
  Simulation(const Workload& workload, const SimulationOptions& options)
      : tasks_(workload.tasks),
        edges_(workload.edges),
        options_(options),
        random_(options.seed),
        states_(tasks_.size()),
        inputs_(tasks_.size()),
        outputs_(tasks_.size()) {
    for (EdgeId e = 0; e < edges_.size(); ++e) {
      inputs_[edges_[e].to].push_back(e);
      outputs_[edges_[e].from].push_back(e);
    }
    found_.response.assign(tasks_.size(), 0);
    found_.most.assign(edges_.size(), 0);
    found_.ends.resize(tasks_.size());
    running_.reserve(options.machine.cores);
  }

  Simulated run() {
    for (std::uint32_t v = 0; v < tasks_.size(); ++v)
      if (inputs_[v].empty()) release_later(v, tasks_[v].first + delay(v));
    for (;;) {
      Time now = releases_.empty() ? kNever : releases_.top().first;
      for (const Running& job : running_) now = std::min(now, job.end);
      if (now == kNever) return std::move(found_);
      end_jobs(now);
      while (!releases_.empty() && releases_.top().first <= now) {
        const std::uint32_t v = releases_.top().second;
        releases_.pop();
        states_[v].timed = false;
        release(v, now);
      }
      dispatch(now);
    }
  }

 private:
  Time delay(std::uint32_t v) {
    if (options_.most_delay <= 0) return 0;
    return static_cast<Time>(random_.uniform() * options_.most_delay *
                             static_cast<double>(tasks_[v].period));
  }

  Time cost(std::uint32_t v) {
    const Time most = tasks_[v].cost;
    if (options_.least_cost >= 1) return most;
    const double share = options_.least_cost + (1 - options_.least_cost) * random_.uniform();
    return static_cast<Time>(share * static_cast<double>(most));
  }

  void release_later(std::uint32_t v, Time at) {
    if (inputs_[v].empty() && at >= options_.until) return;
    releases_.emplace(at, v);
    states_[v].timed = true;
  }

  void release(std::uint32_t v, Time now) {
    TaskState& state = states_[v];
    ++found_.events;
    ++state.released;
    state.last_release = now;
    state.jobs.push_back({now, cost(v)});
    if (state.jobs.size() == 1) ready_.emplace(now + tasks_[v].point, v);
    for (const EdgeId e : outputs_[v]) {
      const std::uint64_t held =
          state.released * edges_[e].produce - states_[edges_[e].to].ended * edges_[e].consume;
      found_.most[e] = std::max(found_.most[e], held);
    }
    if (inputs_[v].empty())
      release_later(v, now + tasks_[v].period + delay(v));
    else
      release_if_there(v, now);
  }

  // The next job of one with inputs, once its samples are there.
  void release_if_there(std::uint32_t v, Time now) {
    TaskState& state = states_[v];
    if (state.timed) return;
    for (const EdgeId e : inputs_[v])
      if (states_[edges_[e].from].ended * edges_[e].produce <
          edges_[e].threshold + state.released * edges_[e].consume)
        return;
    const Time at = state.released == 0 ? now : state.last_release + tasks_[v].period;
    if (at > now)
      release_later(v, at);
    else
      release(v, now);
  }

  void end_jobs(Time now) {
    ended_.clear();
    std::erase_if(running_, [&](const Running& job) {
      if (job.end > now) return false;
      ended_.push_back(job.priority.second);
      return true;
    });
    for (const std::uint32_t v : ended_) {
      TaskState& state = states_[v];
      ++found_.events;
      ++state.ended;
      found_.response[v] = std::max(found_.response[v], now - state.jobs.front().release);
      state.jobs.pop_front();
      if (!state.jobs.empty()) ready_.emplace(state.jobs.front().release + tasks_[v].point, v);
      if (outputs_[v].empty()) found_.ends[v].push_back(now);
    }
    for (const std::uint32_t v : ended_)
      for (const EdgeId e : outputs_[v]) release_if_there(edges_[e].to, now);
  }

  void start(Time now) {
    const Due first = ready_.top();
    ready_.pop();
    running_.push_back({first, now + states_[first.second].jobs.front().left});
  }

  void dispatch(Time now) {
    while (!ready_.empty() && running_.size() < options_.machine.cores) start(now);
    if (!options_.machine.preemptive) return;
    while (!ready_.empty()) {
      const auto last = std::ranges::max_element(running_, {}, &Running::priority);
      if (last->priority <= ready_.top()) return;
      states_[last->priority.second].jobs.front().left = last->end - now;
      const Due preempted = last->priority;
      running_.erase(last);
      start(now);
      ready_.push(preempted);
      ++found_.preempted;
    }
  }

  const std::vector<SimulatedTask>& tasks_;
  const std::vector<Edge>& edges_;
  const SimulationOptions& options_;
  Random random_;
  std::vector<TaskState> states_;
  std::vector<std::vector<EdgeId>> inputs_, outputs_;
  Queue releases_, ready_;
  std::vector<Running> running_;
  std::vector<std::uint32_t> ended_;
  Simulated found_;
};

std::invalid_argument too_fine() {
  return std::invalid_argument("the periods of this graph have no common unit of 64 bits");
}

// The longest unit of which every period is a whole number of, as units a second.
Ratio units(const Graph& graph) {
  Ratio all = graph.rate(0);
  for (NodeId v = 1; v < graph.size(); ++v) {
    const auto numerator = common_multiple(all.numerator, graph.rate(v).numerator);
    if (!numerator) throw too_fine();
    all = {*numerator, std::gcd(all.denominator, graph.rate(v).denominator)};
  }
  return all;
}

// Executions of each node after which nothing of the sample is left to come, of those behind its
// source; else nothing.
void follow(const Graph& graph, NodeId source, std::uint64_t sample,
            std::vector<std::int64_t>& last) {
  for (const NodeId v : graph.order()) {
    last[v] = v == source ? static_cast<std::int64_t>(sample) : -1;
    for (const EdgeId e : graph.inputs(v)) {
      const Edge& edge = graph.edges()[e];
      if (last[edge.from] < 0) continue;
      const auto produce = static_cast<std::int64_t>(edge.produce);
      // It takes away the last sample, which it was the last to read.
      const std::int64_t beyond = (last[edge.from] + 1) * produce - 1;
      last[v] = std::max(last[v], beyond / static_cast<std::int64_t>(edge.consume));
    }
  }
}

}  // namespace

Simulated simulate(const Workload& workload, const SimulationOptions& options) {
  return Simulation(workload, options).run();
}

Timeline timeline_of(const Graph& graph, const Batches& batches, double unit_ns) {
  const Ratio common = units(graph);
  const double longest_ns = 1e9 / common.value();
  const auto parts = static_cast<std::uint64_t>(std::ceil(longest_ns / unit_ns));
  Timeline timeline;
  timeline.unit_ns = longest_ns / static_cast<double>(parts);
  constexpr std::uint64_t most = std::uint64_t{1} << 40;  // leaves room for a million periods
  for (NodeId v = 0; v < graph.size(); ++v) {
    const Ratio rate = graph.rate(v);
    const auto period = scaled(common, rate.denominator, rate.numerator);
    const auto fine = period ? product(period->numerator, parts) : std::nullopt;
    const auto batched = fine ? product(*fine, batches[v]) : std::nullopt;
    if (!batched || *batched > most) throw too_fine();
    const double cost = graph.nodes()[v].cost.of(batches[v]) / timeline.unit_ns;
    const auto whole = static_cast<Time>(*batched);
    timeline.workload.tasks.push_back(
        {whole, static_cast<Time>(std::floor(cost)), whole, whole - static_cast<Time>(*fine)});
  }
  for (const Edge& edge : graph.edges())
    timeline.workload.edges.push_back({edge.from, edge.to, edge.produce * batches[edge.from],
                                       edge.threshold + (batches[edge.to] - 1) * edge.consume,
                                       edge.consume * batches[edge.to]});
  return timeline;
}

std::int64_t longest_latency(const Graph& graph, const Batches& batches, const Timeline& timeline,
                             const Simulated& simulated) {
  std::int64_t longest = 0;
  std::vector<std::int64_t> last(graph.size());
  for (const NodeId source : graph.order()) {
    if (!graph.is_source(source)) continue;
    const auto batch = static_cast<std::int64_t>(batches[source]);
    const std::int64_t period = timeline.workload.tasks[source].period / batch;
    bool whole = true;
    for (std::uint64_t sample = 0; whole; ++sample) {
      follow(graph, source, sample, last);
      const std::int64_t arrival = static_cast<std::int64_t>(sample) * period;
      for (NodeId v = 0; v < graph.size(); ++v) {
        if (!graph.is_sink(v) || last[v] < 0) continue;
        const auto job = static_cast<std::uint64_t>(last[v]) / batches[v];
        whole = whole && job < simulated.ends[v].size();
        if (job < simulated.ends[v].size())
          longest = std::max(longest, simulated.ends[v][job] - arrival);
      }
    }
  }
  return longest;
}

}  // namespace carillon::dataflow
