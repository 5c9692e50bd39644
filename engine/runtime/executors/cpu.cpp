#include "runtime/executors/cpu.hpp"

#include <algorithm>
#include <bit>

namespace carillon::runtime {
namespace {

constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;
constexpr auto kRelaxed = std::memory_order_relaxed;

constexpr std::uint32_t kBusyBits = 40;
constexpr std::uint64_t kBusyMask = (std::uint64_t{1} << kBusyBits) - 1;

std::uint64_t word_of(std::uint32_t generation, std::uint64_t next) {
  return std::uint64_t{generation} << 32 | next;
}
std::uint32_t generation_of(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }
std::uint32_t next_of(std::uint64_t word) { return static_cast<std::uint32_t>(word); }

// The worker's place among those of the mask; -1 outside it.
int rank_in(std::uint64_t low, std::uint64_t high, std::uint32_t worker) {
  const std::uint64_t bit = std::uint64_t{1} << (worker % 64);
  const std::uint64_t word = worker < 64 ? low : high;
  if ((word & bit) == 0) return -1;
  return std::popcount(word & (bit - 1)) + (worker < 64 ? 0 : std::popcount(low));
}

// At most, as far as is known: a first claim may be of whatever size.
Tick time_of(const SourceBoard& board, const Instruction& instruction, std::uint32_t chunks) {
  constexpr Tick kUnmeasured = kMillisecond;
  const double mean = board.mean(instruction.opcode);
  return mean > 0 ? static_cast<Tick>(mean * chunks * instruction.longest) : kUnmeasured;
}

}  // namespace

CpuExecutor::CpuExecutor(const Scoreboard& board, std::span<const Kernels> kernels,
                         std::span<const Arrivals> arrivals, std::uint32_t workers,
                         std::size_t trace)
    : places_(kPlaces) {
  for (std::uint16_t c = 0; c < kernels.size(); ++c) {
    const auto& [opcodes, context] = kernels[c];
    sources_.push_back({board[c], arrivals[c], {opcodes.begin(), opcodes.end()}, context});
  }
  for (Place& place : places_) place.range = std::make_unique<Range[]>(workers);
  std::size_t opcodes = 0;
  for (const Source& source : sources_) opcodes = std::max(opcodes, source.opcodes.size());
  for (std::uint32_t i = 0; i < workers; ++i)
    workers_.push_back(std::make_unique<Worker>(opcodes, trace));
  for (auto& word : order_) word.store(~std::uint64_t{0}, kRelaxed);
}

std::size_t CpuExecutor::room() const noexcept { return kPlaces - live_; }

void CpuExecutor::issue(const Issue& issue, Tick) noexcept {
  const auto index = static_cast<std::uint8_t>(std::countr_zero(free_));
  free_ &= free_ - 1;
  Place& place = places_[index];
  const std::uint32_t generation = place.generation.load(kRelaxed) + 1;
  const Source& source = sources_[issue.what.source];
  const std::uint16_t* arrived = source.arrivals.list(issue.what.slot, issue.what.instruction);
  const std::uint32_t members = issue.where.count();
  const std::uint32_t claims = (issue.count + issue.grain - 1) / issue.grain;
  const std::uint32_t ranges = arrived != nullptr ? 1 : std::min(members, claims);

  place.what = issue.what;
  place.count = issue.count;
  place.priority = issue.priority;
  for (std::uint32_t r = 0; r < ranges; ++r) {
    place.range[r].word.store(word_of(generation - 1, kRetired), kRelaxed);
  }
  place.frame.store(issue.what.frame, kRelease);
  place.source.store(issue.what.source, kRelease);
  place.slot.store(issue.what.slot, kRelease);
  place.instruction.store(issue.what.instruction, kRelease);
  place.grain.store(issue.grain, kRelease);
  place.ranges.store(ranges, kRelease);
  place.arrived.store(arrived, kRelease);
  for (std::uint32_t i = 0; i < 2; ++i) place.where[i].store(issue.where.word(i), kRelease);
  place.progress.store(std::uint64_t{issue.count} << kBusyBits, kRelease);
  place.executed.store(0, kRelease);
  place.ended.store(0, kRelease);
  place.generation.store(generation, kRelease);
  for (std::uint32_t r = 0; r < ranges; ++r) {
    const auto edge = [&](std::uint64_t i) {
      return issue.first + static_cast<std::uint32_t>(issue.count * i / ranges);
    };
    place.range[r].end.store(edge(r + 1), kRelease);
    place.range[r].word.store(word_of(generation, edge(r)), kRelease);
  }
  insert(index);
}

void CpuExecutor::insert(std::uint8_t index) noexcept {
  std::uint32_t at = live_++;
  for (; at > 0 && places_[sorted_[at - 1]].priority > places_[index].priority; --at) {
    sorted_[at] = sorted_[at - 1];
  }
  sorted_[at] = index;
}

void CpuExecutor::remove(std::uint8_t index) noexcept {
  const auto end = sorted_.begin() + live_;
  std::copy(std::find(sorted_.begin(), end, index) + 1, end,
            std::find(sorted_.begin(), end, index));
  --live_;
  free_ |= std::uint64_t{1} << index;
}

// Tells the workers the present order. One may see a word of the old order and one of the new: it
// then overlooks an issue until its next look, or looks at a place that is over or has a new
// tenant. All of that is harmless.
void CpuExecutor::flush() noexcept {
  for (std::uint32_t w = 0; w < order_.size(); ++w) {
    std::uint64_t word = 0;
    for (std::uint32_t i = 8; i-- > 0;) {
      word = word << 8 | (w * 8 + i < live_ ? sorted_[w * 8 + i] : kEnd);
    }
    if (order_[w].load(kRelaxed) != word) order_[w].store(word, kRelease);
    if (w * 8 >= live_) break;
  }
}

std::size_t CpuExecutor::poll(std::span<Finished> out) noexcept {
  std::uint64_t bits = finished_.load();
  std::size_t count = 0;
  for (; bits != 0 && count < out.size(); bits &= bits - 1) {
    const auto index = static_cast<std::uint8_t>(std::countr_zero(bits));
    const Place& place = places_[index];
    finished_.fetch_and(~(std::uint64_t{1} << index));
    out[count++] = {place.what,
                    place.count,
                    static_cast<std::uint16_t>(place.device.load(kRelaxed)),
                    place.executed.load(kRelaxed),
                    place.ended.load(kRelaxed),
                    static_cast<Tick>(place.progress.load(kAcquire) & kBusyMask)};
    remove(index);
  }
  return count;
}

std::uint32_t CpuExecutor::undone(const InstanceId& what) const noexcept {
  std::uint32_t chunks = 0;
  for (std::uint32_t i = 0; i < live_; ++i) {
    const Place& place = places_[sorted_[i]];
    if (place.what == what)
      chunks += static_cast<std::uint32_t>(place.progress.load(kAcquire) >> kBusyBits);
  }
  return chunks;
}

void CpuExecutor::cancel(const InstanceId& what) noexcept {
  for (std::uint32_t i = 0; i < live_; ++i) {
    const std::uint8_t index = sorted_[i];
    Place& place = places_[index];
    if (!(place.what == what)) continue;
    const std::uint32_t generation = place.generation.load(kRelaxed);
    std::uint32_t unclaimed = 0;
    for (std::uint32_t r = 0; r < place.ranges.load(kRelaxed); ++r) {
      const std::uint64_t word =
          place.range[r].word.exchange(word_of(generation, kRetired), std::memory_order_acq_rel);
      if (next_of(word) != kRetired) unclaimed += place.range[r].end.load(kRelaxed) - next_of(word);
    }
    place.count -= unclaimed;
    if (unclaimed != 0) subtract(place, index, unclaimed, 0, 0);
  }
}

// The heart: load the word with acquire, then the end, then exchange. If anything read in between
// belonged to another generation, the word has changed and the exchange fails.
bool CpuExecutor::take(Range& range, std::uint32_t generation, std::uint32_t grain,
                       const std::uint16_t* arrived, Claim& claim, bool& spent) noexcept {
  std::uint64_t word = range.word.load(kAcquire);
  for (;;) {
    const std::uint32_t next = next_of(word), end = range.end.load(kAcquire);
    if (generation_of(word) != generation) return spent = false;
    if (next >= end) return false;
    std::uint32_t count = std::min(grain, end - next);
    if (arrived != nullptr) count = Arrivals::available(arrived, next, count);
    if (count == 0) return spent = false;
    if (range.word.compare_exchange_weak(word, word + count, std::memory_order_acq_rel, kAcquire)) {
      claim = {next, count};
      return true;
    }
  }
}

bool CpuExecutor::claim(Place& place, std::uint32_t worker, Task& task) noexcept {
  const std::uint32_t generation = place.generation.load(kAcquire);
  if (place.exhausted.load(kRelaxed) == generation) return false;
  const std::uint64_t low = place.where[0].load(kAcquire), high = place.where[1].load(kAcquire);
  const int rank = rank_in(low, high, worker);
  if (rank < 0) return false;
  const std::uint32_t ranges = place.ranges.load(kAcquire), grain = place.grain.load(kAcquire);
  const std::uint16_t* arrived = place.arrived.load(kAcquire);
  task.frame = place.frame.load(kAcquire);
  task.source = place.source.load(kAcquire);
  task.slot = place.slot.load(kAcquire);
  task.instruction = place.instruction.load(kAcquire);
  if (ranges == 0) return false;

  // Home: the ranges spread evenly over the members.
  const auto members = static_cast<std::uint32_t>(std::popcount(low) + std::popcount(high));
  auto r = static_cast<std::uint32_t>(rank);
  if (ranges != members) r = r * ranges / members;
  bool spent = true;
  Claim claim{};
  for (std::uint32_t i = 0; i < ranges; ++i) {
    if (take(place.range[r], generation, grain, arrived, claim, spent)) {
      task.first = claim.first;
      task.count = claim.count;
      task.arrived = arrived;
      return true;
    }
    r = r + 1 == ranges ? 0 : r + 1;
  }
  if (spent) place.exhausted.store(generation, kRelaxed);
  return false;
}

CpuExecutor::Ran CpuExecutor::run(std::uint32_t worker) noexcept {
  for (const auto& shared : order_) {
    std::uint64_t word = shared.load(kAcquire);
    for (std::uint32_t i = 0; i < 8; ++i, word >>= 8) {
      const auto index = static_cast<std::uint32_t>(word & 0xff);
      if (index == kEnd) return Ran::Nothing;
      Task task;
      task.worker = worker;
      if (!claim(places_[index], worker, task)) continue;
      return execute(places_[index], index, task) ? Ran::Last : Ran::Chunks;
    }
  }
  return Ran::Nothing;
}

bool CpuExecutor::execute(Place& place, std::uint32_t index, Task& task) noexcept {
  const Source& source = sources_[task.source];
  const Instruction& instruction = source.board.graph()[task.instruction];
  task.opcode = instruction.opcode;
  task.step = instruction.step;

  Worker& self = *workers_[task.worker];
  const Tick start = now();
  if (place.executed.load(kRelaxed) == 0) {
    Tick none = 0;
    if (place.executed.compare_exchange_strong(none, start, kRelaxed)) {
      place.device.store(task.worker, kRelaxed);
    }
  }
  self.expected = time_of(source.board, instruction, task.count);
  const double extra = extra_.load(kRelaxed);
  Tick earnest = start;
  if (extra > 0) {
    rehearse(source, task, self.debts[task.opcode]);
    earnest = now();
  }
  source.opcodes[task.opcode].kernel(source.context, task);
  // A negative time, from a worker that was moved to a core with another clock, would be borrowed
  // from the count of chunks beside it.
  const Tick end = std::max(now(), start);
  self.last = end;
  if (extra > 0) self.debts[task.opcode].done(extra, task.count, std::max<Tick>(end - earnest, 0));

  self.trace.write({.start = start,
                    .duration = telemetry::saturate<std::uint32_t>(end - start),
                    .frame = static_cast<std::uint32_t>(task.frame),
                    .first = task.first,
                    .count = telemetry::saturate<std::uint16_t>(task.count),
                    .instruction = task.instruction,
                    .step = task.step,
                    .code = task.opcode,
                    .worker = static_cast<std::uint16_t>(task.worker),
                    .kind = telemetry::TraceKind::Task,
                    .cell = static_cast<std::uint8_t>(task.source)});
  add(self.kernel, end - start);
  add(self.tasks, std::uint64_t{1});
  add(self.chunks, std::uint64_t{task.count});
  return subtract(place, index, task.count, end - start, end);
}

// Before the chunks are done in earnest, for then others may already read what they leave. What is
// owed is of earlier chunks.
void CpuExecutor::rehearse(const Source& source, const Task& task, ClockDebt& debt) noexcept {
  Task again = task;
  again.rehearsal = true;
  Tick start = now();
  while ((again.count = debt.due(task.count)) > 0) {
    source.opcodes[task.opcode].kernel(source.context, again);
    const Tick end = now();
    debt.rehearsed(again.count, std::max<Tick>(end - start, 0));
    start = end;
  }
}

bool CpuExecutor::subtract(Place& place, std::uint32_t index, std::uint32_t chunks, Tick busy,
                           Tick at) noexcept {
  const std::uint64_t change =
      static_cast<std::uint64_t>(busy) - (std::uint64_t{chunks} << kBusyBits);
  const std::uint64_t left = place.progress.fetch_add(change, std::memory_order_acq_rel) + change;
  if (left >> kBusyBits != 0) return false;
  place.ended.store(at, kRelaxed);
  finished_.fetch_or(std::uint64_t{1} << index);
  return true;
}

}  // namespace carillon::runtime
