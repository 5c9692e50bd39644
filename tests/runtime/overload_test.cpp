// More work than the devices can do, in virtual time: what is let in gets done, and nothing else is
// worked on.
#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "runtime/simulation.hpp"
#include "support/test.hpp"

namespace carillon::runtime {
namespace {

constexpr Tick kFrame = 1'000'000, kBudget = 1'000'000;
constexpr std::uint16_t kSymbols = 10;
constexpr std::uint64_t kFrames = 120;
enum : std::uint16_t { kFft, kInvert, kDemodulate, kDecode };

// A pilot and nine uplink symbols, each with a deadline after its end on air.
Graph frame_of_symbols() {
  GraphBuilder builder;
  std::uint16_t invert = 0;
  for (std::uint16_t s = 0; s < kSymbols; ++s) {
    const Tick end = (s + 1) * kFrame / kSymbols;
    const auto add = [&](std::uint16_t opcode, std::uint32_t chunks, Feed feed, Tick release) {
      return builder.add({.opcode = opcode,
                          .step = s,
                          .feed = feed,
                          .chunks = chunks,
                          .release = release,
                          .deadline = end + kBudget});
    };
    const auto fft = add(kFft, 16, Feed::Arrivals, end);
    if (s == 0) {
      invert = add(kInvert, 40, Feed::Commits, kAlways);
      builder.depend(fft, invert);
      continue;
    }
    const auto demodulate = add(kDemodulate, 40, Feed::Commits, kAlways);
    const auto decode = add(kDecode, 24, Feed::Commits, kAlways);
    builder.depend(fft, demodulate);
    builder.depend(invert, demodulate);
    builder.depend(demodulate, decode);
  }
  return std::move(*builder.build().graph);
}

// What frames cost by opcode when they ask for `load` of so many devices.
std::vector<Cost> costs_of(const Graph& graph, double load, std::uint32_t devices) {
  const double shares[] = {1, 3, 1, 6};
  double work = 0;
  for (const Instruction& i : graph.instructions()) work += i.chunks * shares[i.opcode];
  std::vector<Cost> costs;
  for (const double share : shares)
    costs.push_back({0, static_cast<Tick>(share * load * devices * kFrame / work)});
  return costs;
}

struct Outcome {
  double done = 0;    // share of the frames
  double wasted = 0;  // share of the devices' work that went into other frames
};

// Frames of equal sources, one after the other without a pause; the sources' begin one after the
// other.
class Overload {
 public:
  Overload(std::string_view policy, std::uint32_t devices, std::uint16_t sources = 1)
      : graph_(frame_of_symbols()),
        policy_(make_policy(policy)),
        devices_(devices),
        sources_(sources) {}

  // All sources together ask for `load`. Of frames from `lighter` on only every fourth chunk is
  // asked for. Frames from `first` on count.
  Outcome run(double load, std::uint64_t first = 20, std::uint64_t lighter = kFrames) {
    const Simulation::Source source{graph_, 8, std::vector<std::uint32_t>(4, 1),
                                    costs_of(graph_, load / sources_, devices_)};
    Simulation simulation(std::vector(sources_, source), *policy_, devices_);
    std::vector<std::uint32_t> fewer;
    for (const Instruction& i : graph_.instructions()) fewer.push_back(i.chunks / 4);
    for (std::uint16_t c = 0; c < sources_; ++c)
      for (std::uint64_t f = 0; f < kFrames; ++f)
        begin(simulation, {f, c}, f < lighter ? std::span<const std::uint32_t>{} : fewer);
    simulation.run();
    return outcome(simulation, first);
  }

 private:
  void begin(Simulation& simulation, FrameId id, std::span<const std::uint32_t> chunks) const {
    const Tick start = static_cast<Tick>(id.frame) * kFrame + id.source * kFrame / sources_;
    simulation.begin(start, id, start, chunks);
    for (std::uint16_t i = 0; i < graph_.size(); ++i)
      if (graph_[i].feed == Feed::Arrivals)
        for (std::uint32_t item = 0; item < (chunks.empty() ? graph_[i].chunks : chunks[i]); ++item)
          simulation.arrive(start + graph_[i].release, id, i, item);
  }

  Outcome outcome(const Simulation& simulation, std::uint64_t first) const {
    std::vector<std::vector<bool>> done(sources_, std::vector<bool>(kFrames));
    double count = 0;
    for (const FrameEvent& e : simulation.events()) {
      if (e.kind != FrameEvent::Kind::Done) continue;
      done[e.source][e.frame] = true;
      count += e.frame >= first;
    }
    Tick all = 0, wasted = 0;
    for (const Execution& e : simulation.executions()) {
      if (e.what.frame < first) continue;
      all += e.end - e.start;
      if (!done[e.what.source][e.what.frame]) wasted += e.end - e.start;
    }
    return {count / static_cast<double>(sources_ * (kFrames - first)),
            static_cast<double>(wasted) / static_cast<double>(all)};
  }

  Graph graph_;
  std::unique_ptr<Policy> policy_;
  std::uint32_t devices_;
  std::uint16_t sources_;
};

// The share of frames that the best of all schedules could do, if all of a frame's work were there
// with its first symbol and were divided at will: frames are alike, so each that can be in time is
// taken.
double best(double load) {
  const int frames = 1000;
  double busy_until = 0, done = 0;  // in frames
  for (int start = 0; start < frames; ++start) {
    const double end = std::max(busy_until, start + 1.0 / kSymbols) + load;
    if (end > start + 1 + static_cast<double>(kBudget) / kFrame) continue;
    busy_until = end;
    ++done;
  }
  return done / frames;
}

TEST(Overload, AllIsDoneThatCanBeAndTheDeadGetNoWork) {
  for (const std::string_view policy : {"earliest-frame", "static"})
    for (const std::uint32_t devices : {1U, 2U, 8U}) {
      Overload overload(policy, devices);
      for (const double load : {0.5, 0.9, 1.0, 1.02, 1.05, 1.1, 1.2, 1.27, 1.35, 1.4, 1.5, 1.7}) {
        const Outcome outcome = overload.run(load);
        EXPECT_GE(outcome.done, 0.98 * best(load));
        EXPECT_EQ(outcome.wasted, 0.0);
      }
    }
}

// Frames that are small beside the devices: what the others leave is never too little for one.
TEST(Overload, GoodputOfManyCellsStaysAtItsMaximum) {
  Overload overload("earliest-frame", 2, 5);
  EXPECT_EQ(overload.run(0.95).done, 1.0);
  for (const double load : {1.1, 1.5, 2.5}) {
    const Outcome outcome = overload.run(load);
    EXPECT_GE(outcome.done * load, 0.95);
    EXPECT_LE(outcome.wasted, 0.01);
  }
}

TEST(Overload, EndsWithWhatCausedIt) {
  Overload overload("earliest-frame", 2);
  const double load = 1.7;
  EXPECT_LE(overload.run(load, 20, 70).done, (50 * best(load) + 50) / 100 + 0.02);
  EXPECT_EQ(overload.run(load, 72, 70).done, 1.0);  // from the third frame on
}

}  // namespace
}  // namespace carillon::runtime
