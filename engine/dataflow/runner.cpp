#include "dataflow/runner.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <exception>
#include <stdexcept>

#include "base/thread.hpp"

namespace carillon::dataflow {
namespace {

constexpr Tick kPatience = kSecond, kLook = 5 * kMillisecond;

std::vector<Block*> pointers(const std::vector<std::shared_ptr<Block>>& blocks) {
  std::vector<Block*> found;
  for (const auto& block : blocks) found.push_back(block.get());
  return found;
}

ExecutorOptions with_workers(ExecutorOptions options, const RunnerOptions& of) {
  options.workers = std::max<std::size_t>(of.cores.size(), 1);
  options.worker_for_each = of.threads != Threads::Workers;
  return options;
}

}  // namespace

Runner::Runner(const Graph& graph, const Batches& batches,
               std::vector<std::shared_ptr<Block>> blocks, ExecutorOptions execution,
               RunnerOptions options)
    : graph_(graph),
      batches_(batches),
      budgets_(execution.budgets),
      blocks_(std::move(blocks)),
      options_(std::move(options)),
      executor_(graph, batches, pointers(blocks_), with_workers(std::move(execution), options_)),
      complaints_(executor_.journals().size()),
      cpu_times_(complaints_.size()) {}

Runner::~Runner() {
  stop();
  finish();
}

void Runner::start() {
  for (NodeId node = 0; node < graph_.size(); ++node) {
    try {
      blocks_[node]->start();
    } catch (const std::exception& error) {
      const std::string why = graph_.nodes()[node].name + ": " + error.what();
      finish();
      throw std::runtime_error(why);
    }
    ++started_;
  }
  executor_.prepare();
  for (std::size_t worker = 0; worker < complaints_.size(); ++worker)
    workers_.emplace_back(&Runner::work, this, worker);
}

void Runner::work(std::size_t worker) {
  const bool shared = options_.threads == Threads::Workers;
  name_thread(shared ? "flow " + std::to_string(worker) : graph_.nodes()[worker].name);
  prctl(PR_SET_TIMERSLACK, 1UL);  // ns, so that a sleep ends when it is to
  const auto attempt = [&](const Attempt& made) {
    if (made.done) return;
    std::string& complaint = complaints_[worker];
    complaint += (complaint.empty() ? "" : "; ") + made.reason;
  };
  if (shared && !options_.cores.empty()) attempt(pin_thread(options_.cores[worker]));
  if (options_.threads == Threads::Deadline)
    attempt(be_granted(worker));
  else if (options_.priority > 0)
    attempt(make_realtime(options_.priority));
  const Tick before = own_cpu_time();
  executor_.work(worker);
  cpu_times_[worker] = own_cpu_time() - before;
}

Attempt Runner::be_granted(std::size_t worker) const {
  const auto node = static_cast<NodeId>(worker);
  if (budgets_.empty())
    return {false, "SCHED_DEADLINE needs a plan, which says how long jobs take"};
  return make_deadline(
      static_cast<Tick>(budgets_[node]),
      static_cast<Tick>(static_cast<double>(batches_[node]) * graph_.period(node)));
}

bool Runner::ended() {
  for (NodeId node = 0; node < graph_.size() && failures_.empty(); ++node)
    if (const std::string why = blocks_[node]->failure(); !why.empty()) {
      failures_.push_back(graph_.nodes()[node].name + ": " + why);
      stop();
    }
  return executor_.ended();
}

// While a job runs, others have been executed meanwhile, or a device has taken something, the end
// is still on its way.
void Runner::wait_for_workers() {
  std::uint64_t before = 0;
  for (Tick since = now(); !workers_.empty() && !executor_.ended();) {
    std::uint64_t done = executor_.executed();
    for (const auto& block : blocks_) done += block->moved();
    if (done != before || executor_.at_work()) since = now();
    before = done;
    if (now() - since > kPatience) {
      for (NodeId node = 0; node < started_; ++node) blocks_[node]->abandon();
      break;
    }
    sleep_until(now() + kLook);
  }
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
}

std::vector<std::string> Runner::finish() {
  wait_for_workers();
  for (NodeId node = 0; node < started_; ++node) {
    try {
      blocks_[node]->finish();
    } catch (const std::exception& error) {
      const std::string why = graph_.nodes()[node].name + ": " + error.what();
      if (std::ranges::count(failures_, why) == 0) failures_.push_back(why);
    }
  }
  started_ = 0;
  return failures_;
}

std::vector<std::string> Runner::complaints() const {
  std::vector<std::string> found;
  for (std::size_t worker = 0; worker < complaints_.size(); ++worker)
    if (!complaints_[worker].empty())
      found.push_back("worker " + std::to_string(worker) + ": " + complaints_[worker]);
  return found;
}

}  // namespace carillon::dataflow
