#include "phy/equalize/equalize.hpp"

#include "support/products.hpp"

namespace {

using namespace carillon;

void run(bench::Bench& bench) {
  for (const Isa isa : bench.isas())
    for (const phy::ArrayShape shape : bench::kShapes) {
      bench::Products<phy::EqualizeKernels> products(
          bench, "equalize", isa, shape, phy::equalize_kernels(isa), shape.antennas, shape.users);
      products.warm();
      if (shape.antennas >= 128) products.cold();
    }
}

const bench::Group group("phy/equalize", run);

}  // namespace
