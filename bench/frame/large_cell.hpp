// What the benchmarks of pools serve, and how they sum up what decisions took.
#pragma once

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "rack/pool_run.hpp"

namespace carillon::bench {

// 128×64 at 20 MHz, uplink only, a code block per user and symbol.
inline frame::FrameFormat large_cell() {
  frame::FrameFormat f;
  f.antennas = 128;
  f.users = 64;
  f.numerology.fft_size = 2048;
  f.numerology.subcarriers = 1216;
  f.schedule = "PPPPUUUUUUUUUU";
  f.pilots.kind = frame::PilotKind::Comb;
  f.pilots.comb = 16;
  f.combiner.group = 16;
  f.uplink.block = frame::BlockSpan::Symbol;
  f.uplink.crc = false;
  f.uplink.modulation = frame::ModulationChoice::Qam64;
  f.uplink.base_graph = 1;
  f.uplink.lifting = 104;
  return f;
}

// Mean and 90th percentile; puts `ns` out of order.
inline std::pair<double, double> mean_and_p90(std::vector<double>& ns) {
  const double sum = std::accumulate(ns.begin(), ns.end(), 0.0);
  const auto ninety = ns.begin() + static_cast<std::ptrdiff_t>(ns.size() * 9 / 10);
  std::nth_element(ns.begin(), ninety, ns.end());
  return {sum / static_cast<double>(ns.size()), *ninety};
}

}  // namespace carillon::bench
