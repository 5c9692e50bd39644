#include "dsp/combine/combine.hpp"

#include "dsp/samples.hpp"
#include "support/isas.hpp"
#include "support/test.hpp"

namespace carillon::dsp {
namespace {

TEST(Combine, adds_and_multiplies_sample_by_sample) {
  for (const Isa isa : carillon::test::tested_isas())
    for (const std::size_t count : {0U, 1U, 7U, 8U, 16U, 33U, 100U}) {
      const CombineKernels& kernels = combine_kernels(isa);
      const auto a = test::values(count, 1), b = test::values(count, 2);
      std::vector<float> y(count + 1, 5.0F);
      kernels.add(a.data(), b.data(), y.data(), count);
      for (std::size_t n = 0; n < count; ++n) EXPECT_EQ(y[n], a[n] + b[n]);
      kernels.multiply(a.data(), b.data(), y.data(), count);
      for (std::size_t n = 0; n < count; ++n) EXPECT_EQ(y[n], a[n] * b[n]);
      EXPECT_EQ(y[count], 5.0F);
      const auto v = test::samples(count, 3), w = test::samples(count, 4);
      std::vector<Complex> z(count + 1, Complex{5, 5});
      kernels.multiply_complex(v.data(), w.data(), z.data(), count);
      for (std::size_t n = 0; n < count; ++n) {
        EXPECT_NEAR(z[n].re, v[n].re * w[n].re - v[n].im * w[n].im, 3e-7);
        EXPECT_NEAR(z[n].im, v[n].re * w[n].im + v[n].im * w[n].re, 3e-7);
      }
      EXPECT_EQ(z[count], (Complex{5, 5}));
    }
}

}  // namespace
}  // namespace carillon::dsp
