#include "dsp/convolve/convolve.hpp"

#include <cmath>

#include "dsp/samples.hpp"
#include "support/isas.hpp"
#include "support/test.hpp"

namespace carillon::dsp {
namespace {

// Of a stream that begins at x[history()].
double direct(const Convolution& c, const std::vector<float>& taps, const std::vector<float>& x,
              std::size_t n, std::size_t part) {
  const std::size_t each = c.kind() == FirKind::Real ? 1 : 2;
  const bool complex_taps = c.kind() == FirKind::ComplexTaps;
  double sum = 0;
  for (std::size_t k = 0; k < taps.size() / (complex_taps ? 2 : 1); ++k) {
    const float* at = &x[each * (n + c.history() - k)];
    if (!complex_taps)
      sum += double{taps[k]} * at[part];
    else if (part == 0)
      sum += double{taps[2 * k]} * at[0] - double{taps[2 * k + 1]} * at[1];
    else
      sum += double{taps[2 * k]} * at[1] + double{taps[2 * k + 1]} * at[0];
  }
  return sum;
}

TEST(Convolve, is_the_direct_sum_for_all_kinds_and_lengths) {
  for (const Isa isa : carillon::test::tested_isas())
    for (const FirKind kind : {FirKind::Real, FirKind::RealTaps, FirKind::ComplexTaps})
      for (const std::size_t length : {1U, 2U, 17U, 64U, 65U, 1024U}) {
        const auto taps = test::values(length * (kind == FirKind::ComplexTaps ? 2 : 1), length);
        Convolution c(kind, taps);
        ASSERT_GE(c.history() + 1, length);
        const std::size_t each = kind == FirKind::Real ? 1 : 2, count = c.outputs() + 37;
        const auto x = test::values(each * (count + c.history()), 5);
        std::vector<float> y(each * count + 1, 9.0F);
        convolve_kernels(isa).convolve(c, x.data(), y.data(), count);
        for (std::size_t i = 0; i < each * count; i += 1 + i % 7)
          ASSERT_NEAR(y[i], direct(c, taps, x, i / each, i % each),
                      1e-6 * std::sqrt(static_cast<double>(length)) + 1e-6)
              << length << " taps, " << i;
        EXPECT_EQ(y.back(), 9.0F);
      }
}

}  // namespace
}  // namespace carillon::dsp
