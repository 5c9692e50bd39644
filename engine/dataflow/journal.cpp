#include "dataflow/journal.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>

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

Journal::Journal(std::size_t workers)
    : jobs_(std::max<std::size_t>(kJobs / workers, 256)),
      lates_(std::max<std::size_t>(kLates / workers, 64)),
      recent_(std::max<std::size_t>(kRecent / workers, 64)) {
  kept_.reserve(std::max<std::size_t>(kKept / workers, 64));
}

void Journal::event(const EventRecord& event) noexcept {
  if (event.what == Happening::Late) {
    const std::size_t late = late_.load(std::memory_order_relaxed);
    if (late == lates_.size()) return;
    lates_[late] = event;
    late_.store(late + 1, std::memory_order_release);
    return;
  }
  if (event.what == Happening::Gap) {
    ++standstills_;
    longest_ = std::max(longest_, event.end - event.start);
  }
  EventRecord& place = recent_[seen_ % recent_.size()];
  if (seen_++ >= recent_.size() && met_a_late_one(place)) keep(place);
  place = event;
}

void Journal::keep(const EventRecord& event) noexcept {
  if (kept_.size() < kept_.capacity())
    kept_.push_back(event);
  else
    complete_until_ = std::min(complete_until_, event.start);
}

bool Journal::met_a_late_one(const EventRecord& event) const noexcept {
  return std::ranges::any_of(all_, [&](const auto& journal) {
    const auto& lates = journal->lates_;
    for (std::size_t i = journal->late_.load(std::memory_order_acquire); i > 0; --i) {
      if (lates[i - 1].end <= event.start) return false;
      if (lates[i - 1].start < event.end) return true;
    }
    return false;
  });
}

void Journal::begin(Tick at) {
  delay_.emplace();
  ask(at);
}

// Reading takes 1 or 2 us.
void Journal::ask(Tick at) noexcept {
  since_ = at;
  waited_ = delay_->read();
}

void Journal::woke(Tick wanted, Tick woken) noexcept {
  wanted_ = wanted;
  woken_ = woken;
  ask(woken);
}

void Journal::starts(Tick at) noexcept {
  if (woken_ - wanted_ > kStandstill) event({Happening::Gap, kNone, wanted_, woken_});
  wanted_ = woken_ = 0;
  if (at - since_ > kMillisecond) ask(at);
}

// Of what it waited since it was last asked, all may have been before this job, but no longer than
// that took.
bool Journal::was_kept_waiting(Tick start, Tick end, Tick excess) noexcept {
  const Tick before = waited_, since = since_;
  ask(end);
  const Tick waited = waited_ - before - std::max<Tick>(start - since, 0);
  return before >= 0 && waited_ >= 0 && waited > 0 && waited >= excess / 2;
}

std::vector<JobRecord> Journal::jobs() const {
  std::vector<JobRecord> found;
  const std::uint64_t kept = std::min<std::uint64_t>(count_, jobs_.size());
  for (std::uint64_t i = count_ - kept; i < count_; ++i) found.push_back(jobs_[i % jobs_.size()]);
  return found;
}

std::vector<EventRecord> Journal::events() const {
  std::vector<EventRecord> found = kept_;
  for (std::uint64_t at = seen_ - std::min<std::uint64_t>(seen_, recent_.size()); at < seen_; ++at)
    found.push_back(recent_[at % recent_.size()]);
  found.insert(found.end(), lates_.begin(),
               lates_.begin() + static_cast<std::ptrdiff_t>(late_.load()));
  return found;
}

namespace {

// A backlog takes up to so many times as long to work off as what made it.
constexpr Tick kRecovery = 10;

// How much of a time events of some kinds took; what several workers' have in common counts once.
class Evidence {
 public:
  Evidence(std::span<const EventRecord> events, std::initializer_list<Happening> kinds) {
    std::vector<EventRecord> own;
    std::ranges::copy_if(events, std::back_inserter(own), [&](const EventRecord& event) {
      return std::ranges::count(kinds, event.what) > 0;
    });
    std::ranges::sort(own, {}, &EventRecord::start);
    for (const EventRecord& event : own) {
      const Tick start = ends_.empty() ? event.start : std::max(event.start, ends_.back());
      if (event.end <= start) continue;
      starts_.push_back(start);
      ends_.push_back(event.end);
      sums_.push_back(sums_.back() + event.end - start);
    }
  }
  Tick within(Tick start, Tick end) const { return until(end) - until(start); }

 private:
  Tick until(Tick then) const {
    const auto begun =
        static_cast<std::size_t>(std::ranges::lower_bound(starts_, then) - starts_.begin());
    return begun == 0 ? 0 : sums_[begun] - std::max<Tick>(ends_[begun - 1] - then, 0);
  }

  std::vector<Tick> starts_, ends_, sums_{0};  // apart from each other, in order
};

}  // namespace

Lateness explain(std::span<const EventRecord> events, Tick bound) {
  std::vector<EventRecord> lates;
  for (const EventRecord& event : events)
    if (event.what == Happening::Late) lates.push_back(event);
  std::ranges::sort(lates, {}, &EventRecord::end);
  const Evidence gaps(events, {Happening::Gap, Happening::Interruption});
  const Evidence overruns(events, {Happening::Overrun});
  struct Backlog {
    Tick since = 0, until = 0;
  };
  std::map<NodeId, Backlog> backlogs;
  Lateness found;
  for (const EventRecord& late : lates) {
    const auto [own, first] = backlogs.try_emplace(late.node);
    Backlog& backlog = own->second;
    const bool goes_on = !first && backlog.until >= late.start;
    backlog.since = goes_on ? std::min(backlog.since, late.start) : late.start;
    backlog.until = late.end;
    const auto all = [&](Tick since) {
      return std::pair{gaps.within(since, late.end), overruns.within(since, late.end)};
    };
    const auto [most_gap, most_overrun] = all(backlog.since);
    const Tick worked_off = late.start - kRecovery * (most_gap + most_overrun);
    const auto [gap, overrun] = all(std::max(backlog.since, worked_off));
    ++found.late;
    const Tick by = late.end - late.start - bound;
    if (gap + overrun < by / 2 || gap + overrun == 0)
      ++found.unexplained;
    else
      ++(gap >= overrun ? found.standstill : found.overrun);
  }
  return found;
}

}  // namespace carillon::dataflow
