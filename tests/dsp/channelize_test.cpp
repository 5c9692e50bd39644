#include "dsp/channelize/channelize.hpp"

#include <cmath>
#include <complex>
#include <numbers>

#include "dsp/samples.hpp"
#include "support/isas.hpp"
#include "support/test.hpp"

namespace carillon::dsp {
namespace {

std::complex<double> direct(const Channelizer& c, const std::vector<float>& taps,
                            const std::vector<Complex>& x, std::size_t n, std::size_t channel) {
  const std::size_t M = c.channels();
  std::complex<double> sum;
  for (std::size_t k = 0; k < taps.size(); ++k) {
    const Complex at = x[c.history() + n * M - k];
    const double turns = static_cast<double>(channel * k % M) / static_cast<double>(M);
    sum += double{taps[k]} * std::complex<double>(at.re, at.im) *
           std::polar(1.0, 2 * std::numbers::pi * turns);
  }
  return sum;
}

TEST(Channelize, is_the_direct_sum_for_each_channel) {
  for (const Isa isa : carillon::test::tested_isas())
    for (const auto& [channels, length] : {std::pair{4U, 1U}, {8U, 20U}, {16U, 64U}, {32U, 65U}}) {
      const auto taps = test::values(length, 1);
      Channelizer c(taps, channels);
      const std::size_t count = Channelizer::kAtOnce + 5;
      const auto x = test::samples(c.history() + (count - 1) * channels + 1, 2);
      // As many new samples as a node of a flowgraph would have.
      std::vector<Complex> all = x;
      all.resize(c.history() + count * channels);
      std::vector<Complex> y(count * channels + 1, Complex{5, 5});
      channelize_kernels(isa).channelize(c, all.data(), y.data(), count);
      for (std::size_t i = 0; i < count * channels; ++i) {
        const auto expected = direct(c, taps, x, i / channels, i % channels);
        ASSERT_NEAR(y[i].re, expected.real(), 1e-5) << channels << " channels, " << i;
        ASSERT_NEAR(y[i].im, expected.imag(), 1e-5) << channels << " channels, " << i;
      }
      EXPECT_EQ(y.back(), (Complex{5, 5}));
    }
}

}  // namespace
}  // namespace carillon::dsp
