#include "dsp/turn/turn.hpp"

#include <cmath>
#include <numbers>
#include <vector>

#include "support/isas.hpp"
#include "support/test.hpp"

namespace carillon::dsp {
namespace {

TEST(Turn, is_on_the_unit_circle_all_around_it) {
  for (const Isa isa : carillon::test::tested_isas())
    for (const std::size_t count : {0U, 1U, 7U, 8U, 16U, 33U, 4096U}) {
      std::vector<std::uint32_t> phases;
      for (std::size_t n = 0; n < count; ++n)
        phases.push_back(static_cast<std::uint32_t>(n << 20 | (n % 3 == 0 ? 0 : 0x7ffff)));
      std::vector<Complex> y(count + 1, Complex{5, 5});
      turn_kernels(isa).turn(phases.data(), y.data(), count);
      for (std::size_t n = 0; n < count; ++n) {
        const double angle = 2 * std::numbers::pi * 0x1p-32 * phases[n];
        ASSERT_NEAR(y[n].re, std::cos(angle), 3e-7) << n;
        ASSERT_NEAR(y[n].im, std::sin(angle), 3e-7) << n;
      }
      EXPECT_EQ(y[count], (Complex{5, 5}));
    }
}

}  // namespace
}  // namespace carillon::dsp
