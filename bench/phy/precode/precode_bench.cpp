#include "phy/precode/precode.hpp"

#include "support/products.hpp"

namespace {

using namespace carillon;

void run(bench::Bench& bench) {
  for (const Isa isa : bench.isas())
    for (const phy::ArrayShape shape : bench::kShapes) {
      bench::Products<phy::PrecodeKernels> products(
          bench, "precode", isa, shape, phy::precode_kernels(isa), shape.users, shape.antennas);
      products.warm();
      if (shape.antennas >= 128) products.cold();
    }
}

const bench::Group group("phy/precode", run);

}  // namespace
