// Time per subcarrier of a combiner, its arrays warm, and how much of the core's peak the
// arithmetic of the algorithm gets (8 operations per complex product, Hermitian halves not counted
// twice). Also prints the peak itself.
#include "phy/zeroforce/zeroforce.hpp"

#include "phy/zeroforce/array_bench.hpp"

int main(int argc, char** argv) {
  using namespace carillon;
  using namespace carillon::phy;
  bench::Report report(argc, argv);
  for (const Isa isa : available_isas()) {
    report.begin(isa);
    report.add_peak();
    const ZeroForceKernels& kernels = zeroforce_kernels(isa);
    for (const ArrayShape shape : bench::kShapes) {
      const double m = shape.antennas, k = shape.users;
      const std::size_t block = std::size_t{shape.users} * shape.antenna_stride;
      const auto csi = bench::random_tiles(block);
      AlignedArray<Tile> w(block);
      AlignedArray<float> noise(shape.users * kTileLanes);
      ZeroForceScratch scratch(shape.users);

      const double inverse = 8 * (k * k * m * 1.5 + k * k * k / 2);
      const auto measure = [&](const char* name, Detector detector, double operations) {
        const double ns =
            bench::best_ns([&] {
              kernels.combine(detector, shape, 0.1F, csi.data(), w.data(), noise.data(), scratch);
            }) /
            kTileLanes;
        report.add(bench::name_of(name, shape), ns, "subcarrier", operations);
      };
      measure("zeroforce", Detector::ZeroForcing, inverse);
      measure("mmse", Detector::Mmse, inverse);
      measure("conjugate", Detector::Conjugate, 8 * k * k * m / 2);

      // One tile of groups holds the combiners of `group` tiles of subcarriers.
      AlignedArray<float> spread(noise.size());
      AlignedArray<Complex> scalars(block);
      std::uint32_t tile = 0;
      const double groups_of_four = bench::best_ns([&] {
        kernels.expand(shape, 4, tile++ % 4, csi.data(), block, w.data(), noise.data(),
                       spread.data());
      });
      report.add(bench::name_of("expand 4", shape), groups_of_four, "tile", 0);
      const double groups_of_sixteen = bench::best_ns([&] {
        kernels.expand_scalar(shape, tile++ % 16, csi.data(), block, scalars.data(), noise.data(),
                              spread.data());
      });
      report.add(bench::name_of("expand 16", shape), groups_of_sixteen, "tile", 0);
    }
  }
}
