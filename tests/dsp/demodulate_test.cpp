#include "dsp/demodulate/demodulate.hpp"

#include <cmath>
#include <numbers>

#include "dsp/samples.hpp"
#include "support/isas.hpp"
#include "support/test.hpp"

namespace carillon::dsp {
namespace {

TEST(Demodulate, is_the_angle_between_samples) {
  for (const Isa isa : carillon::test::tested_isas())
    for (const std::size_t count : {1U, 7U, 8U, 15U, 16U, 17U, 1000U}) {
      const auto x = test::samples(count + 1, count);
      std::vector<float> y(count + 1, 9.0F);
      demodulate_kernels(isa).quadrature(x.data(), 2.0F, y.data(), count);
      for (std::size_t n = 0; n < count; ++n) {
        const double re = double{x[n + 1].re} * x[n].re + double{x[n + 1].im} * x[n].im;
        const double im = double{x[n + 1].im} * x[n].re - double{x[n + 1].re} * x[n].im;
        if (std::hypot(re, im) < 1e-3) continue;  // its own rounding turns it
        const double near = std::hypot(re, im) > 0.3 ? 2e-6 : 2e-3;
        ASSERT_NEAR(y[n], 2 * std::atan2(im, re), near) << n;
      }
      EXPECT_EQ(y[count], 9.0F);
    }
}

// Against 1, each sample's own angle.
TEST(Demodulate, all_around_the_circle_and_at_zero) {
  for (const Isa isa : carillon::test::tested_isas()) {
    for (int step = -1800; step <= 1800; ++step) {
      const double turned = std::numbers::pi * step / 1800;
      const auto re = static_cast<float>(std::cos(turned)),
                 im = static_cast<float>(std::sin(turned));
      const Complex x[2] = {{1, 0}, {re, im}};
      float y = 0;
      demodulate_kernels(isa).quadrature(x, 1, &y, 1);
      ASSERT_NEAR(y, std::atan2(double{im}, double{re}), 5e-7) << step;
    }
    const Complex nothing[3] = {{0, 0}, {0, 0}, {1, 1}};
    float y[2] = {1, 1};
    demodulate_kernels(isa).quadrature(nothing, 1, y, 2);
    EXPECT_EQ(y[0], 0);
    EXPECT_EQ(y[1], 0);
  }
}

}  // namespace
}  // namespace carillon::dsp
