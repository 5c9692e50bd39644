// Small cells, and pools of A100s, for tests of simulated pools.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "rack/pool_run.hpp"

namespace carillon::rack {

using namespace frame;

inline FrameFormat pool_cell(std::uint32_t antennas, std::uint32_t users, char data) {
  FrameFormat f;
  f.antennas = antennas;
  f.users = users;
  f.numerology.fft_size = 2048;
  f.numerology.subcarriers = 1216;
  const std::uint32_t pilots = (users + 15) / 16;
  f.schedule = std::string(pilots, 'P') + std::string(14 - pilots, data);
  f.pilots.kind = PilotKind::Comb;
  f.pilots.comb = 16;
  f.combiner.group = 16;
  f.uplink.block = BlockSpan::Symbol;
  f.uplink.crc = false;
  f.uplink.modulation = ModulationChoice::Qam64;
  f.uplink.base_graph = 1;
  f.uplink.lifting = 104;
  f.downlink = f.uplink;
  f.deadlines.precoder_age = 1;
  return f;
}

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
  options.profile = find_pool_profile("megastation");
  options.frames = frames;
  return options;
}

inline std::size_t done(const PoolRun& run) {
  return static_cast<std::size_t>(std::count_if(run.frames.begin(), run.frames.end(),
                                                [](const PoolFrame& f) { return f.done; }));
}

}  // namespace carillon::rack
