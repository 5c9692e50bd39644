// MegaStation's fragmented parallelism (§3.3, figure 5) on one card: frames of 128×32 whose stages
// a pool's executor divides between partitions, beside the same frames on one partition with as
// many SMs in all, and on the whole card. One frame at a time, and eight always under way; from
// pinned memory to results there. Bounds are the bus's.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <utility>

#include "cuda/bench.hpp"
#include "cuda/cell_format.hpp"
#include "cuda/parts.hpp"
#include "frame/gpu/server.hpp"

namespace carillon::bench {
namespace {

constexpr std::uint32_t kWhole = 0;  // partitions: none are made
constexpr std::uint32_t kRing = 2;   // a frame of each cell at a time
constexpr std::uint64_t kAlone = 200, kUnderWay = 40, kWarmUp = 20;  // frames of a cell

struct Layout {
  const char* policy;
  std::uint32_t partitions;
};
// The paper's three units at a fragment degree of 0 and of 100 %; ours also on smaller ones.
constexpr Layout kLayouts[] = {
    {"frame-level", 1}, {"frame-level", 2}, {"symbol-level", 1},    {"symbol-level", 2},
    {"task-level", 1},  {"task-level", 2},  {"scoreboard", 1},      {"scoreboard", 2},
    {"scoreboard", 4},  {"scoreboard", 8},  {"adaptive", 1},        {"adaptive", 2},
    {"adaptive", 4},    {"adaptive", 8},    {"scoreboard", kWhole}, {"adaptive", kWhole}};

class Divided {
 public:
  Divided(GpuBench& bench, char kind)
      : bench_(bench),
        up_(kind == 'U'),
        frame_(format(kind)),
        air_(frame_, {}),
        bound_us_(bench.bound({.bus_bytes = most_one_way()})) {}

  /// Nothing, where such partitions cannot be made or kernels do not keep to them.
  void add(const Layout& layout) {
    const std::string where = where_of(layout.partitions);
    if (where.empty()) return;
    for (const std::uint16_t cells : {std::uint16_t{1}, std::uint16_t{8}}) {
      const std::string load = cells == 1 ? "" : ", " + std::to_string(cells) + " under way";
      GpuRow row;
      const FrameTime time = time_of(layout, cells);
      row.kernel = (up_ ? "uplink" : "downlink") + (" frame with its copies, " + where) + ", " +
                   layout.policy + load + on(layout, time);
      row.shape = "128x32";
      row.bound_us = bound_us_;
      row.us = time.us;
      const auto key = std::pair(std::string(layout.policy), cells);
      if (layout.partitions == 1) in_one_[key] = row.us;
      if (const auto one = in_one_.find(key); layout.partitions != 1 && one != in_one_.end()) {
        row.peer = "in one partition";
        row.peer_us = one->second;
      }
      bench_.report(row);
    }
  }

 private:
  static frame::FrameFormat format(char kind) {
    frame::FrameFormat f = cell_format(128, 32, kind);
    f.ring = kRing;
    return f;
  }
  // Of a frame's samples, those that come or those that go.
  double most_one_way() const {
    double in = 0, out = 0;
    for (const auto& symbol : frame_.symbols())
      (symbol.kind == frame::SymbolKind::Downlink ? out : in) += 4.0 * symbol.samples;
    return frame_.format().antennas * std::max(in, out);
  }

  // "4 × 32 SMs of 132", once it is so.
  std::string where_of(std::uint32_t partitions) {
    const cuda::Device& card = bench_.device();
    if (partitions == kWhole) return "all SMs";
    const auto [known, fresh] = where_.try_emplace(partitions);
    if (!fresh) return known->second;
    const cuda::Partitions parts(card, partitions);
    if (!parts.why().empty()) {
      std::printf("left out: %s\n", parts.why().c_str());
    } else if (const std::string wrong = where_they_run(parts, card); !wrong.empty()) {
      bench_.fail(std::to_string(partitions) + " partitions: " + wrong);
    } else {
      known->second = std::to_string(partitions) + " × " + std::to_string(parts.sms(0)) +
                      " SMs of " + std::to_string(card.sms);
    }
    return known->second;
  }

  // Policies need not use all that there are.
  static std::string on(const Layout& layout, const FrameTime& time) {
    char text[40];
    std::snprintf(text, sizeof text, ", each on %.1f", time.devices);
    return layout.partitions > 1 ? text : "";
  }

  FrameTime time_of(const Layout& layout, std::uint16_t cells) {
    const std::string name = std::string(layout.policy) + " on " +
                             std::to_string(layout.partitions) + " partitions, " +
                             std::to_string(cells) + " cells: ";
    try {
      const cuda::Device& card = bench_.device();
      const frame::GpuPool pool = layout.partitions == kWhole
                                      ? frame::whole_devices({card})
                                      : frame::partitions_of(card, layout.partitions);
      const FrameTime time = time_of_a_frame(frame_, air_, pool,
                                             {.cells = cells,
                                              .frames = cells == 1 ? kAlone : kUnderWay,
                                              .warm_up = kWarmUp,
                                              .policy = layout.policy});
      if (time.us == 0) bench_.fail(name + "frames were not done, or not as they were sent");
      return time;
    } catch (const std::exception& error) {
      bench_.fail(name + error.what());
      return {};
    }
  }

  GpuBench& bench_;
  bool up_;
  frame::Frame frame_;
  emulator::RecordedAir air_;
  double bound_us_;
  std::map<std::uint32_t, std::string> where_;
  std::map<std::pair<std::string, std::uint16_t>, double> in_one_;  // µs, by policy and load
};

}  // namespace

void measure_divided(GpuBench& bench) {
  for (const char kind : {'U', 'D'}) {
    Divided divided(bench, kind);
    for (const Layout& layout : kLayouts) divided.add(layout);
  }
}

}  // namespace carillon::bench
