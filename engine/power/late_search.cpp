#include "power/late_search.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <thread>

#include "base/tick.hpp"

namespace carillon::power {
namespace {

constexpr std::size_t kBestParents = 3;
constexpr Terms kOfOne = 0b111111;  // the terms of a polynomial

bool has_all_three(Terms terms) {
  return (terms & kOfOne) != 0 && (terms >> 6 & kOfOne) != 0 && (terms >> 12 & kOfOne) != 0;
}

}  // namespace

LateSearch::LateSearch(Family family, std::span<const Point> points, std::size_t drawn,
                       std::uint64_t seed)
    : fitter_(family, points), drawn_(drawn), seed_(seed), fits_(kAllTerms + 1) {
  begin(kLeast);
}

std::size_t LateSearch::all() {
  constexpr std::size_t kOfEach = kOfOne;  // subsets that are not empty
  return kOfEach * kOfEach * kOfEach;
}

void LateSearch::begin(std::size_t coefficients) {
  level_ = coefficients;
  terms_.clear();
  next_ = 0;
  for (Terms terms = 0; terms <= kAllTerms; ++terms)
    if (static_cast<std::size_t>(std::popcount(terms)) == level_ && has_all_three(terms))
      terms_.push_back(terms);
}

void LateSearch::resume_after(std::size_t coefficients) {
  done_ = 0;
  for (Terms terms = 0; terms <= kAllTerms; ++terms)
    done_ += static_cast<std::size_t>(std::popcount(terms)) <= coefficients && has_all_three(terms);
  begin(coefficients + 1);
}

bool LateSearch::work(double seconds, unsigned threads) {
  const Tick until = now() + static_cast<Tick>(seconds * 1e9);
  while (level_ <= kCoefficients && now() < until) {
    const std::size_t before = next_;
    const auto take = [&] {
      while (now() < until) {
        const std::size_t place = next_.fetch_add(1);
        if (place >= terms_.size()) return;
        fits_[terms_[place]] = fit(terms_[place]);
      }
    };
    std::vector<std::thread> others;
    for (unsigned i = 1; i < threads; ++i) others.emplace_back(take);
    take();
    for (std::thread& other : others) other.join();
    next_ = std::min(next_.load(), terms_.size());
    done_ += next_ - before;
    if (next_ == terms_.size()) begin(level_ + 1);
  }
  return level_ <= kCoefficients;
}

Fit LateSearch::fit(Terms terms) const {
  std::vector<const Fit*> parents;
  for (std::size_t n = 0; n < kCoefficients; ++n) {
    const Terms without = terms & ~(1U << n);
    if (without == terms || !has_all_three(without)) continue;
    if (fits_[without].verdict != Verdict::NoFit) parents.push_back(&fits_[without]);
  }
  std::ranges::sort(parents, {}, [](const Fit* own) { return own->mse; });
  std::vector<Coefficients> starts;
  for (const Fit* parent : parents)
    if (starts.size() < kBestParents) starts.push_back(parent->coefficients);
  return fitter_.fit(terms, starts, drawn_, seed_);
}

}  // namespace carillon::power
