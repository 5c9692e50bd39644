// What scheduling costs as sources come to share it, in real time, per frame: sources of one kind,
// one frame each in every millisecond, which together keep half of eight imaginary cores busy. A
// cost that does not depend on the others stays the same from row to row.
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "runtime/policy.hpp"
#include "runtime/simulation.hpp"
#include "support/bench.hpp"

namespace {

using namespace carillon;
using namespace carillon::runtime;

constexpr Tick kFrame = kMillisecond;
constexpr std::uint32_t kCores = 8;
constexpr std::uint64_t kFrames = 24;  // of each source

/// Times what a policy is asked.
class Timed final : public Policy {
 public:
  explicit Timed(std::string_view name) : policy_(make_policy(name)) {}
  Admission admit(const View& view, FrameRef frame) override {
    const Tick start = carillon::now();
    const Admission verdict = policy_->admit(view, frame);
    admitting += carillon::now() - start;
    return verdict;
  }
  std::size_t decide(const View& view, std::span<Issue> out) override {
    const Tick start = carillon::now();
    const std::size_t count = policy_->decide(view, out);
    deciding += carillon::now() - start;
    return count;
  }
  Tick admitting = 0, deciding = 0;

 private:
  std::unique_ptr<Policy> policy_;
};

// A pilot, six uplink symbols, and six downlink symbols each of which may be late alone.
Graph up_and_down() {
  enum : std::uint16_t { kFft, kInvert, kDemodulate, kDecode, kEncode, kPrecode };
  GraphBuilder builder;
  const Tick symbol = kFrame / 13;
  const auto pilot = builder.add({.opcode = kFft,
                                  .feed = Feed::Arrivals,
                                  .chunks = 1,
                                  .release = symbol,
                                  .deadline = 2 * kFrame});
  const auto invert = builder.add({.opcode = kInvert, .chunks = 4, .deadline = 2 * kFrame});
  builder.depend(pilot, invert);
  for (std::uint16_t s = 1; s < 7; ++s) {
    const auto add = [&](std::uint16_t opcode, std::uint32_t chunks, Feed feed, Tick release) {
      return builder.add({.opcode = opcode,
                          .step = s,
                          .feed = feed,
                          .chunks = chunks,
                          .release = release,
                          .deadline = 2 * kFrame});
    };
    const auto fft = add(kFft, 1, Feed::Arrivals, (s + 1) * symbol);
    const auto demodulate = add(kDemodulate, 4, Feed::Commits, kAlways);
    const auto decode = add(kDecode, 2, Feed::Commits, kAlways);
    builder.depend(fft, demodulate);
    builder.depend(invert, demodulate);
    builder.depend(demodulate, decode);
  }
  for (std::uint16_t s = 7; s < 13; ++s) {
    const auto add = [&](std::uint16_t opcode, std::uint32_t chunks) {
      return builder.add({.opcode = opcode,
                          .step = s,
                          .drop_alone = true,
                          .chunks = chunks,
                          .deadline = s * symbol});
    };
    const auto encode = add(kEncode, 2), precode = add(kPrecode, 4);
    builder.depend(encode, precode);
    builder.depend(invert, precode);
  }
  return std::move(*builder.build().graph);
}

std::vector<Cost> half_of_the_cores(const Graph& graph, std::uint16_t sources) {
  double chunks = 0;
  for (const Instruction& each : graph.instructions()) chunks += each.chunks;
  const double work = 0.5 * kCores * kFrame / sources;
  return std::vector<Cost>(graph.opcodes(), {0, static_cast<Tick>(work / chunks)});
}

struct PerFrame {
  double admitting, deciding, all;  // ns per frame
};

PerFrame measure(const Graph& graph, std::uint16_t sources) {
  Timed policy("earliest-frame");
  Simulation simulation(
      std::vector<Simulation::Source>(sources, {graph, 4, {}, half_of_the_cores(graph, sources)}),
      policy, kCores);
  for (std::uint16_t c = 0; c < sources; ++c)
    for (std::uint64_t n = 0; n < kFrames; ++n) {
      const Tick start = static_cast<Tick>(n) * kFrame + c * kFrame / sources;
      simulation.begin(start, {n, c}, start);
      for (std::uint16_t i = 0; i < graph.size(); ++i)
        if (graph[i].feed == Feed::Arrivals)
          simulation.arrive(start + graph[i].release, {n, c}, i, 0);
    }
  const Tick start = now();
  simulation.run();
  const double frames = static_cast<double>(kFrames) * sources;
  return {static_cast<double>(policy.admitting) / frames,
          static_cast<double>(policy.deciding) / frames,
          static_cast<double>(now() - start) / frames};
}

void run(bench::Bench& bench) {
  const Graph graph = up_and_down();
  for (const std::uint16_t sources : std::initializer_list<std::uint16_t>{1, 8, 16, 32, 64}) {
    const auto row = [&](const char* kernel) {
      return bench::Case{.kernel = kernel,
                         .shape = std::to_string(sources) + (sources == 1 ? " cell" : " cells"),
                         .per = "frame"};
    };
    const bench::Case admission = row("admission"), decisions = row("decisions"),
                      all = row("a frame in virtual time");
    if (!(bench.begin(admission) | bench.begin(decisions) | bench.begin(all))) continue;
    std::vector<double> admitting, deciding, together;
    for (int round = 0; round < 5; ++round) {
      const PerFrame cost = measure(graph, sources);
      admitting.push_back(cost.admitting);
      deciding.push_back(cost.deciding);
      together.push_back(cost.all);
    }
    const auto report = [&](const bench::Case& c, std::vector<double>& values) {
      if (bench.wants(c.kernel, c.shape)) bench.report(c, bench::summary(values));
    };
    report(admission, admitting);
    report(decisions, deciding);
    report(all, together);
  }
}

const bench::Group group("runtime/cells", run);

}  // namespace
