#include "runtime/executors/cuda.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace carillon::runtime {
namespace {

template <typename T>
std::size_t take(std::vector<T>& from, std::span<T> out) {
  const std::size_t count = std::min(from.size(), out.size());
  std::copy_n(from.begin(), count, out.begin());
  from.erase(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(count));
  return count;
}

std::uint16_t first_of(const DeviceMask& mask, std::size_t devices) {
  std::uint16_t device = 0;
  while (device + 1U < devices && !mask.test(device)) ++device;
  return device;
}

std::uint32_t places_in(const Scoreboard& board) {
  std::uint32_t places = 0;
  for (const SourceBoard& source : board.sources()) places += source.ring() * source.graph().size();
  return places;
}

}  // namespace

cuda::DriverOptions CudaExecutor::needs(const Scoreboard& board) {
  return {.first = kOrdered, .urgent = kOrderedStreams, .background = 1, .words = places_in(board)};
}

CudaExecutor::CudaExecutor(const Scoreboard& board, cuda::Driver& driver, DeviceWork& work,
                           const Options& options)
    : board_(board), driver_(driver), work_(work), options_(options) {
  for (std::uint16_t d = 0; d < driver.devices(); ++d) gpus_.push_back(std::make_unique<Gpu>());
  std::uint32_t places = 0;
  for (const SourceBoard& source : board.sources()) {
    first_place_.push_back(places);
    places += source.ring() * source.graph().size();
  }
  places_.resize(places);
  there_.resize(std::size_t{places} * gpus_.size());
  lives_.resize(places);
  for (std::uint32_t id = places; id-- > 0;) free_.push_back(id);
  waiting_.reserve(places);
  given_.reserve(places);
  run_.reserve(places);
  launched_.reserve(places);
  finished_.reserve(places);
  events_.reserve(std::size_t{16} * gpus_.size());
}

std::uint32_t CudaExecutor::index(const InstanceId& what, std::uint16_t instruction) const {
  return first_place_[what.source] + what.slot * board_[what.source].graph().size() + instruction;
}

// Forgets what an earlier frame left there.
std::uint32_t CudaExecutor::place_of(const InstanceId& what, std::uint16_t instruction) {
  const std::uint32_t place = index(what, instruction);
  if (places_[place].generation != what.generation) {
    places_[place] = {.generation = what.generation};
    for (std::uint16_t d = 0; d < gpus_.size(); ++d) there(place, d) = {};
  }
  return place;
}

bool CudaExecutor::has_chunks(const InstanceId& what, std::uint16_t instruction) const {
  return board_[what.source].status(what.slot, instruction).chunks != 0;
}

std::uint32_t CudaExecutor::stream_for(const Issue& issue, std::uint16_t device) {
  using Kind = DeviceWork::Kind;
  const Kind kind = work_.kind(issue.what.source, issue.what.instruction);
  if (kind == Kind::Fetch) return kFetch;
  if (kind == Kind::Bring) return kBring + gpus_[device]->turn++ % kBringStreams;
  if (issue.background) return kBackground;
  if (issue.stream == Issue::kFree) return kOwn + gpus_[device]->turn++ % kOwnStreams;
  return ordered(issue.stream);
}

void CudaExecutor::issue(const Issue& issue, Tick now) noexcept {
  const std::uint32_t id = free_.back();
  free_.pop_back();
  const std::uint16_t device = first_of(issue.where, gpus_.size());
  const std::uint32_t place = place_of(issue.what, issue.what.instruction);
  lives_[id] = {.issue = issue, .device = device, .place = place, .order = ++issued_, .given = now};
  lives_[id].stream = stream_for(issue, device);
  places_[place].live = id;
  if (!up(device)) return finish(id, now, now, true);
  waiting_.push_back(id);
}

void CudaExecutor::flush() noexcept { submit_waiting(); }

bool CudaExecutor::in_run(std::uint32_t id) const { return id != kNone && lives_[id].joined; }

// In its order in its stream, whatever else shares the device's, and behind the orders for all that
// it reads. What is for what others leave also waits until that is done, lest it stands in the way
// of more that is.
bool CudaExecutor::can_submit(const Live& live) {
  const InstanceId& what = live.issue.what;
  for (const std::uint16_t needed : waits_for(what)) {
    const std::uint32_t place = place_of(what, needed);
    if (holder(place) == gpus_.size() && !in_run(places_[place].live)) return false;
    if (live.issue.background && places_[place].live != kNone) return false;
  }
  if (live.stream < kOrdered) return true;
  for (const std::uint32_t id : waiting_) {
    const Live& other = lives_[id];
    if (other.order >= live.order) break;
    if (other.stream == live.stream && other.issue.stream == live.issue.stream &&
        other.device == live.device && !other.joined)
      return false;
  }
  return true;
}

// What comes from the host need not wait behind what its step's stream still has to do.
bool CudaExecutor::joins(const Live& live) {
  const Live& first = lives_[run_.front()];
  const InstanceId &what = live.issue.what, &its = first.issue.what;
  const auto& graph = board_[its.source].graph();
  if (what.place() != its.place() || live.device != first.device ||
      graph[what.instruction].step != graph[its.instruction].step ||
      live.issue.stream != first.issue.stream || live.issue.background || !can_submit(live))
    return false;
  if (first.stream != kFetch || live.stream < kOwn) return true;
  return std::ranges::none_of(given_, [&](std::uint32_t id) {
    return lives_[id].device == live.device && lives_[id].stream == live.stream;
  });
}

bool CudaExecutor::read_outside(std::uint32_t id) const {
  const InstanceId& what = lives_[id].issue.what;
  const auto& readers = board_[what.source].graph()[what.instruction].successors;
  return std::ranges::any_of(readers, [&](std::uint16_t reader) {
    return has_chunks(what, reader) && !in_run(places_[index(what, reader)].live);
  });
}

// Whoever reads a result elsewhere waits for the run's end: it is cut behind the first that others
// read, unless all that follow bring results to the host.
void CudaExecutor::gather(std::uint32_t first) {
  run_.clear();
  const auto join = [&](std::uint32_t id) {
    lives_[id].joined = true;
    run_.push_back(id);
  };
  join(first);
  const Issue& issue = lives_[first].issue;
  if (issue.background || issue.stream == Issue::kFree) return;
  for (const std::uint32_t id : waiting_)
    if (id != first && joins(lives_[id])) join(id);
  const auto brings = [&](std::uint32_t id) {
    const InstanceId& what = lives_[id].issue.what;
    return work_.kind(what.source, what.instruction) == DeviceWork::Kind::Bring;
  };
  for (auto end = run_.begin() + 1; end < run_.end(); ++end) {
    if (!read_outside(end[-1]) || std::all_of(end, run_.end(), brings)) continue;
    leave({end, run_.end()});
    return run_.resize(static_cast<std::size_t>(end - run_.begin()));
  }
}

void CudaExecutor::leave(std::span<const std::uint32_t> members) {
  for (const std::uint32_t id : members) lives_[id].joined = false;
}

// In rounds, since those before it may wait for one.
void CudaExecutor::submit_waiting() noexcept {
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = 0; i < waiting_.size();) {
      if (!can_submit(lives_[waiting_[i]])) {
        ++i;
        continue;
      }
      gather(waiting_[i]);
      std::erase_if(waiting_, [&](std::uint32_t id) { return in_run(id); });
      submit(driver_.now());  // which may end others that wait
      leave(run_);
      more = true;
    }
  }
}

// That of its kernels, if it has any.
std::uint32_t CudaExecutor::stream_of_run() const {
  const auto kernels =
      std::ranges::find_if(run_, [&](std::uint32_t id) { return lives_[id].stream >= kOwn; });
  return lives_[kernels != run_.end() ? *kernels : run_.back()].stream;
}

void CudaExecutor::submit(Tick now) noexcept {
  const std::uint16_t device = lives_[run_.front()].device;
  const std::uint32_t word = lives_[run_.back()].place, stream = stream_of_run();
  Gpu& gpu = *gpus_[device];
  ++ticket_;
  for (const std::uint32_t id : run_) {
    Live& live = lives_[id];
    live.submitted = true;
    live.given = now;
    live.stream = stream;
    live.word = places_[live.place].word = word;
    live.ticket = places_[live.place].ticket = ticket_;
    given_.push_back(id);
    if (gpu.busy++ == 0) gpu.told = now;
  }
  // Lest what it told long ago looks like a later value.
  driver_.release(device, word, ticket_ - 1);
  const cuda::Status taken = order();
  // A first launch takes the host long, which is no silence of the device.
  gpu.told += driver_.now() - now;
  if (taken.ok()) return;
  if (trouble_.ok()) trouble_ = taken;
  fail(device, now);
}

// As few launches as there are waits between what is launched.
cuda::Status CudaExecutor::order() {
  const Live& last = lives_[run_.back()];
  if (const cuda::Status s = driver_.use(last.device); !s.ok()) return s;
  const std::span<const std::uint32_t> run(run_);
  std::size_t launched = 0;
  bool read = false;
  for (std::size_t i = 0; i < run.size(); ++i) {
    const Live& live = lives_[run[i]];
    if (launched < i && awaits_any(live)) {
      if (const cuda::Status s = launch(run.subspan(launched, i - launched)); !s.ok()) return s;
      launched = i;
    }
    for (const std::uint16_t needed : waits_for(live.issue.what))
      if (const cuda::Status s = bring_here(live, needed); !s.ok()) return s;
    There& mine = there(live.place, live.device);
    // A copy that was spoiled may still be on its way to where this writes.
    if (mine.copied && !mine.sure)
      if (const cuda::Status s = driver_.wait(live.device, live.stream, mine.mark); !s.ok())
        return s;
    mine = {.here = true, .sure = true, .stream = live.stream, .mark = live.word};
    read = read || read_outside(run[i]);
  }
  if (const cuda::Status s = launch(run.subspan(launched)); !s.ok()) return s;
  // Nobody waits for what nobody reads.
  if (read)
    if (const cuda::Status s = driver_.mark(last.device, last.stream, last.word); !s.ok()) return s;
  return driver_.tell(last.device, last.stream, last.word, last.ticket);
}

cuda::Status CudaExecutor::launch(std::span<const std::uint32_t> members) {
  launched_.clear();
  for (const std::uint32_t id : members) launched_.push_back(lives_[id].issue.what);
  const Live& live = lives_[members.front()];
  return work_.launch(launched_, live.device, driver_.stream(live.device, live.stream));
}

// What the host has heard of is not to be waited for, nor what is before it in its stream.
bool CudaExecutor::awaits(const Live& live, std::uint16_t instruction) {
  const std::uint32_t place = index(live.issue.what, instruction);
  const There& mine = there(place, live.device);
  if (!mine.here) return true;
  const bool done = mine.copied ? mine.sure : places_[place].live == kNone;
  return mine.stream != live.stream && !done;
}

bool CudaExecutor::awaits_any(const Live& live) {
  const There& old = there(live.place, live.device);
  return (old.copied && !old.sure) ||
         std::ranges::any_of(waits_for(live.issue.what),
                             [&](std::uint16_t needed) { return awaits(live, needed); });
}

// The live's stream goes on when the result is on its device.
cuda::Status CudaExecutor::bring_here(const Live& live, std::uint16_t instruction) {
  const std::uint32_t place = index(live.issue.what, instruction);
  There& mine = there(place, live.device);
  if (!mine.here) {
    const std::uint16_t from = holder(place);
    InstanceId what = live.issue.what;
    what.instruction = instruction;
    cuda::Status status;
    // A copy is known to be whole.
    if (!there(place, from).copied)
      status =
          driver_.await(live.device, kCopies, from, places_[place].word, places_[place].ticket);
    if (status.ok())
      status = work_.copy(what, from, live.device, driver_.stream(live.device, kCopies));
    if (status.ok()) status = driver_.mark(live.device, kCopies, place);
    if (!status.ok()) return status;
    mine = {.here = true, .copied = true, .from = from, .stream = kCopies, .mark = place};
    ++copied_;
  }
  return awaits(live, instruction) ? driver_.wait(live.device, live.stream, mine.mark)
                                   : cuda::Status();
}

// The device to have a result from: rather who makes it than who has a copy, and that only if it is
// known to be whole; all of them: nobody.
std::uint16_t CudaExecutor::holder(std::uint32_t place) const {
  const auto all = static_cast<std::uint16_t>(gpus_.size());
  std::uint16_t found = all;
  for (std::uint16_t d = 0; d < all; ++d) {
    const There& at = there_[std::size_t{place} * all + d];
    if (!at.here || !at.sure) continue;
    if (!at.copied) return d;
    found = d;
  }
  return found;
}

std::size_t CudaExecutor::poll(std::span<Finished> out) noexcept { return take(finished_, out); }

void CudaExecutor::look(Tick now) noexcept {
  for (std::size_t i = 0; i < given_.size();) {
    const Live& live = lives_[given_[i]];
    const auto begin = given_.begin() + static_cast<std::ptrdiff_t>(i);
    const auto end = std::find_if(begin, given_.end(), [&](std::uint32_t id) {
      return lives_[id].ticket != live.ticket;  // a run's are together
    });
    if (driver_.told(live.device, live.word) != live.ticket) {
      i += static_cast<std::size_t>(end - begin);
      continue;
    }
    done({begin, end}, now);
    given_.erase(begin, end);
  }
  look_for_silence(now);
}

// The one that has been silent for longest: others may only be waiting for it.
void CudaExecutor::look_for_silence(Tick now) noexcept {
  const auto waits = [&](std::uint16_t d) { return up(d) && gpus_[d]->busy != 0; };
  auto oldest = static_cast<std::uint16_t>(gpus_.size());
  for (std::uint16_t d = 0; d < gpus_.size(); ++d)
    if (waits(d) && (oldest == gpus_.size() || gpus_[d]->told < gpus_[oldest]->told)) oldest = d;
  if (oldest == gpus_.size() || now - gpus_[oldest]->told <= options_.patience) return;
  fail(oldest, now);
  for (std::uint16_t d = 0; d < gpus_.size(); ++d)
    if (waits(d)) gpus_[d]->told = now;
}

// When one ended and the next began, nobody told: each took as many times what was expected as all
// did, after what it had to wait for.
void CudaExecutor::done(std::span<const std::uint32_t> run, Tick now) noexcept {
  const Live& first = lives_[run.front()];
  Gpu& gpu = *gpus_[first.device];
  gpu.busy -= static_cast<std::uint32_t>(run.size());
  gpu.told = now;
  Tick end = first.given;
  const double times = times_expected(run, now);
  for (const std::uint32_t id : run) {
    const Live& live = lives_[id];
    if (!live.spoiled)
      for (const std::uint16_t needed : waits_for(live.issue.what))
        there(index(live.issue.what, needed), live.device).sure = true;
    const Tick begin = std::max(end, awaited(live, now));
    end = std::min<Tick>(now, begin + std::llround(times * expected(live)));
    finish(id, begin, end, live.spoiled);
    places_[live.place].told = now;
  }
}

// With t times what was expected the run ends at the latest, of all its members, of where one
// began and t times what was expected of it and all behind it. That is now, so t is the least.
double CudaExecutor::times_expected(std::span<const std::uint32_t> run, Tick now) const {
  double times = std::numeric_limits<double>::infinity(), left = 0;
  for (auto id = run.rbegin(); id != run.rend(); ++id) {
    const Live& live = lives_[*id];
    left += expected(live);
    const Tick begin = std::max(live.given, awaited(live, now));
    times = std::min(times, static_cast<double>(now - begin) / left);
  }
  return times;
}

// When the host heard of the last of what it reads of other runs; of what it has heard of only now,
// it does not know when that was.
Tick CudaExecutor::awaited(const Live& live, Tick now) const {
  Tick last = 0;
  for (const std::uint16_t needed : waits_for(live.issue.what)) {
    const Place& its = places_[index(live.issue.what, needed)];
    if (its.ticket != live.ticket && its.told != now) last = std::max(last, its.told);
  }
  return last;
}

double CudaExecutor::expected(const Live& live) const {
  const SourceBoard& source = board_[live.issue.what.source];
  if (!source.has_profile()) return 1;
  const std::uint16_t instruction = live.issue.what.instruction;
  return std::max(source.on(instruction, board_.devices()[live.device].type).time.mean(), 1.0);
}

void CudaExecutor::finish(std::uint32_t id, Tick begin, Tick end, bool failed) noexcept {
  const Live& live = lives_[id];
  const bool never = live.cancelled && !live.submitted;
  finished_.push_back({.what = live.issue.what,
                       .count = never ? 0 : live.issue.count,
                       .device = live.device,
                       .executed = begin,
                       .at = end,
                       .busy = end - begin,
                       .failed = failed});
  if (places_[live.place].live == id) places_[live.place].live = kNone;
  free_.push_back(id);
}

std::uint32_t CudaExecutor::undone(const InstanceId& what) const noexcept {
  const Place& place = places_[index(what, what.instruction)];
  return place.generation == what.generation && place.live != kNone ? lives_[place.live].issue.count
                                                                    : 0;
}

// What the device has been given, it does.
void CudaExecutor::cancel(const InstanceId& what) noexcept {
  const std::uint32_t id = places_[place_of(what, what.instruction)].live;
  if (id == kNone) return;
  lives_[id].cancelled = true;
  if (lives_[id].submitted) return;
  std::erase(waiting_, id);
  finish(id, lives_[id].given, driver_.now(), false);
}

bool CudaExecutor::lost(const InstanceId& what) const noexcept {
  using Kind = DeviceWork::Kind;
  return work_.kind(what.source, what.instruction) != Kind::Bring &&
         holder(index(what, what.instruction)) == gpus_.size();
}

// It may have failed because another one did that it was reading from.
void CudaExecutor::fail(std::uint16_t device, Tick now) noexcept {
  if (!up(device)) return;
  for (std::uint16_t other = 0; other < gpus_.size(); ++other)
    if (other == device || (up(other) && !driver_.answers(other).ok())) give_up(other, now);
}

void CudaExecutor::give_up(std::uint16_t device, Tick now) noexcept {
  ++failures_;
  gpus_[device]->health.store(Health::Down, std::memory_order_release);
  gpus_[device]->busy = 0;
  events_.push_back({device, false});
  for (std::uint32_t place = 0; place < places_.size(); ++place) there(place, device) = {};
  spoil_readers(device);
  // What it has just done, and the scheduler has not heard of.
  for (Finished& each : finished_)
    each.failed |= each.device == device && each.count != 0 && lost(each.what);
  const auto here = [&](std::uint32_t id) { return lives_[id].device == device; };
  for (std::vector<std::uint32_t>* const list : {&waiting_, &given_}) {
    for (const std::uint32_t id : *list)
      if (here(id)) {
        if (lives_[id].submitted) driver_.release(device, lives_[id].word, lives_[id].ticket);
        finish(id, lives_[id].given, now, true);
      }
    std::erase_if(*list, here);
  }
}

// What is under way elsewhere and reads what may never have come from the dead device, directly or
// by what it reads: in the order in which the orders were given.
void CudaExecutor::spoil_readers(std::uint16_t dead) noexcept {
  for (const std::uint32_t id : given_) {
    Live& live = lives_[id];
    if (live.device == dead) continue;
    for (const std::uint16_t needed : waits_for(live.issue.what)) {
      const std::uint32_t place = index(live.issue.what, needed);
      There& mine = there(place, live.device);
      if (mine.copied && !mine.sure && !there(place, mine.from).here) mine.here = false;
      live.spoiled |= !mine.here;
    }
    if (live.spoiled) there(live.place, live.device).here = false;
  }
}

// The scheduler asks this first: it hears of a device's end before it hears of what that was doing,
// and that it is back when it has heard of all that; what others do meanwhile is no matter.
std::size_t CudaExecutor::poll(std::span<DeviceEvent> out) noexcept {
  look(driver_.now());
  for (std::uint16_t d = 0; d < gpus_.size(); ++d) {
    const auto its = [d](const Finished& each) { return each.device == d; };
    if (gpus_[d]->health.load(std::memory_order_acquire) != Health::Answers ||
        std::ranges::any_of(finished_, its))
      continue;
    gpus_[d]->health.store(Health::Up, std::memory_order_relaxed);
    events_.push_back({d, true});
  }
  return take(events_, out);
}

void CudaExecutor::recover() noexcept {
  for (std::uint16_t d = 0; d < gpus_.size(); ++d) {
    if (gpus_[d]->health.load(std::memory_order_acquire) != Health::Down) continue;
    if (driver_.revive(d).ok()) gpus_[d]->health.store(Health::Answers, std::memory_order_release);
  }
}

}  // namespace carillon::runtime
