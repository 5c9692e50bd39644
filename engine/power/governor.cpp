#include "power/governor.hpp"

#include <algorithm>
#include <cmath>

namespace carillon::power {
namespace {

// Late TTIs that the target allows and that did not come: a standstill makes many late at once. At
// first there are a few, for what chance may bring.
constexpr double kMostCredit = 100, kFirstCredit = 3;
// Of the TTIs in which the target allows one late, so many have to be in time before less is tried.
constexpr double kPatience = 10, kMostPatience = 1e5;
constexpr double kLonger = 4;  // the next time, if that was too early

void at_least(double value, double least, const char* key, std::vector<Problem>& problems) {
  if (!(value >= least) || !std::isfinite(value))
    problems.push_back({key, "is " + detail::number_text(value) + " but must be at least " +
                                 detail::number_text(least)});
}

}  // namespace

std::vector<Problem> check(const GovernorOptions& options) {
  std::vector<Problem> problems;
  if (!(options.outage > 0 && options.outage < 1))
    problems.push_back({"outage", "is " + detail::number_text(options.outage) +
                                      " but must be between 0 and 1, say 0.001"});
  at_least(options.margin, 1, "margin", problems);
  at_least(options.settle, 1, "settle", problems);
  return problems;
}

std::vector<Problem> check(const Predicted& predicted) {
  if (predicted.empty() || predicted.front().empty())
    return {{"late", "has no ratio; give one for each load and clock"}};
  std::vector<Problem> problems;
  for (std::size_t l = 0; l < predicted.size(); ++l) {
    const std::string row = "late." + std::to_string(l);
    if (predicted[l].size() != predicted.front().size())
      problems.push_back({row, "has " + std::to_string(predicted[l].size()) + " ratios, but " +
                                   std::to_string(predicted.front().size()) + " clocks are known"});
    for (std::size_t c = 0; c < predicted[l].size(); ++c)
      if (!(predicted[l][c] >= 0 && predicted[l][c] <= 1))
        problems.push_back(
            {row + "." + std::to_string(c),
             "is " + detail::number_text(predicted[l][c]) + " but must be between 0 and 1"});
  }
  return problems;
}

Predicted envelope(Predicted predicted) {
  for (auto& row : predicted)
    for (std::size_t c = row.size() - 1; c-- > 0;) row[c] = std::max(row[c], row[c + 1]);
  return predicted;
}

Governor::Governor(Predicted predicted, GovernorOptions options)
    : options_(options),
      highest_(static_cast<std::uint32_t>(predicted.front().size() - 1)),
      clock_(highest_),
      credit_(kFirstCredit),
      patience_(kPatience / options.outage) {
  for (const auto& row : envelope(std::move(predicted))) {
    const auto meets = [&](double late) { return late * options.margin <= options.outage; };
    const auto found = std::ranges::find_if(row, meets);
    lowest_.push_back(found == row.end() ? highest_
                                         : static_cast<std::uint32_t>(found - row.begin()));
  }
}

std::uint32_t Governor::wanted(std::uint32_t load) const noexcept {
  const std::uint32_t known = std::min(load, static_cast<std::uint32_t>(lowest_.size() - 1));
  return std::min(lowest_[known] + bias_, highest_);
}

// A bucket of late TTIs that fills at the target's rate. Empty, the model is wrong, and what is
// owed is paid off at the highest clock, so that the target is kept whatever came at once. Each
// time the way back takes longer, so that a clock that does not do is tried ever less often.
void Governor::learn(const Observed& seen) noexcept {
  credit_ = std::min(credit_ + options_.outage * seen.ended, kMostCredit) - seen.late;
  calm_ = seen.late > 0 ? 0 : calm_ + seen.ended;
  if (credit_ < 0 && !owing_) {
    bias_ = std::min(bias_ + 1, highest_);
    patience_ = std::min(kLonger * patience_, kMostPatience * kPatience / options_.outage);
  }
  owing_ = credit_ < 0;
  if (owing_) calm_ = 0;  // at the highest clock nothing is tried
  if (bias_ == 0 || calm_ < patience_) return;
  --bias_;
  calm_ = 0;
  patience_ = std::max(patience_ / 2, kPatience / options_.outage);
}

std::uint32_t Governor::decide(const Observed& seen) noexcept {
  learn(seen);
  if (seen.late > 0) held_ = options_.hold;
  const std::uint32_t least = held_ > 0 || owing_ ? highest_ : wanted(seen.load);
  if (held_ > 0) --held_;
  if (least >= clock_) {
    clock_ = least;
    settled_ = 0;
  } else if (++settled_ >= options_.settle) {
    --clock_;
    settled_ = 0;
  }
  return clock_;
}

}  // namespace carillon::power
