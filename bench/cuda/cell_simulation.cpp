#include "cuda/cell_simulation.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string>

#include "rack/pool_run.hpp"

namespace carillon::bench {
namespace {

constexpr std::uint32_t kWarpThreads = 32;

frame::MeasuredKernel as_one(const CellOpcode& row, double byte_scale) {
  const auto longest = std::ranges::max_element(row.kernels, {}, &CellKernel::us);
  if (longest == row.kernels.end()) return {};
  return {{.ctas = longest->ctas,
           .warps = (longest->threads + kWarpThreads - 1) / kWarpThreads,
           .registers = longest->registers,
           .shared_bytes = longest->shared_bytes},
          std::llround(row.us * 1e3),
          row.bytes * byte_scale,
          row.full_ctas,
          std::llround(row.full_us * 1e3)};
}

// Of the copies that move most: samples, there or back.
double link_bytes_per_s(const CellRow& row) {
  const CellOpcode* most = nullptr;
  for (const CellOpcode& each : row.opcodes)
    if (each.kernels.empty() && (most == nullptr || each.bytes > most->bytes)) most = &each;
  return most->bytes / most->us * 1e6;
}

}  // namespace

const runtime::DeviceType* type_of(std::string_view name) {
  for (const runtime::DeviceType& type : runtime::device_types()) {
    std::string wanted(type.name);
    for (char& c : wanted) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    if (!type.host && name.find(wanted) != std::string_view::npos) return &type;
  }
  return nullptr;
}

double simulated_us(const frame::Frame& frame, const CellRow& row, const HostRow& host,
                    const runtime::DeviceType& type, double bytes_per_us) {
  frame::PoolProfile profile = *frame::find_pool_profile("roofline");
  profile.device = &type;
  for (const CellOpcode& each : row.opcodes)
    profile.measured[static_cast<std::size_t>(each.op)] =
        as_one(each, type.memory_bytes_per_s * 1e-6 / bytes_per_us);
  const std::vector<runtime::FabricNode> nodes{{"host", 0, 0, 0},
                                               {"device", 0, link_bytes_per_s(row), 0}};
  runtime::PoolModel model;
  model.fabric = *runtime::Fabric::build(nodes).fabric;
  model.devices.push_back({&type, 1, 32, 0});
  model.host = {0, 0, 0, 0};
  rack::PoolRunOptions options;
  options.policy = "symbol-level";
  options.of_cells = {profile};
  options.graph.deadline = kSecond;
  options.frames = 2;
  options.at_once = 1;
  const rack::PoolRun run = rack::run_on_pool({&frame}, model, options);
  return static_cast<double>(run.frames.back().latency) * 1e-3 + host.launch + host.notify;
}

}  // namespace carillon::bench
