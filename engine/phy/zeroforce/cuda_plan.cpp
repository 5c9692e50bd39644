// What of combiners on a GPU is the host's.
#include <algorithm>

#include "phy/zeroforce/cuda.hpp"
#include "phy/zeroforce/cuda.inl"

namespace carillon::phy::cuda {

using namespace zeroforce;

namespace {

// Two rounds of two blocks on each of an H200's 132 SMs: with fewer the last round counts too much.
constexpr std::uint32_t kEnoughBlocks = 4 * 132;
// More are summed for longer than they save.
constexpr std::uint32_t kMostSlices = 8;

simt::Launch product_launch(const CombineTask& task) {
  const std::uint32_t edge = edge_of(task);
  return {.x = task.tiles * kOctets,
          .threads = product_threads(edge),
          .shared_bytes = terms_of(edge) * term_entries(edge) * std::uint32_t{sizeof(Entry)}};
}

}  // namespace

std::uint32_t slices_for(std::uint32_t antennas, std::uint32_t users, std::uint32_t tiles) {
  CombineTask task{};
  task.users = users;
  task.tiles = std::max(tiles, 1U);
  const std::uint32_t blocks =
      task.tiles * kOctets * triangle(simt::divide_up(users, edge_of(task)));
  const std::uint32_t most = std::min(kMostSlices, simt::divide_up(antennas, 16));
  task.slices = std::clamp(kEnoughBlocks / blocks, 1U, most);
  task.antennas = antennas;
  return simt::divide_up(antennas, slice_antennas(task));  // none of them empty
}

simt::Launch launch_of(const SurveyTask&) {
  return {.threads = kSurveyThreads, .shared_bytes = sizeof(SurveyShared)};
}

simt::Launch launch_of(const GramTask& task) {
  simt::Launch launch = product_launch(task.of);
  launch.y = triangle(simt::divide_up(task.of.users, edge_of(task.of)));
  launch.z = task.of.slices;
  return launch;
}

simt::Launch launch_of(const FactorTask& task) {
  const std::uint32_t users = task.of.users, matrices = matrices_per_block(users);
  return {.x = simt::divide_up(task.of.tiles * kTileLanes, matrices),
          .threads = simt::round_up(matrices * triangle(user_blocks(users)), simt::kWarp),
          .shared_bytes = matrices * FactorShared::bytes(users)};
}

simt::Launch launch_of(const WeighTask& task) {
  simt::Launch launch = product_launch(task.of);
  launch.y = simt::divide_up(task.of.users, edge_of(task.of));
  launch.z = simt::divide_up(task.of.antennas, edge_of(task.of));
  return launch;
}

simt::Launch launch_of(const ExpandTask& task) {
  const bool scalars = task.group == kTileLanes;
  const std::uint32_t turned =
      scalars ? kTileLanes * (task.of.antennas + 1) * std::uint32_t{sizeof(Entry)} : 0;
  return {.x = scalars ? task.of.tiles : subcarrier_tiles(task),
          .y = task.of.users,
          .threads = kExpandThreads,
          .shared_bytes = kTurnedAt + turned};
}

simt::Launch launch_of(const AntennaPowerTask& task) {
  return {.x = task.of.tiles,
          .y = simt::divide_up(task.of.antennas, kPowerAntennas),
          .threads = kPowerThreads,
          .shared_bytes = kPowerThreads * sizeof(float)};
}

simt::Launch launch_of(const GainTask&) {
  return {.threads = kGainThreads, .shared_bytes = kGainThreads * sizeof(float)};
}

Status combine(const CombineTask& task, Stream stream) {
  if (const Status status = survey({task}, stream); !status.ok()) return status;
  if (const Status status = gram({task}, stream); !status.ok()) return status;
  if (const Status status = factor({task}, stream); !status.ok()) return status;
  return weigh({task}, stream);
}

}  // namespace carillon::phy::cuda
