#include "runtime/executors/cuda.hpp"

#include <algorithm>

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
  for (const CellBoard& cell : board.cells()) places += cell.ring() * cell.graph().size();
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
  for (const CellBoard& cell : board.cells()) {
    first_place_.push_back(places);
    places += cell.ring() * cell.graph().size();
  }
  places_.resize(places);
  there_.resize(std::size_t{places} * gpus_.size());
  lives_.resize(places);
  for (std::uint32_t id = places; id-- > 0;) free_.push_back(id);
  waiting_.reserve(places);
  given_.reserve(places);
  finished_.reserve(places);
  events_.reserve(std::size_t{16} * gpus_.size());
}

std::uint32_t CudaExecutor::index(const InstanceId& what, std::uint16_t instruction) const {
  return first_place_[what.cell] + what.slot * board_[what.cell].graph().size() + instruction;
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

std::span<const std::uint16_t> CudaExecutor::sources(const InstanceId& what) const {
  return board_[what.cell].graph()[what.instruction].sources;
}

bool CudaExecutor::has_chunks(const InstanceId& what, std::uint16_t instruction) const {
  return board_[what.cell].status(what.slot, instruction).chunks != 0;
}

std::uint32_t CudaExecutor::stream_for(const Issue& issue, std::uint16_t device) {
  using Kind = DeviceWork::Kind;
  const Kind kind = work_.kind(issue.what.cell, issue.what.instruction);
  if (kind == Kind::Fetch) return kFetch;
  if (kind == Kind::Bring) return kBring + gpus_[device]->turn++ % kBringStreams;
  if (issue.background) return kBackground;
  if (issue.stream == Issue::kFree) return kOwn + gpus_[device]->turn++ % kOwnStreams;
  return kOrdered + issue.stream % kOrderedStreams;
}

void CudaExecutor::issue(const Issue& issue, Tick now) noexcept {
  const std::uint32_t id = free_.back();
  free_.pop_back();
  const std::uint16_t device = first_of(issue.where, gpus_.size());
  const std::uint32_t place = place_of(issue.what, issue.what.instruction);
  lives_[id] = {.issue = issue, .device = device, .place = place, .order = ++issued_, .given = now};
  lives_[id].stream = stream_for(issue, device);
  places_[place].live = id;
  if (!up(device)) return finish(id, now, true);
  waiting_.push_back(id);
}

void CudaExecutor::flush() noexcept { submit_waiting(); }

// In its order in its stream, whatever else shares the device's, and behind the orders for all that
// it reads. What is for what others leave also waits until that is done, lest it stands in the way
// of more that is.
bool CudaExecutor::can_submit(const Live& live) {
  const InstanceId& what = live.issue.what;
  for (const std::uint16_t source : sources(what)) {
    if (!has_chunks(what, source)) continue;
    const std::uint32_t place = place_of(what, source);
    if (holder(place) == gpus_.size()) return false;
    if (live.issue.background && places_[place].live != kNone) return false;
  }
  return live.stream < kOrdered ||
         std::none_of(waiting_.begin(), waiting_.end(), [&](std::uint32_t id) {
           const Live& other = lives_[id];
           return other.order < live.order && other.stream == live.stream &&
                  other.issue.stream == live.issue.stream && other.device == live.device;
         });
}

// In rounds, since those before it may wait for one.
void CudaExecutor::submit_waiting() noexcept {
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = 0; i < waiting_.size();) {
      const std::uint32_t id = waiting_[i];
      if (!can_submit(lives_[id])) {
        ++i;
        continue;
      }
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
      submit(id, driver_.now());  // which may end others that wait
      more = true;
    }
  }
}

void CudaExecutor::submit(std::uint32_t id, Tick now) noexcept {
  Live& live = lives_[id];
  Gpu& gpu = *gpus_[live.device];
  live.submitted = true;
  live.given = now;
  live.ticket = ++ticket_;
  places_[live.place].ticket = live.ticket;
  given_.push_back(id);
  if (gpu.busy++ == 0) gpu.told = now;
  // Lest what it told long ago looks like a later value.
  driver_.release(live.device, live.place, live.ticket - 1);
  const cuda::Status taken = order(live);
  // A first launch takes the host long, which is no silence of the device.
  gpu.told += driver_.now() - now;
  if (taken.ok()) return;
  if (trouble_.ok()) trouble_ = taken;
  fail(live.device, now);
}

cuda::Status CudaExecutor::order(const Live& live) {
  const InstanceId& what = live.issue.what;
  if (const cuda::Status s = driver_.use(live.device); !s.ok()) return s;
  for (const std::uint16_t source : sources(what)) {
    if (!has_chunks(what, source)) continue;
    if (const cuda::Status s = bring_here(live, source); !s.ok()) return s;
  }
  // A copy that was spoiled may still be on its way to where this writes.
  if (const There& old = there(live.place, live.device); old.copied && !old.sure)
    if (const cuda::Status s = driver_.wait(live.device, live.stream, live.place); !s.ok())
      return s;
  const cuda::Stream stream = driver_.stream(live.device, live.stream);
  if (const cuda::Status s = work_.launch(what, live.device, stream); !s.ok()) return s;
  // Nobody waits for what nobody reads.
  if (!board_[what.cell].graph()[what.instruction].successors.empty())
    if (const cuda::Status s = driver_.mark(live.device, live.stream, live.place); !s.ok())
      return s;
  there(live.place, live.device) = {.here = true, .sure = true, .stream = live.stream};
  return driver_.tell(live.device, live.stream, live.place, live.ticket);
}

// The live's stream goes on when the result is on its device, which is not to be waited for where
// the host has heard of it.
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
      status = driver_.await(live.device, kCopies, from, place, places_[place].ticket);
    if (status.ok())
      status = work_.copy(what, from, live.device, driver_.stream(live.device, kCopies));
    if (status.ok()) status = driver_.mark(live.device, kCopies, place);
    if (!status.ok()) return status;
    mine = {.here = true, .copied = true, .from = from, .stream = kCopies};
    ++copied_;
  }
  const bool done = mine.copied ? mine.sure : places_[place].live == kNone;
  return mine.stream == live.stream || done ? cuda::Status()
                                            : driver_.wait(live.device, live.stream, place);
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
    const std::uint32_t id = given_[i];
    const Live& live = lives_[id];
    if (driver_.told(live.device, live.place) != live.ticket) {
      ++i;
      continue;
    }
    given_.erase(given_.begin() + static_cast<std::ptrdiff_t>(i));
    done(id, now);
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

void CudaExecutor::done(std::uint32_t id, Tick now) noexcept {
  const Live& live = lives_[id];
  Gpu& gpu = *gpus_[live.device];
  --gpu.busy;
  gpu.told = now;
  if (!live.spoiled)
    for (const std::uint16_t source : sources(live.issue.what))
      if (has_chunks(live.issue.what, source))
        there(index(live.issue.what, source), live.device).sure = true;
  finish(id, now, live.spoiled);
}

void CudaExecutor::finish(std::uint32_t id, Tick now, bool failed) noexcept {
  const Live& live = lives_[id];
  const bool never = live.cancelled && !live.submitted;
  finished_.push_back({.what = live.issue.what,
                       .count = never ? 0 : live.issue.count,
                       .device = live.device,
                       .executed = live.given,
                       .at = now,
                       .busy = now - live.given,
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
  finish(id, driver_.now(), false);
}

bool CudaExecutor::lost(const InstanceId& what) const noexcept {
  using Kind = DeviceWork::Kind;
  return work_.kind(what.cell, what.instruction) != Kind::Bring &&
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
        if (lives_[id].submitted) driver_.release(device, lives_[id].place, lives_[id].ticket);
        finish(id, now, true);
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
    for (const std::uint16_t source : sources(live.issue.what)) {
      if (!has_chunks(live.issue.what, source)) continue;
      const std::uint32_t place = index(live.issue.what, source);
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
