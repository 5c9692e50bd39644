// What the runtime itself costs: dispatch and commit of empty chunks, against the number of
// workers. Goals: less than 50 ns per chunk, with two time stamps and a trace write, and less than
// 1 µs per instruction.
#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "base/cpu.hpp"
#include "base/thread.hpp"
#include "runtime/runtime.hpp"
#include "support/bench.hpp"

namespace {

using namespace carillon;
using namespace carillon::runtime;

void nothing(void*, const Task&) noexcept {}

Graph chain(std::uint32_t instructions, std::uint32_t chunks) {
  GraphBuilder builder;
  for (std::uint32_t i = 0; i < instructions; ++i) {
    const std::uint16_t id = builder.add({.step = static_cast<std::uint16_t>(i), .chunks = chunks});
    if (i > 0) builder.depend(static_cast<std::uint16_t>(id - 1), id);
  }
  return std::move(*builder.build().graph);
}

struct Cost {
  std::vector<double> wall;      // of a round, ns per frame
  std::vector<double> schedule;  // the same with the token, summed over workers
};

// Before the first thread is pinned, since threads inherit that.
const std::vector<std::uint32_t> cpus = allowed_cpus();

// Frames one after another, as fast as they go.
Cost measure(const Graph& graph, const char* policy_name, std::uint32_t workers,
             std::uint32_t grain, std::uint32_t frames) {
  const Opcode opcode{"Nothing", nothing};
  const auto policy = make_policy(policy_name);
  Runtime runtime({{graph, {{&opcode, 1}, nullptr}, 4, {grain}}}, *policy,
                  {.workers = workers, .trace = 1 << 14});
  const Runtime::Source source = runtime.source(0);
  std::atomic<bool> stop{false};
  std::atomic<std::uint32_t> running{1};
  std::vector<std::thread> threads;
  for (std::uint32_t w = 1; w < workers; ++w) {
    threads.emplace_back([&, w] {
      pin_thread(cpus[w % cpus.size()]);
      ++running;
      while (!stop.load(std::memory_order_relaxed)) {
        if (!runtime.work(w)) spin_pause();
      }
    });
  }
  pin_thread(cpus[0]);
  while (running.load() < workers) sleep_until(now() + kMillisecond);
  Cost cost;
  std::uint32_t frame = 0;
  for (int round = 0; round < 7; ++round) {
    const auto scheduled = [&] {
      Tick sum = 0;
      for (std::uint32_t w = 0; w < workers; ++w) sum += runtime.times(w).schedule;
      return static_cast<double>(sum);
    };
    const double schedule = scheduled();
    const Tick start = now();
    for (std::uint32_t f = 0; f < frames; ++f, ++frame) {
      source.begin(frame, 0);
      FrameEvent event;
      while (source.poll({&event, 1}) == 0) runtime.work(0);
      source.release(frame);
    }
    cost.wall.push_back(static_cast<double>(now() - start) / frames);
    cost.schedule.push_back((scheduled() - schedule) / frames);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  return cost;
}

struct Load {
  std::string name;
  std::function<Graph(std::uint32_t workers)> graph;
  std::uint32_t grain, frames;
  const char* per;
  double items;  // of a frame
  const char* policy = "earliest-frame";
};

void report(const bench::Bench& bench, const Load& load) {
  for (std::uint32_t workers = 1; workers <= cpus.size(); workers *= 2) {
    bench::Case all{.kernel = load.name,
                    .shape = std::to_string(workers) + (workers == 1 ? " worker" : " workers"),
                    .per = load.per,
                    .items = load.items};
    bench::Case token = all;
    token.kernel += ", scheduling";
    const bool any = bench.begin(all) | bench.begin(token);
    if (!any) continue;
    Cost cost = measure(load.graph(workers), load.policy, workers, load.grain, load.frames);
    if (bench.wants(all.kernel, all.shape)) bench.report(all, bench::summary(cost.wall));
    if (bench.wants(token.kernel, token.shape)) bench.report(token, bench::summary(cost.schedule));
  }
}

void run(bench::Bench& bench) {
  const auto of = [](std::uint32_t instructions, std::uint32_t chunks) {
    return [=](std::uint32_t) { return chain(instructions, chunks); };
  };
  report(bench, {"empty chunks", of(1, 100'000), 1, 10, "chunk", 100e3});
  report(bench, {"empty chunks by four", of(1, 100'000), 4, 10, "chunk", 100e3});
  report(bench, {"instructions of a chunk", of(1000, 1), 1, 50, "instruction", 1e3});
  report(bench, {"60 instructions of 12", of(60, 12), 1, 300, "frame", 1});
  // The unit test of Millipede (thesis, §5.4.1): each worker gets one empty job, and when all are
  // done the next, 8000 times.
  const auto jobs = [](std::uint32_t workers) { return chain(1000, workers); };
  report(bench, {"a job for each worker", jobs, 1, 8, "round", 1e3});
  report(bench, {"a fixed job for each worker", jobs, 1, 8, "round", 1e3, "static"});
}

const bench::Group group("runtime", run);

}  // namespace
