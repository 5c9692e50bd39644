// The search among all subsets of coefficients.
#include "power/late_search.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "base/random.hpp"

namespace carillon::power {
namespace {

// A model of three coefficients, with noise.
std::vector<Point> points(double step = 250) {
  Random random(7);
  std::vector<Point> found;
  for (double clock = 1000; clock <= 2000; clock += step)
    for (const double rate : {10.0, 30.0}) {
      const double late = 0.9 * std::exp(-clock / (30 * rate)) + 1e-4 * random.uniform();
      found.push_back({clock, rate, late});
    }
  return found;
}

constexpr Terms kTruth = 1U | 1U << 7 | 1U << 15;

void finish(LateSearch& search, std::size_t whole, unsigned threads) {
  while (search.whole() < whole) search.work(0.01, threads);
}

TEST(LateSearch, FindsTheTermsOfTheTruth) {
  LateSearch search(Family::Exponential, points(), 20, 1);
  finish(search, 3, 2);
  EXPECT_GE(search.done(), 216U);
  Terms best = kTruth;
  for (Terms terms = 0; terms <= kAllTerms; ++terms) {
    const Fit& fit = search.fits()[terms];
    if (std::popcount(terms) == 3 && fit.verdict == Verdict::Good &&
        fit.mse < search.fits()[best].mse)
      best = terms;
  }
  // f/R is also f²/(f·R).
  EXPECT_LE(search.fits()[kTruth].mse, search.fits()[best].mse * (1 + 1e-6));
  EXPECT_LT(search.fits()[best].mse, 1e-8);
}

TEST(LateSearch, IsTheSameWithOtherThreadsAndAfterAPause) {
  const std::vector<Point> few = points(500);
  LateSearch one(Family::Power, few, 1, 1), two(Family::Power, few, 1, 1),
      again(Family::Power, few, 1, 1);
  finish(one, 4, 1);
  finish(two, 3, 3);
  std::ranges::copy(two.fits(), again.fits().begin());
  again.resume_after(3);
  EXPECT_EQ(again.done(), 216U);
  finish(again, 4, 2);
  finish(two, 4, 3);
  for (Terms terms = 0; terms <= kAllTerms; ++terms)
    if (std::popcount(terms) <= 4) {
      EXPECT_EQ(one.fits()[terms].mse, two.fits()[terms].mse) << terms;
      EXPECT_EQ(one.fits()[terms].mse, again.fits()[terms].mse) << terms;
      EXPECT_EQ(one.fits()[terms].coefficients, again.fits()[terms].coefficients) << terms;
    }
}

TEST(LateSearch, CountsSubsetsWithATermInEachPolynomial) {
  EXPECT_EQ(LateSearch::all(), 63U * 63U * 63U);
  LateSearch search(Family::Power, points(), 1, 1);
  search.resume_after(kCoefficients);
  EXPECT_EQ(search.done(), LateSearch::all());
  EXPECT_FALSE(search.work(1, 1));
}

}  // namespace
}  // namespace carillon::power
