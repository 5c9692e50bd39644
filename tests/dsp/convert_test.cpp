#include "dsp/convert/convert.hpp"

#include <cmath>

#include "dsp/samples.hpp"
#include "support/isas.hpp"
#include "support/test.hpp"

namespace carillon::dsp {
namespace {

TEST(Convert, takes_parts_magnitudes_and_angles) {
  for (const Isa isa : carillon::test::tested_isas())
    for (const std::size_t count : {0U, 1U, 7U, 8U, 16U, 33U, 100U}) {
      const auto x = test::samples(count, 1);
      const auto made = [&](ConvertKernels::ToReal kernel) {
        std::vector<float> y(count + 1, 5.0F);
        kernel(x.data(), y.data(), count);
        EXPECT_EQ(y[count], 5.0F);
        return y;
      };
      const ConvertKernels& kernels = convert_kernels(isa);
      const auto re = made(kernels.real), im = made(kernels.imaginary);
      const auto magnitude = made(kernels.magnitude), power = made(kernels.power);
      const auto phase = made(kernels.phase);
      for (std::size_t n = 0; n < count; ++n) {
        EXPECT_EQ(re[n], x[n].re);
        EXPECT_EQ(im[n], x[n].im);
        const double square = double{x[n].re} * x[n].re + double{x[n].im} * x[n].im;
        EXPECT_NEAR(magnitude[n], std::sqrt(square), 3e-7);
        EXPECT_NEAR(power[n], square, 3e-7);
        EXPECT_NEAR(phase[n], std::atan2(double{x[n].im}, double{x[n].re}), 5e-7);
      }
    }
}

TEST(Convert, makes_complex_samples) {
  for (const Isa isa : carillon::test::tested_isas())
    for (const std::size_t count : {0U, 1U, 7U, 8U, 16U, 33U, 100U}) {
      const auto x = test::values(count, 1);
      std::vector<Complex> y(count + 1, Complex{5, 5});
      convert_kernels(isa).complex(x.data(), y.data(), count);
      for (std::size_t n = 0; n < count; ++n) EXPECT_EQ(y[n], (Complex{x[n], 0}));
      EXPECT_EQ(y[count], (Complex{5, 5}));
    }
}

}  // namespace
}  // namespace carillon::dsp
