#include "dataflow/journal.hpp"

#include <algorithm>
#include <bit>

#include "base/thread.hpp"

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
  auto& own = events_[static_cast<std::size_t>(event.what)];
  if (own.size() < most_) own.push_back(event);
}

void Journal::woke(Tick wanted, Tick woken) noexcept {
  if (woken - wanted > kStandstill) event({Happening::Gap, kNone, wanted, woken});
  since_ = woken;
  on_core_ = own_cpu_time();
}

bool Journal::was_kept_waiting(Tick at, Tick excess) noexcept {
  const Tick on_core = own_cpu_time();
  const Tick waited = at - since_ - (on_core - on_core_);
  since_ = at;
  on_core_ = on_core;
  return waited >= excess / 2;
}

std::vector<JobRecord> Journal::jobs() const {
  std::vector<JobRecord> found;
  const std::uint64_t kept = std::min<std::uint64_t>(count_, jobs_.size());
  for (std::uint64_t i = count_ - kept; i < count_; ++i) found.push_back(jobs_[i % jobs_.size()]);
  return found;
}

namespace {

// How long events of a kind were, in all, within a time.
class Evidence {
 public:
  Evidence(std::span<const EventRecord> events, Happening what) {
    for (const EventRecord& event : events)
      if (event.what == what) {
        starts_.add(event.start);
        ends_.add(event.end);
      }
    starts_.sort();
    ends_.sort();
  }
  Tick within(Tick start, Tick end) const { return until(end) - until(start); }

 private:
  // Instants, and the time from each of those before one up to that.
  struct Instants {
    std::vector<Tick> at, sums{0};

    void add(Tick instant) { at.push_back(instant); }
    void sort() {
      std::ranges::sort(at);
      for (const Tick instant : at) sums.push_back(sums.back() + (instant - at.front()));
    }
    Tick since(Tick then) const {
      const auto before = static_cast<std::size_t>(std::ranges::lower_bound(at, then) - at.begin());
      return before == 0 ? 0 : static_cast<Tick>(before) * (then - at.front()) - sums[before];
    }
  };
  Tick until(Tick then) const { return starts_.since(then) - ends_.since(then); }

  Instants starts_, ends_;
};

}  // namespace

Lateness explain(std::span<const EventRecord> events, Tick bound) {
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
    const Tick by = late.end - late.start - bound;
    const Tick gap = gaps.within(since, late.end), overrun = overruns.within(since, late.end);
    if (gap + overrun < by / 2 || gap + overrun == 0)
      ++found.unexplained;
    else
      ++(gap >= overrun ? found.standstill : found.overrun);
  }
  return found;
}

}  // namespace carillon::dataflow
