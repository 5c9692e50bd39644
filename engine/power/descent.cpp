#include "power/descent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace carillon::power {
namespace {

constexpr double kBetter = 1e-9;  // a step that gains a smaller share is the last
constexpr double kMostDamping = 1e12;
constexpr double kSignificance = 0.05;
const double kMostCondition = 1 / std::sqrt(std::numeric_limits<double>::epsilon());

// Of a symmetric matrix's lower half, in place. False: it is not positive definite.
template <typename Matrix>
bool cholesky(Matrix& a, std::size_t n) {
  for (std::size_t j = 0; j < n; ++j) {
    double diagonal = a[j][j];
    for (std::size_t k = 0; k < j; ++k) diagonal -= a[j][k] * a[j][k];
    if (!(diagonal > 0)) return false;
    a[j][j] = std::sqrt(diagonal);
    for (std::size_t i = j + 1; i < n; ++i) {
      double sum = a[i][j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[i][k] * a[j][k];
      a[i][j] = sum / a[j][j];
    }
  }
  return true;
}

template <typename Matrix, typename Vector>
void solve(const Matrix& l, std::size_t n, Vector& x) {
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) x[i] -= l[i][k] * x[k];
    x[i] /= l[i][i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) x[i] -= l[k][i] * x[k];
    x[i] /= l[i][i];
  }
}

// Two-sided, of Student's t with so many degrees of freedom (Abramowitz and Stegun 26.7.3 and
// 26.7.4).
double p_value(double t, std::size_t freedom) {
  const double angle = std::atan(std::abs(t) / std::sqrt(static_cast<double>(freedom)));
  const double c = std::cos(angle);
  const bool odd = freedom % 2 != 0;
  double term = odd ? c : 1, sum = freedom == 1 ? 0 : term;
  for (std::size_t k = odd ? 3 : 2; k + 1 < freedom; k += 2) {
    term *= c * c * static_cast<double>(k - 1) / static_cast<double>(k);
    sum += term;
  }
  const double inside =
      odd ? 2 / std::numbers::pi * (angle + std::sin(angle) * sum) : std::sin(angle) * sum;
  return 1 - inside;
}

}  // namespace

Descent::Descent(const Fitter& fitter, Scratch& scratch, Terms terms, const Coefficients& start)
    : fitter_(&fitter), scratch_(&scratch), terms_(terms), c_(start) {
  fix_one();
  if (real_) {
    mse_ = error_of(c_, false);
    real_ = std::isfinite(mse_);
  }
}

// Of the denominator, the coefficient that is the largest becomes 1, and those of both polynomials
// of the quotient are scaled with it.
void Descent::fix_one() {
  const std::size_t scaled = fitter_->family() == Family::Power ? 0 : 6, below = scaled + 6;
  std::size_t fixed = below;
  for (std::size_t n = below; n < below + 6; ++n)
    if (std::abs(c_[n]) > std::abs(c_[fixed])) fixed = n;
  real_ = c_[fixed] != 0;
  if (!real_) return;
  const double by = c_[fixed];
  for (std::size_t n = scaled; n < scaled + 12; ++n) c_[n] /= by;
  count_ = 0;
  for (std::size_t n = 0; n < kCoefficients; ++n)
    if ((terms_ >> n & 1) != 0 && n != fixed) free_[count_++] = n;
}

// Infinite where it is not real. What the Jacobian needs is kept where it `keeps` it.
double Descent::error_of(const Coefficients& c, bool keeps) {
  const std::size_t size = fitter_->size_;
  auto& [residual, slope, columns] = *scratch_;
  Values g1{}, g2{}, g3{};
  const auto add = [&](Values& g, std::size_t from) {
    for (std::size_t t = 0; t < 6; ++t)
      if (c[from + t] != 0)
        for (std::size_t i = 0; i < size; ++i) g[i] += c[from + t] * fitter_->basis_[t][i];
  };
  add(g1, 0);
  add(g2, 6);
  add(g3, 12);
  const bool power = fitter_->family() == Family::Power;
  double sum = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const bool is_real = power ? g1[i] * g2[i] > 0 : g3[i] != 0;
    if (!is_real) return std::numeric_limits<double>::infinity();
    const double inner = power ? std::log(g1[i] / g2[i]) : g2[i] / g3[i];
    const double outer = std::exp(power ? g3[i] * inner : inner);
    const double away = (power ? outer : g1[i] * outer) - fitter_->late_[i];
    sum += away * away;
    if (!keeps) continue;
    residual[i] = away;
    if (power) {
      slope[0][i] = outer * g3[i] / g1[i];
      slope[1][i] = -outer * g3[i] / g2[i];
      slope[2][i] = outer * inner;
    } else {
      slope[0][i] = outer;
      slope[1][i] = g1[i] * outer / g3[i];
      slope[2][i] = -g1[i] * outer * inner / g3[i];
    }
  }
  return std::isfinite(sum) ? sum / static_cast<double>(size)
                            : std::numeric_limits<double>::infinity();
}

void Descent::fill_normal() {
  const std::size_t size = fitter_->size_;
  auto& [residual, slope, columns] = *scratch_;
  for (std::size_t a = 0; a < count_; ++a) {
    const auto& own = slope[free_[a] / 6];
    const auto& basis = fitter_->basis_[free_[a] % 6];
    double along = 0;
    for (std::size_t i = 0; i < size; ++i) {
      columns[a][i] = own[i] * basis[i];
      along += columns[a][i] * residual[i];
    }
    gradient_[a] = along;
    for (std::size_t b = 0; b <= a; ++b) {
      double sum = 0;
      for (std::size_t i = 0; i < size; ++i) sum += columns[a][i] * columns[b][i];
      normal_[a][b] = sum;
    }
  }
}

// False: no step from here is better.
bool Descent::step() {
  fill_normal();
  for (; lambda_ < kMostDamping; lambda_ *= 8) {
    Matrix damped = normal_;
    Vector move{};
    for (std::size_t a = 0; a < count_; ++a) {
      damped[a][a] += lambda_ * normal_[a][a] + 1e-300;
      move[a] = -gradient_[a];
    }
    if (!cholesky(damped, count_)) continue;
    solve(damped, count_, move);
    Coefficients next = c_;
    for (std::size_t a = 0; a < count_; ++a) next[free_[a]] += move[a];
    const double error = error_of(next, false);
    if (!(error < mse_)) continue;
    const double gained = (mse_ - error) / mse_;
    c_ = next;
    mse_ = error_of(c_, true);
    lambda_ = std::max(lambda_ / 10, 1e-14);
    return gained > kBetter;
  }
  return false;
}

void Descent::go(int steps) {
  if (!done_) error_of(c_, true);
  for (int i = 0; i < steps && !done_; ++i) done_ = mse_ == 0 || !step();
}

Verdict Descent::verdict() {
  if (!real_) return Verdict::NoFit;
  fix_one();
  error_of(c_, true);
  fill_normal();
  Matrix one = normal_;  // columns of length 1
  Vector length{};
  for (std::size_t a = 0; a < count_; ++a) length[a] = std::sqrt(normal_[a][a]);
  double norm = 0;
  for (std::size_t a = 0; a < count_; ++a) {
    double sum = 0;
    for (std::size_t b = 0; b < count_; ++b) {
      const double value = normal_[std::max(a, b)][std::min(a, b)] / (length[a] * length[b]);
      if (b <= a) one[a][b] = value;
      sum += std::abs(value);
    }
    norm = std::max(norm, sum);
  }
  const std::size_t size = fitter_->size_;
  if (count_ >= size || !std::isfinite(norm) || !cholesky(one, count_))
    return Verdict::IllConditioned;
  double inverse_norm = 0;
  bool significant = true;
  const double freedom = static_cast<double>(size - count_);
  const double variance = mse_ * static_cast<double>(size) / freedom;
  for (std::size_t a = 0; a < count_; ++a) {
    Vector column{};
    column[a] = 1;
    solve(one, count_, column);
    double sum = 0;
    for (std::size_t b = 0; b < count_; ++b) sum += std::abs(column[b]);
    inverse_norm = std::max(inverse_norm, sum);
    const double deviation = std::sqrt(variance * column[a]) / length[a];
    significant &= p_value(c_[free_[a]] / deviation, size - count_) <= kSignificance;
  }
  if (std::sqrt(norm * inverse_norm) > kMostCondition) return Verdict::IllConditioned;
  return significant ? Verdict::Good : Verdict::Insignificant;
}

}  // namespace carillon::power
