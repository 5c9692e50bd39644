// One descent of a model's squared errors, by Levenberg and Marquardt's method.
#pragma once

#include <array>
#include <cstddef>

#include "power/late_model.hpp"

namespace carillon::power {

/// What descents of one thread work in, one after another.
struct Scratch {
  using Values = std::array<double, Fitter::kMostPoints>;

  Values residual;
  std::array<Values, 3> slope;  // of the model, by each polynomial
  std::array<Values, kCoefficients> columns;
};

class Descent {
 public:
  /// Of the coefficients `terms`, in the fitter's units.
  Descent(const Fitter& fitter, Scratch& scratch, Terms terms, const Coefficients& start);

  /// That the model is a real number at all points, with one sign of each polynomial that it
  /// divides by or takes a power of.
  bool is_real() const { return real_; }
  double mse() const { return mse_; }
  const Coefficients& coefficients() const { return c_; }
  /// So many steps at most; fewer where it does not get better.
  void go(int steps);
  /// By the Jacobian where it stands; the coefficient of the denominator that is fixed is then the
  /// largest there.
  Verdict verdict();

 private:
  using Matrix = std::array<std::array<double, kCoefficients>, kCoefficients>;
  using Vector = std::array<double, kCoefficients>;
  using Values = Scratch::Values;

  void fix_one();
  double error_of(const Coefficients& c, bool keeps);
  void fill_normal();
  bool step();

  const Fitter* fitter_;
  Scratch* scratch_;
  Terms terms_;
  Coefficients c_;
  std::array<std::size_t, kCoefficients> free_{};  // the numbers of those that may change
  std::size_t count_ = 0;                          // of them
  bool real_ = false, done_ = false;
  double mse_ = 0, lambda_ = 1e-2;
  Matrix normal_;
  Vector gradient_;
};

}  // namespace carillon::power
