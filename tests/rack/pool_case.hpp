// Pools of A100s, for tests of simulated pools.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "frame/pool_cell.hpp"
#include "rack/pool_run.hpp"

namespace carillon::rack {

inline runtime::PoolModel a100s(std::uint32_t devices, double variation = 0) {
  std::vector<runtime::FabricNode> nodes{{"host", 0, 0, 0}, {"chassis", 0, 64e9, 500}};
  runtime::PoolModel model;
  for (std::uint32_t d = 0; d < devices; ++d) {
    model.devices.push_back(
        {runtime::find_device_type("a100"), static_cast<std::uint16_t>(nodes.size()), 32, 0});
    nodes.push_back({"gpu", 1, 25e9, 500});
  }
  model.fabric = *runtime::Fabric::build(nodes).fabric;
  model.jitter = {variation, variation};
  return model;
}

inline PoolRunOptions pool_options(std::string_view policy, std::uint64_t frames) {
  PoolRunOptions options;
  options.policy = policy;
  options.profile = frame::find_pool_profile("megastation");
  options.frames = frames;
  return options;
}

inline std::size_t done(const PoolRun& run) {
  return static_cast<std::size_t>(std::count_if(run.frames.begin(), run.frames.end(),
                                                [](const PoolFrame& f) { return f.done; }));
}

}  // namespace carillon::rack
