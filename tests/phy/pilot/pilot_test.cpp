#include "phy/pilot/pilot.hpp"

#include <cmath>
#include <complex>
#include <numbers>
#include <stdexcept>

#include "support/test.hpp"

namespace {

using namespace carillon::phy;
using Value = std::complex<double>;

Value value(Complex c) { return {c.re, c.im}; }

TEST(ZadoffChu, EqualsTheFormulaOf38211) {
  // Lengths of 5G reference signals and the largest primes below them.
  constexpr struct {
    std::uint32_t length, period;
  } kCases[] = {{36, 31}, {72, 71}, {624, 619}, {1200, 1193}, {3276, 3271}};
  for (const auto& [length, period] : kCases)
    for (const std::uint32_t root : {1U, 7U, period / 2, period - 1}) {
      const auto sequence = zadoff_chu(length, root);
      ASSERT_EQ(sequence.size(), length);
      for (std::uint32_t n = 0; n < length; ++n) {
        const double m = n % period, q = root, turns = q * m * (m + 1) / (2.0 * period);
        const Value expected = std::polar(1.0, -2 * std::numbers::pi * (turns - std::floor(turns)));
        EXPECT_LT(std::abs(value(sequence[n]) - expected), 1e-6)
            << "length " << length << " root " << root << " n " << n;
      }
    }
}

TEST(ZadoffChu, HasUnitModulusAndRepeatsItself) {
  const auto sequence = zadoff_chu(1200, 25);
  for (const Complex c : sequence) EXPECT_NEAR(std::abs(value(c)), 1.0, 1e-6);
  for (std::size_t n = 1193; n < 1200; ++n) {
    EXPECT_EQ(sequence[n].re, sequence[n - 1193].re);
    EXPECT_EQ(sequence[n].im, sequence[n - 1193].im);
  }
}

TEST(ZadoffChu, OfPrimeLengthIsOrthogonalToItsShifts) {
  const auto sequence = zadoff_chu(139, 5);
  for (std::uint32_t shift = 1; shift < 139; ++shift) {
    Value sum = 0;
    for (std::uint32_t n = 0; n < 139; ++n)
      sum += value(sequence[n]) * std::conj(value(sequence[(n + shift) % 139]));
    EXPECT_LT(std::abs(sum), 1e-4) << "shift " << shift;
  }
}

TEST(ZadoffChu, RootsFollow38211) {
  // q = ⌊q̄ + 1/2⌋ + v·(-1)^⌊2q̄⌋, q̄ = N(u + 1)/31
  for (const std::uint32_t length : {72U, 624U, 1200U, 3276U}) {
    const double period = length == 72 ? 71 : length == 624 ? 619 : length == 1200 ? 1193 : 3271;
    for (std::uint32_t u = 0; u < 30; ++u)
      for (std::uint32_t v = 0; v < 2; ++v) {
        const double mean = period * (u + 1) / 31;
        const double sign = std::fmod(std::floor(2 * mean), 2) == 0 ? 1 : -1;
        EXPECT_EQ(zadoff_chu_root(length, u, v),
                  static_cast<std::uint32_t>(std::floor(mean + 0.5) + v * sign))
            << "length " << length << " u " << u << " v " << v;
      }
  }
}

TEST(ZadoffChu, RefusesLengthsAndRootsWithoutASequence) {
  EXPECT_THROW(zadoff_chu(2, 1), std::invalid_argument);
  EXPECT_THROW(zadoff_chu(36, 0), std::invalid_argument);
  EXPECT_THROW(zadoff_chu(36, 31), std::invalid_argument);
}

}  // namespace
