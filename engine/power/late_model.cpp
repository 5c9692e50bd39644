#include "power/late_model.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "power/descent.hpp"

namespace carillon::power {
namespace {

constexpr double kMultipliers[] = {-1000, -100, -10, 1, 10, 100, 1000};
constexpr int kClocks = 240, kRates = 16;  // where poles are looked for
constexpr int kDraws = 32;                 // until a start is real at all points
constexpr int kFirstSteps = 6;             // of all starts
constexpr int kMostSteps = 200;            // of those that go on
constexpr std::size_t kGoOn = 2;           // so many

double polynomial(const double* c, double f, double r) {
  return c[0] + c[1] * f + c[2] * f * f + c[3] * r + c[4] * r * r + c[5] * f * r;
}

bool is_empty(const double* c) {
  return std::all_of(c, c + 6, [](double own) { return own == 0; });
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::Good: return "good";
    case Verdict::NoFit: return "no fit";
    case Verdict::IllConditioned: return "ill-conditioned";
    case Verdict::Insignificant: return "insignificant";
    case Verdict::Pole: return "pole";
  }
  return "";
}

bool has_pole(Family family, const Coefficients& coefficients, std::span<const Point> points) {
  const auto [slow, fast] = std::ranges::minmax(points, {}, &Point::clock);
  const auto [low, high] = std::ranges::minmax(points, {}, &Point::rate);
  const auto changes_sign = [&](const double* g) {
    bool below = false, above = false;
    for (int i = 0; i <= kClocks; ++i)
      for (int j = 0; j <= kRates; ++j) {
        const double f = std::lerp(slow.clock, fast.clock, i / static_cast<double>(kClocks));
        const double r = std::lerp(low.rate, high.rate, j / static_cast<double>(kRates));
        const double value = polynomial(g, f, r);
        below |= value <= 0;
        above |= value >= 0;
      }
    return below && above;
  };
  const double* const c = coefficients.data();
  return family == Family::Power ? changes_sign(c) || changes_sign(c + 6) : changes_sign(c + 12);
}

double late_probability(Family family, const Coefficients& coefficients, double clock,
                        double rate) {
  const double* const c = coefficients.data();
  const double g1 = polynomial(c, clock, rate), g2 = polynomial(c + 6, clock, rate),
               g3 = polynomial(c + 12, clock, rate);
  if (family == Family::Exponential) {
    if (is_empty(c)) return 0;
    return is_empty(c + 6) ? g1 : g1 * std::exp(g2 / g3);
  }
  if (is_empty(c + 12)) return 1;
  const double base = g1 / g2;
  return base < 0 ? std::numeric_limits<double>::quiet_NaN() : std::pow(base, g3);
}

Fitter::Fitter(Family family, std::span<const Point> points)
    : family_(family), points_(points.begin(), points.end()), size_(points.size()) {
  if (points.size() < 3 || points.size() > kMostPoints)
    throw std::invalid_argument("a model needs 3 to 256 points, not " +
                                std::to_string(points.size()));
  clock_unit_ = rate_unit_ = 0;
  for (const Point& point : points) {
    const bool good = point.clock > 0 && point.rate > 0 && std::isfinite(point.clock) &&
                      std::isfinite(point.rate) && point.late >= 0 && point.late <= 1;
    if (!good)
      throw std::invalid_argument(
          "a point needs a clock and a rate above 0, and a share of late ones from 0 to 1");
    clock_unit_ = std::max(clock_unit_, point.clock);
    rate_unit_ = std::max(rate_unit_, point.rate);
  }
  for (std::size_t i = 0; i < size_; ++i) {
    const double f = points[i].clock / clock_unit_, r = points[i].rate / rate_unit_;
    const double terms[] = {1, f, f * f, r, r * r, f * r};
    for (std::size_t t = 0; t < kTermsOfOne; ++t) basis_[t][i] = terms[t];
    late_[i] = points[i].late;
  }
}

Coefficients Fitter::scaled(Coefficients coefficients, bool to_units) const {
  const double f = clock_unit_, r = rate_unit_;
  const double of_terms[] = {1, f, f * f, r, r * r, f * r};
  for (std::size_t n = 0; n < kCoefficients; ++n)
    coefficients[n] *= to_units ? of_terms[n % kTermsOfOne] : 1 / of_terms[n % kTermsOfOne];
  return coefficients;
}

Coefficients Fitter::drawn(Terms terms, Random& random) {
  Coefficients start{};
  for (std::size_t n = 0; n < kCoefficients; ++n)
    if ((terms >> n & 1) != 0)
      start[n] = random.uniform() * kMultipliers[random.next() % std::size(kMultipliers)];
  return start;
}

Fit Fitter::fit(Terms terms, std::span<const Coefficients> starts, std::size_t drawn_starts,
                std::uint64_t seed) const {
  Scratch scratch;
  std::vector<Descent> descents;
  const auto begin = [&](const Coefficients& start) {
    Descent descent(*this, scratch, terms, start);
    if (!descent.is_real()) return false;
    descents.push_back(descent);
    return true;
  };
  for (const Coefficients& start : starts) begin(scaled(start, true));
  Random random(seed, terms);
  for (std::size_t i = 0; i < drawn_starts; ++i)
    for (int draw = 0; draw < kDraws && !begin(drawn(terms, random)); ++draw) {
    }
  for (Descent& descent : descents) descent.go(kFirstSteps);
  const auto best = std::min(kGoOn, descents.size());
  std::ranges::partial_sort(descents, descents.begin() + static_cast<std::ptrdiff_t>(best), {},
                            &Descent::mse);
  descents.erase(descents.begin() + static_cast<std::ptrdiff_t>(best), descents.end());
  for (Descent& descent : descents) descent.go(kMostSteps);
  const auto found = std::ranges::min_element(descents, {}, &Descent::mse);
  if (found == descents.end()) return {};
  Fit fitted{scaled(found->coefficients(), false), found->mse(), found->verdict()};
  if (fitted.verdict == Verdict::Good && has_pole(family_, fitted.coefficients, points_))
    fitted.verdict = Verdict::Pole;
  return fitted;
}

}  // namespace carillon::power
