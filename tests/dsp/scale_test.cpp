#include "dsp/scale/scale.hpp"

#include "dsp/samples.hpp"
#include "support/isas.hpp"
#include "support/test.hpp"

namespace carillon::dsp {
namespace {

TEST(Scale, multiplies_and_adds_real_and_complex_constants) {
  for (const Isa isa : carillon::test::tested_isas())
    for (const std::size_t count : {0U, 1U, 7U, 8U, 16U, 33U, 100U}) {
      const ScaleKernels& kernels = scale_kernels(isa);
      const auto x = test::values(count, 1);
      std::vector<float> y(count + 1, 5.0F);
      kernels.multiply(x.data(), 1.5F, y.data(), count);
      for (std::size_t n = 0; n < count; ++n) EXPECT_EQ(y[n], 1.5F * x[n]);
      kernels.add(x.data(), 0.25F, y.data(), count);
      for (std::size_t n = 0; n < count; ++n) EXPECT_EQ(y[n], x[n] + 0.25F);
      EXPECT_EQ(y[count], 5.0F);
      const auto z = test::samples(count, 2);
      std::vector<Complex> w = z;
      kernels.multiply_complex(w.data(), {0.5F, -2.0F}, w.data(), count);
      for (std::size_t n = 0; n < count; ++n) {
        EXPECT_NEAR(w[n].re, 0.5F * z[n].re + 2.0F * z[n].im, 3e-7);
        EXPECT_NEAR(w[n].im, 0.5F * z[n].im - 2.0F * z[n].re, 3e-7);
      }
      w = z;
      kernels.add_complex(w.data(), {1, 2}, w.data(), count);
      for (std::size_t n = 0; n < count; ++n) EXPECT_EQ(w[n], (Complex{z[n].re + 1, z[n].im + 2}));
    }
}

}  // namespace
}  // namespace carillon::dsp
