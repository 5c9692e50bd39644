// What the runtime itself costs: dispatch and commit of empty chunks, against the number of
// workers. Budget (design, section 6): 22.6 ns per empty chunk with two time stamps and a trace
// write, less than 1 µs per instruction.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "base/cpu.hpp"
#include "base/thread.hpp"
#include "runtime/runtime.hpp"

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
  double wall;      // ns per frame
  double schedule;  // ns with the token per frame, summed over workers
};

// Before the first thread is pinned, since threads inherit that.
const std::vector<std::uint32_t> cpus = allowed_cpus();

// Frames one after another, as fast as they go; best of several rounds, since the machine is
// shared.
Cost measure(const Graph& graph, std::uint32_t workers, std::uint32_t grain, std::uint32_t frames) {
  const Opcode opcode{"Nothing", nothing};
  const auto policy = make_policy("earliest-frame");
  Runtime runtime(graph, {&opcode, 1}, nullptr, *policy,
                  {.workers = workers, .ring = 4, .grain = {grain}, .trace = 1 << 14});
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
  Cost best{1e18, 1e18};
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
      runtime.begin(frame, 0);
      FrameEvent event;
      while (runtime.poll({&event, 1}) == 0) runtime.work(0);
      runtime.release(frame);
    }
    const double wall = static_cast<double>(now() - start) / frames;
    if (wall < best.wall) best = {wall, (scheduled() - schedule) / frames};
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  return best;
}

void report(const char* what, std::uint32_t workers, double unit, const char* per, Cost cost) {
  std::printf("%-34s %u workers %9.1f ns per %s (%.1f ns of it scheduling)\n", what, workers,
              cost.wall / unit, per, cost.schedule / unit);
}

}  // namespace

int main(int argc, char** argv) {
  const auto most = argc > 1 ? static_cast<std::uint32_t>(std::atoi(argv[1]))
                             : std::min(2U, static_cast<std::uint32_t>(cpus.size()));
  const Graph chunks = chain(1, 100'000), instructions = chain(1000, 1), cell = chain(60, 12);
  for (std::uint32_t workers = 1; workers <= most; ++workers) {
    report("empty chunks", workers, 100'000, "chunk", measure(chunks, workers, 1, 10));
    report("empty chunks, 4 per claim", workers, 100'000, "chunk", measure(chunks, workers, 4, 10));
    report("instructions of one empty chunk", workers, 1000, "instruction",
           measure(instructions, workers, 1, 50));
    report("60 instructions of 12 chunks", workers, 1, "frame", measure(cell, workers, 1, 300));
  }
}
