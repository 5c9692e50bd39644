#include "dsp/spectrum/spectrum.hpp"

#include <cmath>
#include <complex>
#include <numbers>

#include "dsp/samples.hpp"
#include "support/isas.hpp"
#include "support/test.hpp"

namespace carillon::dsp {
namespace {

TEST(Spectrum, adds_the_power_at_each_frequency_the_lowest_first) {
  for (const Isa isa : carillon::test::tested_isas())
    for (const std::size_t size : {256U, 1024U}) {
      const auto window = test::values(size, 1);
      const auto x = test::samples(size, 2);
      Spectrum spectrum(window);
      std::vector<float> power(size + 1, 1.0F);
      spectrum_kernels(isa).add_power(spectrum, x.data(), power.data());
      for (std::size_t i = 0; i < size; i += 1 + i % 5) {
        std::complex<double> sum;
        for (std::size_t n = 0; n < size; ++n) {
          const double turns = static_cast<double>((i + size / 2) * n % size);
          sum += double{window[n]} * std::complex<double>(x[n].re, x[n].im) *
                 std::polar(1.0, -2 * std::numbers::pi * turns / static_cast<double>(size));
        }
        ASSERT_NEAR(power[i], 1 + std::norm(sum), 2e-6 * static_cast<double>(size)) << i;
      }
      EXPECT_EQ(power[size], 1.0F);
    }
}

}  // namespace
}  // namespace carillon::dsp
