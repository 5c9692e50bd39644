// The best model of each number of coefficients, by trying all subsets of them (section 8.2).
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "power/late_model.hpp"

namespace carillon::power {

/// Of those with a term in each polynomial: where one is empty the model is a constant, or none. A
/// subset begins with the best fits of those that lack one of its coefficients, besides starts of
/// chance. What is found does not depend on how many threads there are, or how often it was
/// stopped.
class LateSearch {
 public:
  static constexpr std::size_t kLeast = 3;  // coefficients

  /// `drawn`: starts of chance for each subset. Throws as Fitter does.
  LateSearch(Family family, std::span<const Point> points, std::size_t drawn, std::uint64_t seed);

  /// Goes on for about so long; false: all is done. Not while it is at work.
  bool work(double seconds, unsigned threads);
  std::size_t done() const { return done_; }
  static std::size_t all();

  /// Of all subsets, by their terms: what has been found, to be kept and put back.
  std::span<Fit> fits() { return fits_; }
  /// Goes on behind the subsets with so many coefficients, which have been put back into fits().
  void resume_after(std::size_t coefficients);
  /// With how many coefficients all subsets are done.
  std::size_t whole() const { return level_ - 1; }

 private:
  void begin(std::size_t coefficients);
  Fit fit(Terms terms) const;

  Fitter fitter_;
  std::size_t drawn_;
  std::uint64_t seed_;
  std::vector<Fit> fits_;
  std::size_t level_ = 0, done_ = 0;
  std::vector<Terms> terms_;  // of the level
  std::atomic<std::size_t> next_{0};
};

}  // namespace carillon::power
