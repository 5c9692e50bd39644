// The narrowband FM receiver of the published case study, with the costs measured for it.
#pragma once

#include "dataflow/graph.hpp"

namespace carillon::dataflow {

/// 240 ksps, divided by 5 behind the second node; µs for a wake-up, ns for a sample.
inline GraphSpec nbfm() {
  GraphSpec spec;
  const auto node = [&](const char* name, double each, Ratio rate = {}) {
    spec.nodes.push_back({name, {5300, {{1, each}}}, rate});
  };
  node("rotator", 0.58, {240'000, 1});
  node("channel", 18.7);
  node("squelch", 1.0);
  node("demodulator", 3.35);
  node("deemphasis", 1.0);
  node("audio", 18.0);
  node("volume", 0.11);
  spec.edges.push_back({0, 1, 1, 5, 5});
  for (NodeId v = 1; v < 6; ++v) spec.edges.push_back({v, v + 1, 1, 1, 1});
  return spec;
}

}  // namespace carillon::dataflow
