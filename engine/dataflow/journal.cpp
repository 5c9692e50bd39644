#include "dataflow/journal.hpp"

#include <algorithm>
#include <bit>

namespace carillon::dataflow {

std::size_t Histogram::bin(Tick ns) noexcept {
  const auto value = static_cast<std::uint64_t>(std::max<Tick>(ns, 0));
  if (value < kSteps) return value;
  const auto doublings = static_cast<unsigned>(std::bit_width(value / kSteps)) - 1;
  return kSteps * (doublings + 1) + (value >> doublings) - kSteps;
}

Tick Histogram::upper(std::size_t bin) noexcept {
  if (bin < kSteps) return static_cast<Tick>(bin);
  const std::size_t doublings = bin / kSteps - 1;
  return (static_cast<Tick>(bin % kSteps + kSteps + 1) << doublings) - 1;
}

void Histogram::add(const Histogram& other) noexcept {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
}

std::uint64_t Histogram::count() const noexcept {
  std::uint64_t all = 0;
  for (const std::uint32_t each : counts_) all += each;
  return all;
}

Tick Histogram::quantile(double q) const noexcept {
  const auto all = static_cast<double>(count());
  double above = all;
  for (std::size_t i = 0; i < counts_.size() && all > 0; ++i) {
    above -= counts_[i];
    if (above <= (1 - q) * all) return upper(i);
  }
  return 0;
}

std::vector<std::pair<Tick, std::uint64_t>> Histogram::bins() const {
  std::vector<std::pair<Tick, std::uint64_t>> found;
  for (std::size_t i = 0; i < counts_.size(); ++i)
    if (counts_[i] > 0) found.emplace_back(upper(i), counts_[i]);
  return found;
}

void Journal::event(const EventRecord& event) noexcept {
  if (events_.size() < most_events_)
    events_.push_back(event);
  else
    ++unlisted_;
}

bool Journal::was_kept_waiting(Tick excess) noexcept {
  const Tick waited = delay_ ? delay_->read() : -1;
  const Tick since = waited - waited_;
  waited_ = waited;
  return waited >= 0 && since >= excess / 2;
}

std::vector<JobRecord> Journal::jobs() const {
  std::vector<JobRecord> found;
  const std::uint64_t kept = std::min<std::uint64_t>(count_, jobs_.size());
  for (std::uint64_t i = count_ - kept; i < count_; ++i) found.push_back(jobs_[i % jobs_.size()]);
  return found;
}

namespace {

// Events of a kind, for the question whether one overlaps a time.
class Evidence {
 public:
  Evidence(std::span<const EventRecord> events, Happening what) {
    for (const EventRecord& event : events)
      if (event.what == what) events_.push_back(event);
    std::ranges::sort(events_, {}, &EventRecord::start);
    Tick last = 0;
    for (const EventRecord& event : events_) last_.push_back(last = std::max(last, event.end));
  }
  bool overlaps(Tick start, Tick end) const {
    const auto behind = std::ranges::lower_bound(events_, end, {}, &EventRecord::start);
    return behind != events_.begin() &&
           last_[static_cast<std::size_t>(behind - events_.begin()) - 1] > start;
  }

 private:
  std::vector<EventRecord> events_;
  std::vector<Tick> last_;  // the latest end of each and those before it
};

}  // namespace

Lateness explain(std::span<const EventRecord> events) {
  std::vector<EventRecord> lates;
  for (const EventRecord& event : events)
    if (event.what == Happening::Late) lates.push_back(event);
  std::ranges::sort(lates, {}, &EventRecord::end);
  const Evidence gaps(events, Happening::Gap), overruns(events, Happening::Overrun);
  Lateness found;
  Tick since = 0, before = 0;
  for (const EventRecord& late : lates) {
    const bool goes_on = found.late > 0 && before >= late.start;
    since = goes_on ? std::min(since, late.start) : late.start;
    before = late.end;
    ++found.late;
    if (gaps.overlaps(since, late.end))
      ++found.standstill;
    else
      ++(overruns.overlaps(since, late.end) ? found.overrun : found.unexplained);
  }
  return found;
}

}  // namespace carillon::dataflow
