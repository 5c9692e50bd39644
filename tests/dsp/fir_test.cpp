#include "dsp/fir/fir.hpp"

#include <complex>

#include "dsp/samples.hpp"
#include "support/isas.hpp"
#include "support/test.hpp"

namespace carillon::dsp {
namespace {

using Sum = std::complex<double>;

// Σ taps[k]·x[n·D + K - 1 - k] in double precision.
std::vector<Sum> direct(FirKind kind, const std::vector<float>& x, const std::vector<float>& taps,
                        std::size_t D, std::size_t count) {
  const std::size_t parts = kind == FirKind::ComplexTaps ? 2 : 1;
  const std::size_t each = kind == FirKind::Real ? 1 : 2, K = taps.size() / parts;
  std::vector<Sum> y(count);
  for (std::size_t n = 0; n < count; ++n)
    for (std::size_t k = 0; k < K; ++k) {
      const std::size_t i = (n * D + K - 1 - k) * each;
      const Sum sample(x[i], each == 2 ? x[i + 1] : 0);
      y[n] += Sum(taps[k * parts], parts == 2 ? taps[k * parts + 1] : 0) * sample;
    }
  return y;
}

void expect_filtered(Isa isa, FirKind kind, std::size_t K, std::size_t D, std::size_t count) {
  const std::size_t each = kind == FirKind::Real ? 1 : 2;
  const auto taps = test::values(K * (kind == FirKind::ComplexTaps ? 2 : 1), K + 1);
  const Fir fir(kind, taps, D);
  // Exactly what it may read, so that sanitizers see more.
  const auto x = test::values(fir.reads(count) * each, count);
  std::vector<float> y(count * each + 1, 77.0F);
  fir_kernels(isa).filter(fir, x.data(), y.data(), count);
  EXPECT_EQ(y.back(), 77.0F);
  const auto expected = direct(kind, x, taps, D, count);
  for (std::size_t n = 0; n < count; ++n) {
    ASSERT_NEAR(y[n * each], expected[n].real(), 2e-6 * static_cast<double>(K))
        << to_string(isa) << " K " << K << " D " << D << " count " << count << " n " << n;
    const double im = each == 2 ? y[n * each + 1] : 0.0;
    ASSERT_NEAR(im, expected[n].imag(), 2e-6 * static_cast<double>(K));
  }
}

TEST(Fir, is_the_direct_sum_for_all_kinds_lengths_and_decimations) {
  for (const Isa isa : carillon::test::tested_isas())
    for (const FirKind kind : {FirKind::Real, FirKind::RealTaps, FirKind::ComplexTaps})
      for (const std::size_t K : {1U, 2U, 3U, 7U, 8U, 15U, 16U, 33U, 64U, 115U})
        for (const std::size_t D : {1U, 2U, 5U, 200U})
          for (const std::size_t count : {1U, 3U, 4U, 5U, 16U, 17U, 63U, 64U, 131U, 517U})
            expect_filtered(isa, kind, K, D, count);
}

// Blocks of a stream are what the whole stream is, bit for bit, however it is split.
TEST(Fir, a_stream_may_be_split_anywhere) {
  const std::size_t K = 115, count = 1500;
  for (const Isa isa : carillon::test::tested_isas())
    for (const FirKind kind : {FirKind::Real, FirKind::RealTaps, FirKind::ComplexTaps})
      for (const std::size_t D : {1U, 3U}) {
        const std::size_t each = kind == FirKind::Real ? 1 : 2;
        const auto taps = test::values(K * (kind == FirKind::ComplexTaps ? 2 : 1), 5);
        const Fir fir(kind, taps, D);
        const auto x = test::values(fir.reads(count) * each, 6);
        std::vector<float> whole(count * each), parts(count * each);
        fir_kernels(isa).filter(fir, x.data(), whole.data(), count);
        std::mt19937 random(7);
        for (std::size_t n = 0; n < count;) {
          const std::size_t most = random() % 2 == 0 ? 700 : 40;
          const std::size_t some = std::min<std::size_t>(1 + random() % most, count - n);
          fir_kernels(isa).filter(fir, x.data() + n * D * each, parts.data() + n * each, some);
          n += some;
        }
        EXPECT_EQ(whole, parts) << to_string(isa) << " D " << D;
      }
}

}  // namespace
}  // namespace carillon::dsp
