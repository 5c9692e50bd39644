// How likely a subframe is late, as a function of the clock and of the rate of samples: the two
// families of Malm, Ruttik and Tirkkonen, "Latency-aware power management in software-defined
// radios", section 8.2, equations 2 to 5, and their fits by least squares.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/random.hpp"

namespace carillon::power {

inline constexpr std::size_t kCoefficients = 18;

/// Polynomials g1, g2 and g3 with six coefficients each: of 1, f, f², R, R² and f·R.
enum class Family : std::uint8_t {
  Power,       ///< f0 = (g1 / g2)^g3
  Exponential  ///< f1 = g1 · exp(g2 / g3)
};

/// Which coefficients a model has: bit n - 1 stands for c_n.
using Terms = std::uint32_t;
inline constexpr Terms kAllTerms = (1U << kCoefficients) - 1;

using Coefficients = std::array<double, kCoefficients>;

/// What was measured at a clock f and a rate R, in any units, and the share that was late.
struct Point {
  double clock = 0, rate = 0, late = 0;
};

/// Why a fit is of no use, in the order in which it is looked for.
enum class Verdict : std::uint8_t {
  Good,
  NoFit,           ///< no start was real at all points
  IllConditioned,  ///< the Jacobian with columns of one length: condition above 1/√ε, or no full
                   ///< rank
  Insignificant,   ///< the t test of a coefficient: p above 0.05
  Pole             ///< good at the points, but somewhere between them it has a pole or is not real
};
std::string_view name_of(Verdict verdict);

struct Fit {
  Coefficients coefficients{};  ///< those that the model lacks are 0
  double mse = 0;
  Verdict verdict = Verdict::NoFit;
};

/// Whether a polynomial that the model divides by, or takes a power of, changes its sign between
/// the least and the greatest clock and rate.
bool has_pole(Family family, const Coefficients& coefficients, std::span<const Point> points);

/// NaN where it is not real: a negative base, a pole, 0/0. An empty polynomial is 0, and 0⁰ = 1.
double late_probability(Family family, const Coefficients& coefficients, double clock, double rate);

/// Models of the same family and terms from several starts; the quotients do not change with the
/// scale of both their polynomials, so that one coefficient of the denominator is fixed meanwhile,
/// and counted. `starts`: coefficients to begin with; further ones are drawn, each between 0 and a
/// multiplier of -1000, -100, -10, 1, 10, 100 or 1000 (table 4, in units in which the largest clock
/// and rate are 1). All begin with a few steps, and the best go on.
class Fitter {
 public:
  /// Throws std::invalid_argument where points are too few (3), not finite, or shares beyond [0,
  /// 1].
  Fitter(Family family, std::span<const Point> points);

  Family family() const { return family_; }
  /// `drawn`: how many starts of chance, from `seed`. Any thread.
  Fit fit(Terms terms, std::span<const Coefficients> starts, std::size_t drawn,
          std::uint64_t seed) const;

  static constexpr std::size_t kMostPoints = 256;

 private:
  friend class Descent;
  static constexpr std::size_t kTermsOfOne = 6;

  Coefficients scaled(Coefficients coefficients, bool to_units) const;
  static Coefficients drawn(Terms terms, Random& random);

  Family family_;
  std::vector<Point> points_;
  std::size_t size_ = 0;
  double clock_unit_ = 1, rate_unit_ = 1;
  std::array<std::array<double, kMostPoints>, kTermsOfOne> basis_{};  // in those units
  std::array<double, kMostPoints> late_{};
};

}  // namespace carillon::power
