// Nanoseconds to estimate the channel between one user and one antenna, 1200 subcarriers.
#include "phy/estimate/estimate.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "base/aligned.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;

constexpr std::uint32_t kSubcarriers = 1200, kAntennas = 64;

double best_ns(const EstimatePlan& plan, Isa isa) {
  const std::size_t stride = kAntennas + 1;
  AlignedArray<Tile> rows(plan.tiles() * kAntennas), csi(plan.tiles() * stride);
  double best = 1e30;
  for (int round = 0; round < 100; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (std::uint32_t a = 0; a < kAntennas; ++a)
      estimate_kernels(isa).estimate(plan, &rows[a * plan.tiles()], &csi[a], stride);
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    best = std::min(best, spent.count() / kAntennas);
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  const bool json = argc > 1 && std::strcmp(argv[1], "--json") == 0;
  const char* separator = "[";
  for (const Isa isa : available_isas())
    for (const std::uint32_t comb : {1U, 8U})
      for (const std::uint32_t group : {1U, 12U, 16U}) {
        const double ns = best_ns(EstimatePlan(kSubcarriers, comb, 0, group), isa);
        const std::string_view name = to_string(isa);
        std::printf(json ? "%s{\"kernel\": \"estimate\", \"comb\": %u, \"group\": %u, "
                           "\"isa\": \"%.*s\", \"ns\": %.1f}"
                         : "%.0sestimate comb %2u group %2u %-10.*s %8.0f ns\n",
                    separator, comb, group, static_cast<int>(name.size()), name.data(), ns);
        separator = ",\n ";
      }
  if (json) std::printf("]\n");
}
