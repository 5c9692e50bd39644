// A flowgraph that runs (engine/dataflow/runner.hpp).
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "dataflow/runner.hpp"
#include "lone.hpp"

namespace carillon::bindings {

namespace nb = nanobind;

namespace {

using dataflow::EventRecord;
using dataflow::Executor;
using dataflow::Graph;
using dataflow::Happening;
using dataflow::NodeId;
using JobRow = std::tuple<NodeId, std::uint32_t, Tick, Tick, Tick>;
using Result = nb::typed<nb::dict, nb::str, nb::any>;

dataflow::Threads threads_of(const std::string& name) {
  if (name == "workers") return dataflow::Threads::Workers;
  if (name == "blocks") return dataflow::Threads::Blocks;
  require(name == "deadline", "threads must be workers, blocks or deadline");
  return dataflow::Threads::Deadline;
}

// Keeps the graph, which the runner refers to.
class Run {
 public:
  Run(nb::object graph, const dataflow::Batches& batches, const std::vector<const Lone*>& blocks,
      bool paced, std::vector<std::uint64_t> executions, std::vector<double> budgets, Tick bound_ns,
      std::vector<std::uint32_t> cores, int priority, const std::string& threads,
      std::size_t changes)
      : kept_(std::move(graph)),
        graph_(nb::cast<const Graph&>(kept_)),
        runner_(graph_, batches, shared(blocks),
                {.paced = paced,
                 .executions = std::move(executions),
                 .budgets = std::move(budgets),
                 .bound = bound_ns,
                 .changes = changes},
                {.threads = threads_of(threads), .cores = std::move(cores), .priority = priority}) {
  }

  // Workers may need the interpreter to end.
  ~Run() {
    const nb::gil_scoped_release released;
    runner_.stop();
    runner_.finish();
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  void start() {
    const nb::gil_scoped_release released;
    runner_.start();
  }
  void stop() { runner_.stop(); }
  bool ended() { return runner_.ended(); }
  std::vector<std::string> finish() {
    const nb::gil_scoped_release released;
    return runner_.finish();
  }
  bool change(NodeId node, const std::string& parameter, double value, std::uint64_t at) {
    require(node < graph_.size(), "there is no such node");
    return runner_.executor().change(node, {parameter, value, at});
  }

  Result state() {
    Result result;
    Executor& executor = runner_.executor();
    std::vector<Result> nodes;
    for (NodeId node = 0; node < graph_.size(); ++node) nodes.push_back(node_row(node));
    std::vector<Tick> idle;
    for (const auto& journal : executor.journals()) idle.push_back(journal->idle());
    result["elapsed_ns"] = executor.elapsed();
    result["nodes"] = nodes;
    result["idle_ns"] = idle;
    return result;
  }

  // When all workers have ended.
  Result account() {
    Executor& executor = runner_.executor();
    Result result = state();
    result["latencies"] = latencies();
    result["left"] = left();
    const dataflow::Lateness lateness = executor.lateness();
    result["late"] = lateness.late;
    result["late_by_standstill"] = lateness.standstill;
    result["late_by_overrun"] = lateness.overrun;
    result["late_unexplained"] = lateness.unexplained;
    result["late_unlisted"] = lateness.unlisted;
    result["cpu_ns"] = runner_.cpu_times();
    result["complaints"] = runner_.complaints();
    Tick longest = 0;
    for (const auto& journal : executor.journals())
      longest = std::max(longest, journal->longest_standstill());
    std::vector<std::pair<Tick, Tick>> listed;
    for (const EventRecord& event : executor.events())
      if (event.what == Happening::Gap || event.what == Happening::Interruption) {
        listed.emplace_back(event.start - executor.begun(), event.end - event.start);
        longest = std::max(longest, listed.back().second);
      }
    std::ranges::sort(listed);
    result["standstills"] = executor.standstills();
    result["longest_standstill_ns"] = longest;
    result["standstills_ns"] = listed;
    return result;
  }

  // Of each worker's last jobs: node, executions, release, start and end in ns since it began.
  std::vector<std::vector<JobRow>> jobs() {
    std::vector<std::vector<JobRow>> all;
    const Tick begun = runner_.executor().begun();
    for (const auto& journal : runner_.executor().journals()) {
      all.emplace_back();
      for (const dataflow::JobRecord& job : journal->jobs())
        all.back().emplace_back(job.node, job.executions, job.release - begun, job.start - begun,
                                job.end - begun);
    }
    return all;
  }

 private:
  static std::vector<std::shared_ptr<dataflow::Block>> shared(const std::vector<const Lone*>& all) {
    std::vector<std::shared_ptr<dataflow::Block>> found;
    for (const Lone* lone : all) found.push_back(lone->shared());
    return found;
  }

  Result node_row(NodeId node) {
    const Executor& executor = runner_.executor();
    const dataflow::NodeAccount account = executor.account(node);
    Result row;
    row["jobs"] = account.jobs;
    row["executions"] = account.executions;
    row["busy_ns"] = account.busy;
    row["longest_job_ns"] = account.longest_job;
    row["longest_response_ns"] = account.longest_response;
    row["longest_latency_ns"] = account.longest_latency;
    row["lost_tags"] = account.lost_tags;
    row["filled"] = executor.filled(node);
    row["capacity"] = executor.capacity(node);
    row["changes"] = account.changes;
    row["late_changes"] = account.late_changes;
    std::vector<nb::tuple> figures;
    for (const auto& figure : runner_.block(node).figures())
      figures.push_back(nb::make_tuple(figure.name, figure.value, figure.unit));
    row["figures"] = figures;
    return row;
  }

  // Of each sink whose sources were paced.
  std::vector<Result> latencies() {
    std::vector<Result> rows;
    for (NodeId node = 0; node < graph_.size(); ++node) {
      const dataflow::Histogram& histogram = runner_.executor().latencies(node);
      if (histogram.count() == 0) continue;
      Result row;
      row["node"] = node;
      row["jobs"] = histogram.count();
      const Tick longest = runner_.executor().account(node).longest_latency;
      row["p50_ns"] = std::min(histogram.quantile(0.5), longest);
      row["p99_ns"] = std::min(histogram.quantile(0.99), longest);
      row["p999_ns"] = std::min(histogram.quantile(0.999), longest);
      row["bins"] = histogram.bins();
      row["longest_ns"] = longest;
      rows.push_back(row);
    }
    return rows;
  }

  std::vector<std::uint64_t> left() {
    std::vector<std::uint64_t> found;
    for (dataflow::EdgeId edge = 0; edge < graph_.edges().size(); ++edge)
      found.push_back(runner_.executor().left(edge));
    return found;
  }

  nb::object kept_;
  const Graph& graph_;
  dataflow::Runner runner_;
};

}  // namespace

void bind_flowgraph_run(nb::module_& core) {
  using namespace nb::literals;
  nb::class_<Run>(core, "FlowgraphRun",
                  "A flowgraph that runs in its batches (engine/dataflow/runner.hpp).")
      .def(nb::init<nb::object, const dataflow::Batches&, const std::vector<const Lone*>&, bool,
                    std::vector<std::uint64_t>, std::vector<double>, Tick,
                    std::vector<std::uint32_t>, int, const std::string&, std::size_t>(),
           "graph"_a, "batches"_a, "blocks"_a, "paced"_a, "executions"_a, "budgets_ns"_a,
           "bound_ns"_a, "cores"_a, "priority"_a, "threads"_a, "changes"_a,
           nb::sig("def __init__(self, graph: Flowgraph, batches: "
                   "collections.abc.Sequence[int], blocks: collections.abc.Sequence[Block], "
                   "paced: bool, executions: collections.abc.Sequence[int], budgets_ns: "
                   "collections.abc.Sequence[float], bound_ns: int, cores: "
                   "collections.abc.Sequence[int], priority: int, threads: str, changes: "
                   "int) -> None"),
           "executions: of each source, 0: without end. budgets_ns: what a batch of each node is\n"
           "planned to take; empty: nothing is. cores: a worker on each. ValueError where blocks "
           "do\n"
           "not fit the graph.")
      .def("start", &Run::start, "RuntimeError of a device that does not start.")
      .def("stop", &Run::stop, "Sources give nothing more; what they gave is worked off.")
      .def("ended", &Run::ended)
      .def("finish", &Run::finish, "Waits, and closes devices; what went wrong with them.")
      .def("change", &Run::change, "node"_a, "parameter"_a, "value"_a, "at"_a = 0,
           "Before the node's execution `at`, or its next. False: another change still waits.")
      .def("state", &Run::state, "While it runs.")
      .def("account", &Run::account, "When it has ended and is finished.")
      .def("jobs", &Run::jobs,
           "Of each worker's last jobs: node, executions, release, start, end in ns; when it has\n"
           "ended.");
}

}  // namespace carillon::bindings
