// Models of late subframes: their values, and fits of one.
#include "power/late_model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace carillon::power {
namespace {

constexpr Terms bits(std::initializer_list<int> terms) {
  Terms found = 0;
  for (const int n : terms) found |= 1U << (n - 1);
  return found;
}

Coefficients with(std::initializer_list<std::pair<int, double>> terms) {
  Coefficients found{};
  for (const auto& [n, c] : terms) found[static_cast<std::size_t>(n - 1)] = c;
  return found;
}

// Equation 6.
const Coefficients kPublished = with({{2, 1.2865e5},
                                      {3, -119.1427},
                                      {7, 9.3501e7},
                                      {9, -83.9962},
                                      {13, -16.2634},
                                      {15, 1.3552e-5},
                                      {18, 2.1030e-5}});

TEST(LateModel, PublishedValuesByHand) {
  // At 1500 MHz and 15.36 Msps: (-75 096 075 / -95 490 450)^14.713131.
  EXPECT_NEAR(late_probability(Family::Power, kPublished, 1500, 15.36), 0.0291603, 1e-7);
  // Between its pole and the zero above the base is negative.
  EXPECT_TRUE(std::isnan(late_probability(Family::Power, kPublished, 1060, 15.36)));
  EXPECT_NEAR(
      late_probability(Family::Exponential, with({{1, 2}, {8, -1}, {14, 500}, {13, 1}}), 4, 1),
      2 * std::exp(-4.0 / 2001), 1e-12);
}

TEST(LateModel, EmptyPolynomialsAreZero) {
  const Coefficients one = with({{12, -2.0083}}), nothing = with({{12, 1}, {18, 6e-5}});
  EXPECT_EQ(late_probability(Family::Power, one, 1500, 10), 1);      // 0⁰
  EXPECT_EQ(late_probability(Family::Power, nothing, 1500, 10), 0);  // 0^positive
  EXPECT_EQ(late_probability(Family::Exponential, with({{18, 6e-5}}), 1500, 10), 0);
  EXPECT_EQ(late_probability(Family::Exponential, with({{1, 0.1728}, {18, 6e-5}}), 1500, 10),
            0.1728);
}

std::vector<Point> points_of(Family family, const Coefficients& c) {
  std::vector<Point> points;
  for (double clock = 1000; clock <= 2100; clock += 100)
    for (const double rate : {7.68, 15.36, 23.04, 30.72})
      points.push_back({clock, rate, late_probability(family, c, clock, rate)});
  return points;
}

TEST(LateModel, WhatIsExactIsFoundAgain) {
  const Coefficients truth = with({{1, 0.9}, {8, -0.004}, {13, 1}, {14, -0.0002}, {16, 0.01}});
  const std::vector<Point> points = points_of(Family::Exponential, truth);
  const Fitter fitter(Family::Exponential, points);
  const Fit found = fitter.fit(bits({1, 8, 13, 14, 16}), {}, 20, 3);
  EXPECT_LT(found.mse, 1e-18);
  for (const double clock : {1050.0, 1777.0})
    EXPECT_NEAR(late_probability(Family::Exponential, found.coefficients, clock, 12),
                late_probability(Family::Exponential, truth, clock, 12), 1e-7);
  // What the truth lacks is no part of it.
  const Fit more = fitter.fit(bits({1, 8, 13, 14, 16, 18}), {}, 20, 3);
  EXPECT_NE(more.verdict, Verdict::Good);
}

TEST(LateModel, StartsAreTakenInUnitsOfTheirOwn) {
  const Coefficients truth = with({{1, 30}, {2, 0.4}, {8, 1}, {13, 2}, {15, 1e-7}});
  const std::vector<Point> points = points_of(Family::Power, truth);
  Coefficients near = truth;
  for (double& c : near) c *= 1.001;
  const Fit found =
      Fitter(Family::Power, points).fit(bits({1, 2, 8, 13, 15}), std::vector{near}, 0, 1);
  EXPECT_LT(found.mse, 1e-18);
  const double scale = truth[7] / found.coefficients[7];  // of the quotient
  EXPECT_NEAR(found.coefficients[0] * scale, 30, 1e-4);
  EXPECT_NEAR(found.coefficients[14], 1e-7, 1e-12);
}

TEST(LateModel, APoleBetweenThePointsIsSeen) {
  const std::vector<Point> points{{1000, 10, 0.5}, {2000, 20, 0.1}};
  EXPECT_TRUE(has_pole(Family::Power, kPublished, points));
  EXPECT_FALSE(has_pole(Family::Exponential, with({{1, 1}, {8, 1}, {13, 1}}), points));
  EXPECT_TRUE(has_pole(Family::Exponential, with({{1, 1}, {8, 1}, {13, -1500}, {14, 1}}), points));
}

TEST(LateModel, WrongPointsAreRefused) {
  const auto refused = [](std::vector<Point> points) {
    EXPECT_THROW(Fitter(Family::Power, points), std::invalid_argument);
  };
  const Point good{1000, 10, 0.5};
  refused({});
  refused({good, good});
  refused(std::vector<Point>(257, good));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Point& wrong : {Point{0, 10, 0.5}, Point{1000, nan, 0.5}, Point{1000, 10, 1.5},
                             Point{1000, 10, nan}, Point{-1, 10, 0}})
    refused({good, good, wrong});
}

// As many coefficients as points say nothing of chance.
TEST(LateModel, MoreCoefficientsThanPointsAreOfNoUse) {
  const std::vector<Point> points{{1000, 10, 0.5}, {1500, 10, 0.2}, {2000, 20, 0.1}};
  const Fit found = Fitter(Family::Exponential, points).fit(kAllTerms, {}, 5, 1);
  EXPECT_TRUE(found.verdict == Verdict::IllConditioned || found.verdict == Verdict::NoFit);
}

}  // namespace
}  // namespace carillon::power
