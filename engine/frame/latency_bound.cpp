#include "frame/latency_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "frame/graph.hpp"
#include "frame/opcodes.hpp"
#include "runtime/scoreboard.hpp"

namespace carillon::frame {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();
constexpr double kTolerance = 1e-3;  // of a bound, below which it has settled
constexpr int kMostRounds = 1000;

// What the bound needs of an instruction. ns.
struct Load {
  double release = 0;  // not before that; of what is fed by packets: when the last one is there
  double claim = 0;    // of its longest claim, its commit included
  double work = 0;     // of all its claims
};

class Bounding {
 public:
  Bounding(const Frame& frame, std::uint32_t cores, const WorstCosts& costs)
      : frame_(frame),
        graph_(build_graph(frame, cores)),
        costs_(costs),
        cores_(cores),
        period_(static_cast<double>(frame.duration())),
        ends_(graph_.graph.size(), 0) {
    for (std::uint16_t id = 0; id < graph_.graph.size(); ++id) loads_.push_back(load(id));
    for (const Load& one : loads_) {
      released_.push_back(one.release);
      work_ += one.work;
    }
    in_order([&](std::uint16_t id) {
      for (const std::uint16_t source : graph_.graph[id].waits_for)
        released_[id] = std::max(released_[id], released_[source]);
    });
    for (std::uint32_t s = 0; s < frame.symbols().size(); ++s) arrive(s);
  }

  LatencyBound run() {
    int rounds = 0;
    while (work_ < cores_ * period_ && ++rounds < kMostRounds && lengthen()) {
    }
    const bool settled = rounds > 0 && rounds < kMostRounds;
    if (!settled || std::ranges::max(ends_) > most_overlap()) std::ranges::fill(ends_, kNone);
    LatencyBound found{.slack = runtime::kNever, .utilization = work_ / period_};
    const auto ticks = [](double ns) {
      return ns < 1e18 ? static_cast<Tick>(std::ceil(ns)) : runtime::kNever;
    };
    const auto first_downlink = frame_.symbols_of(SymbolKind::Downlink);
    for (std::uint16_t id = 0; id < graph_.graph.size(); ++id) {
      const runtime::Instruction& one = graph_.graph[id];
      const Tick end = ticks(ends_[id]);
      if (is_uplink(static_cast<Op>(one.opcode))) found.uplink = std::max(found.uplink, end);
      if (!first_downlink.empty() && id == graph_.transmit[first_downlink.front()])
        found.downlink = end;
      const Tick slack = end == runtime::kNever ? runtime::kAlways : one.deadline - end;
      if (one.deadline != runtime::kNever) found.slack = std::min(found.slack, slack);
    }
    return found;
  }

 private:
  // Packets may come one by one, each a claim; else claims are as large as asked for, but a core's
  // share.
  Load load(std::uint16_t id) const {
    const runtime::Instruction& one = graph_.graph[id];
    const double claim = costs_.claim_ns[one.opcode], chunk = costs_.chunk_ns[one.opcode];
    const std::uint32_t asked = one.opcode < costs_.grain.size() ? costs_.grain[one.opcode] : 0;
    double size = asked != 0 ? asked
                             : std::clamp(runtime::kClaim / std::max(claim + chunk, 1.0), 1.0,
                                          runtime::kMostChunks);
    size = std::min(std::floor(size), std::ceil(static_cast<double>(one.chunks) / cores_));
    const double claims =
        one.feed == runtime::Feed::Arrivals ? one.chunks : std::ceil(one.chunks / size);
    return {.release = std::max(0.0, static_cast<double>(one.release)),
            .claim = claim + size * chunk + costs_.commit_ns,
            .work = claims * claim + one.chunks * chunk + costs_.commit_ns};
  }

  void arrive(std::uint32_t symbol) {
    if (graph_.receive[symbol] == kNoInstruction) return;
    loads_[graph_.receive[symbol]].release = static_cast<double>(frame_.symbol(symbol).end) +
                                             costs_.packet_ns * (frame_.format().antennas - 1.0);
  }

  // Instructions in an order in which each comes after those that it waits for.
  template <typename Visit>
  void in_order(Visit&& visit) const {
    std::vector<std::uint16_t> ready, waits;
    for (const runtime::Instruction& one : graph_.graph.instructions())
      waits.push_back(one.predecessors);
    for (std::uint16_t id = 0; id < waits.size(); ++id)
      if (waits[id] == 0) ready.push_back(id);
    while (!ready.empty()) {
      const std::uint16_t id = ready.back();
      ready.pop_back();
      visit(id);
      for (const std::uint16_t next : graph_.graph[id].successors)
        if (--waits[next] == 0) ready.push_back(next);
    }
  }

  // Whether any bound grew.
  bool lengthen() {
    std::vector<double> starts;
    for (const Load& one : loads_) starts.push_back(one.release);
    std::ranges::sort(starts);
    starts.erase(std::ranges::unique(starts).begin(), starts.end());
    std::vector<double> ends = ends_;
    for (const double start : starts) from(start, ends);
    const bool longer = ends != ends_;
    ends_ = std::move(ends);
    return longer && std::ranges::max(ends_) <= most_overlap();
  }

  // Work that may be in the way, and from when on.
  struct InTheWay {
    double release, work;
  };

  // Paths that begin at one release.
  void from(double start, std::vector<double>& ends) {
    std::vector<InTheWay> others;
    for (std::uint16_t id = 0; id < loads_.size(); ++id)
      for (double apart = most_overlap(); ends_[id] + apart > start; apart -= period_)
        others.push_back({released_[id] + apart, loads_[id].work});
    std::ranges::sort(others, {}, &InTheWay::release);
    std::vector<double> length(loads_.size(), -1);
    in_order([&](std::uint16_t id) {
      double before = loads_[id].release == start ? 0 : -1;
      for (const std::uint16_t source : graph_.graph[id].waits_for)
        before = std::max(before, length[source]);
      if (before < 0) return;
      length[id] = before + loads_[id].claim;
      const double end = finish(start, length[id], others);
      if (end > ends[id] + kTolerance) ends[id] = end;
    });
  }

  // The least F for which F = a + L + (W(F) - L)/m, or never.
  double finish(double start, double length, const std::vector<InTheWay>& others) const {
    double end = start + length, work = 0;
    for (std::size_t next = 0;;) {
      while (next < others.size() && others[next].release < end) work += others[next++].work;
      const double later = start + length + std::max(0.0, work - length) / cores_;
      if (later <= end) return end;
      end = later;
      if (end > most_overlap()) return 2 * most_overlap();
    }
  }

  double most_overlap() const { return period_ * frame_.format().ring; }

  const Frame& frame_;
  FrameGraph graph_;
  const WorstCosts& costs_;
  double cores_, period_;
  std::vector<Load> loads_;
  std::vector<double> ends_;
  std::vector<double> released_;  // earliest release
  double work_ = 0;
};

}  // namespace

LatencyBound latency_bound(const Frame& frame, std::uint32_t cores, const WorstCosts& costs) {
  return Bounding(frame, cores, costs).run();
}

}  // namespace carillon::frame
