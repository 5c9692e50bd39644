// What the runtime itself costs: dispatch and commit of empty chunks, against the number of
// workers. Budget (design, section 6): 22.6 ns per empty chunk with two time stamps and a trace
// write, less than 1 µs per instruction.
#include <algorithm>
#include <atomic>
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
Cost measure(const Graph& graph, std::uint32_t workers, std::uint32_t grain, std::uint32_t frames) {
  const Opcode opcode{"Nothing", nothing};
  const auto policy = make_policy("earliest-frame");
  Runtime runtime({{graph, {{&opcode, 1}, nullptr}, 4, {grain}}}, *policy,
                  {.workers = workers, .trace = 1 << 14});
  const Runtime::Cell cell = runtime.cell(0);
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
      cell.begin(frame, 0);
      FrameEvent event;
      while (cell.poll({&event, 1}) == 0) runtime.work(0);
      cell.release(frame);
    }
    cost.wall.push_back(static_cast<double>(now() - start) / frames);
    cost.schedule.push_back((scheduled() - schedule) / frames);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  return cost;
}

void report(const bench::Bench& bench, const std::string& what, const Graph& graph,
            std::uint32_t grain, std::uint32_t frames, const char* per, double items) {
  const auto most = std::min(2U, static_cast<std::uint32_t>(cpus.size()));
  for (std::uint32_t workers = 1; workers <= most; ++workers) {
    bench::Case all{.kernel = what,
                    .shape = std::to_string(workers) + (workers == 1 ? " worker" : " workers"),
                    .per = per,
                    .items = items};
    bench::Case token = all;
    token.kernel += ", scheduling";
    const bool any = bench.begin(all) | bench.begin(token);
    if (!any) continue;
    Cost cost = measure(graph, workers, grain, frames);
    if (bench.wants(all.kernel, all.shape)) bench.report(all, bench::summary(cost.wall));
    if (bench.wants(token.kernel, token.shape)) bench.report(token, bench::summary(cost.schedule));
  }
}

void run(bench::Bench& bench) {
  const Graph chunks = chain(1, 100'000), instructions = chain(1000, 1), cell = chain(60, 12);
  report(bench, "empty chunks", chunks, 1, 10, "chunk", 100'000);
  report(bench, "empty chunks by four", chunks, 4, 10, "chunk", 100'000);
  report(bench, "instructions of a chunk", instructions, 1, 50, "instruction", 1000);
  report(bench, "60 instructions of 12", cell, 1, 300, "frame", 1);
}

const bench::Group group("runtime", run);

}  // namespace
