// Channel estimates of a frame, 1200 subcarriers, combs of 16 users.
#include "cuda/bench.hpp"
#include "phy/estimate/cuda.hpp"

namespace carillon::bench {

using phy::Tile;

void measure_estimate(GpuBench& bench) {
  constexpr std::uint32_t kSubcarriers = 1200, kComb = 16,
                          kShapes[][2] = {{64, 16}, {128, 32}, {128, 64}, {256, 128}};
  constexpr std::uint32_t kTiles = phy::tiles_for(kSubcarriers);
  for (const std::uint32_t group : {16U, 1U}) {
    std::vector<phy::EstimatePlan> plans;
    for (std::uint32_t offset = 0; offset < kComb; ++offset)
      plans.emplace_back(kSubcarriers, kComb, offset, group);
    const phy::cuda::EstimateTaps taps = phy::cuda::taps_of(plans);
    const OnDevice<phy::cuda::Tap> weights(taps.taps);
    for (const auto [antennas, users] : kShapes) {
      std::vector<phy::cuda::EstimateUser> table;
      for (std::uint32_t u = 0; u < users; ++u) table.push_back({u / kComb, u % kComb});
      const OnDevice<phy::cuda::EstimateUser> of(table);
      const std::size_t rows = std::size_t{users} / kComb * antennas * kTiles;
      const std::size_t estimates = std::size_t{users} * antennas * taps.tiles;
      const OnDevice<Tile> in(rows), csi(estimates);

      phy::cuda::EstimateTask task{};
      task.tiles = taps.tiles;
      task.tap_count = taps.count;
      task.taps = weights.data();
      task.users = users;
      task.antennas = antennas;
      task.of = of.data();
      task.rows = in.data();
      task.row_stride = std::size_t{antennas} * kTiles;
      task.antenna_stride = 1;
      task.tile_stride = antennas;
      task.csi = csi.data();
      task.csi_user_stride = antennas;
      task.csi_tile_stride = std::size_t{users} * antennas;
      const auto bytes = static_cast<double>((rows + estimates) * sizeof(Tile));
      const double flops = static_cast<double>(estimates) * 2 * 2 * phy::kTileLanes * taps.count;
      bench.time("estimate/" + std::to_string(group),
                 std::to_string(antennas) + "x" + std::to_string(users),
                 {.bytes = bytes, .flops = flops},
                 [&](cuda::Stream stream) { return phy::cuda::estimate(task, stream); });
    }
  }
}

}  // namespace carillon::bench
