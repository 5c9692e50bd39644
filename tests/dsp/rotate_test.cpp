#include "dsp/rotate/rotate.hpp"

#include <cmath>
#include <numbers>

#include "dsp/samples.hpp"
#include "support/isas.hpp"
#include "support/test.hpp"

namespace carillon::dsp {
namespace {

void expect_turned(const std::vector<Complex>& x, const std::vector<Complex>& y, double first,
                   double step) {
  for (std::size_t n = 0; n < x.size(); ++n) {
    const double turns = std::fmod(first + std::fmod(step * static_cast<double>(n), 1.0), 1.0);
    const double angle = 2 * std::numbers::pi * turns;
    const double re = x[n].re * std::cos(angle) - x[n].im * std::sin(angle);
    const double im = x[n].re * std::sin(angle) + x[n].im * std::cos(angle);
    ASSERT_NEAR(y[n].re, re, 7e-7) << n;
    ASSERT_NEAR(y[n].im, im, 7e-7) << n;
  }
}

TEST(Rotate, turns_each_sample_whatever_the_step_and_the_length) {
  for (const Isa isa : carillon::test::tested_isas())
    for (const double step : {0.0, 0.1, -0.3, 0.5, 3.25, -1e-6})
      for (const std::size_t count : {1U, 7U, 8U, 255U, 256U, 257U, 1000U}) {
        const auto x = test::samples(count, count);
        std::vector<Complex> y(count);
        Rotation rotation(step, 0.2);
        rotate_kernels(isa).rotate(&rotation, x.data(), y.data(), count);
        expect_turned(x, y, 0.2, step);
      }
}

TEST(Rotate, a_stream_may_be_split_anywhere_and_turned_in_place) {
  for (const Isa isa : carillon::test::tested_isas()) {
    const auto x = test::samples(1000, 3);
    std::vector<Complex> y = x;
    Rotation rotation(0.123);
    for (std::size_t n = 0; n < 1000;) {
      const std::size_t some = std::min<std::size_t>(1 + n % 97, 1000 - n);
      rotate_kernels(isa).rotate(&rotation, y.data() + n, y.data() + n, some);
      n += some;
    }
    expect_turned(x, y, 0, 0.123);
  }
}

// A step of 3/8 turns is exact, so that its phase is known after any number of samples.
TEST(Rotate, the_phase_never_drifts) {
  Rotation rotation(0.375);
  std::vector<Complex> x(1 << 16, Complex{1, 0}), y(x.size());
  for (int i = 0; i < 200; ++i)
    rotate_kernels().rotate(&rotation, x.data(), y.data(), x.size() - 1);
  // 200·65535·3/8 turns: 200·65535 mod 8 is 0.
  EXPECT_EQ(rotation.phase, 0U);
  rotate_kernels().rotate(&rotation, x.data(), y.data(), 2);
  EXPECT_NEAR(y[0].re, 1, 1e-7);
  EXPECT_NEAR(y[1].re, -std::numbers::sqrt2 / 2, 2e-7);
}

TEST(Rotate, a_step_is_kept_finely_enough_for_1e9_samples) {
  constexpr std::uint64_t kCount = 1'000'000'000;
  for (const double step : {0.1, -0.1234567, 1.0 / 3, 1e-9}) {
    const Rotation rotation(step);
    const long double turns = static_cast<long double>(step) * kCount;
    const auto moved = static_cast<std::int64_t>(rotation.step * kCount);
    const long double off = 0x1p-64L * static_cast<long double>(moved) - turns;
    EXPECT_LT(std::abs(static_cast<double>(off - std::round(off))), 3e-10) << step;
  }
}

}  // namespace
}  // namespace carillon::dsp
