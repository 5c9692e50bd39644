// The channel between one user and one antenna over 1200 subcarriers.
#include "phy/estimate/estimate.hpp"

#include "support/bench.hpp"
#include "support/tiles.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;

constexpr std::uint32_t kSubcarriers = 1200, kAntennas = 64;

bench::Case case_of(const char* kernel, Isa isa, std::uint32_t comb, std::uint32_t group) {
  return {.kernel = kernel,
          .shape = "comb " + std::to_string(comb) + " group " + std::to_string(group),
          .isa = std::string(to_string(isa)),
          .per = "antenna",
          .items = kAntennas};
}

void measure(const bench::Bench& bench, Isa isa, std::uint32_t comb, std::uint32_t group) {
  const EstimatePlan plan(kSubcarriers, comb, 0, group);
  const std::size_t stride = kAntennas + 1;
  const auto rows = bench::random_tiles(std::size_t{plan.tiles()} * kAntennas);
  AlignedArray<Tile> csi(plan.tiles() * stride);
  bench.time(case_of("estimate", isa, comb, group), [&] {
    for (std::uint32_t a = 0; a < kAntennas; ++a)
      estimate_kernels(isa).estimate(plan, &rows[std::size_t{a} * plan.tiles()], &csi[a], stride);
  });
}

void measure_all(const bench::Bench& bench, Isa isa, std::uint32_t comb, std::uint32_t group) {
  const CombPlan plan(kSubcarriers, comb, group);
  const std::uint32_t tiles = tiles_for(kSubcarriers);
  const std::size_t user_stride = kAntennas + 1, stride = comb * user_stride;
  const auto rows = bench::random_tiles(std::size_t{tiles} * kAntennas);
  AlignedArray<Tile> csi(csi_tiles(kSubcarriers, group) * stride);
  bench.time(case_of("estimate all users", isa, comb, group), [&] {
    for (std::uint32_t a = 0; a < kAntennas; ++a)
      estimate_kernels(isa).estimate_all(plan, &rows[std::size_t{a} * tiles], comb, &csi[a],
                                         user_stride, stride);
  });
}

void run(bench::Bench& bench) {
  for (const Isa isa : bench.isas())
    for (const std::uint32_t comb : {1U, 8U, 16U})
      for (const std::uint32_t group : {1U, 12U, 16U}) {
        measure(bench, isa, comb, group);
        measure_all(bench, isa, comb, group);
      }
}

const bench::Group group("phy/estimate", run);

}  // namespace
