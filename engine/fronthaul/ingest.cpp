#include "fronthaul/ingest.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace carillon::fronthaul {
namespace {

// A slot's state: frame + 1 (0: none yet), then whether its packets are taken (open), thrown away
// (closing: somebody still works on one) or, with neither, the frame is over; then how many
// receivers hold it.
constexpr std::uint64_t kHolders = 0xffff;
constexpr std::uint64_t kOpen = 1 << 16, kClosing = 1 << 17;
constexpr unsigned kFrameShift = 18;

constexpr std::uint64_t frame_of(std::uint64_t state) { return (state >> kFrameShift) - 1; }
constexpr std::uint64_t state_of(std::uint64_t frame) { return (frame + 1) << kFrameShift; }
constexpr bool never_used(std::uint64_t state) { return state >> kFrameShift == 0; }

// A cell: the low half of the last frame that had a packet here, and its buffer.
constexpr std::uint64_t cell_of(std::uint64_t frame, std::uint32_t buffer) {
  return frame << 32 | buffer;
}
constexpr std::uint32_t tag_of(std::uint64_t cell) {
  return static_cast<std::uint32_t>(cell >> 32);
}
constexpr std::uint32_t buffer_of(std::uint64_t cell) { return static_cast<std::uint32_t>(cell); }

// Ours stay small for the life of the process, whatever numbers a radio sends or a forger invents.
constexpr std::uint32_t kFarthest = 1 << 20;

// Of the numbers with these low 32 bits, the one next to `known`.
std::int64_t nearest(std::int64_t known, std::uint32_t low) {
  return known + static_cast<std::int32_t>(low - static_cast<std::uint32_t>(known));
}

template <typename T>
void raise(std::atomic<T>& to, T value) {
  T seen = to.load(std::memory_order_relaxed);
  while (seen < value && !to.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

// For counters with one writer.
void increment(std::atomic<std::uint64_t>& counter) {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

// The frame that a receiver is at. Kept over the packets of a batch, which are mostly of one frame.
struct UplinkIngest::Hold {
  explicit Hold(UplinkIngest& owner) : ingest(owner) {}
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold() { drop(); }

  Entry take(std::uint64_t wanted) noexcept {
    if (held && frame == wanted) return Entry::Held;
    drop();
    const Entry entry = ingest.enter(wanted);
    held = entry == Entry::Held;
    frame = wanted;
    return entry;
  }
  void drop() noexcept {
    if (std::exchange(held, false)) ingest.leave(frame);
  }

  UplinkIngest& ingest;
  std::uint64_t frame = 0;
  bool held = false;
};

UplinkIngest::UplinkIngest(const Layout& layout, Transport& transport, SymbolSink& sink,
                           Options options)
    : layout_(layout),
      transport_(transport),
      memory_(transport.received_memory()),
      sink_(sink),
      ring_(options.ring),
      ahead_(options.ahead),
      paced_(options.paced),
      packets_(layout.packets(Carries::Uplink)),
      clock_(layout.duration()),
      slots_(options.ring),
      symbol_states_(std::make_unique<SymbolState[]>(std::size_t{options.ring} *
                                                     layout.symbols(Carries::Uplink).size())),
      cells_(std::make_unique<std::atomic<std::uint64_t>[]>(std::size_t{options.ring} * packets_)),
      samples_(std::make_unique<std::atomic<const std::int16_t*>[]>(std::size_t{options.ring} *
                                                                    packets_)),
      receivers_(transport.receivers()) {
  // No slot's first frame, nor any later one, has the number of the lap before it.
  for (std::size_t s = 0; s < ring_; ++s)
    for (std::size_t i = 0; i < packets_; ++i)
      cells_[s * packets_ + i].store(cell_of(s - ring_, kNoBuffer), std::memory_order_relaxed);
}

void UplinkIngest::follow(Tick air_start) noexcept {
  clock_.set(air_start);
  floor_.store(0, std::memory_order_release);
}

std::size_t UplinkIngest::poll(std::uint32_t index) noexcept {
  Receiver& receiver = receivers_[index];
  const Tick looked = now();  // whoever is kept from running after that has not looked later
  const std::size_t count = transport_.receive(index, receiver.batch);
  const Tick when = now();
  receiver.awaited = receiver.caught_up.load(std::memory_order_relaxed);
  receiver.current = when - receiver.awaited < layout_.duration();
  if (count < kBatch && !transport_.pending(index))
    receiver.caught_up.store(looked, std::memory_order_relaxed);
  if (count == 0) return 0;
  {
    Hold hold(*this);
    for (std::size_t i = 0; i < count; ++i) {
      const Received& packet = receiver.batch[i];
      if (!take(receiver, packet, when, hold))
        receiver.returned[receiver.returning++] = packet.buffer;
    }
  }
  transport_.recycle({receiver.returned.data(), receiver.returning});
  receiver.returning = 0;
  receiver.received.store(receiver.received.load(std::memory_order_relaxed) + count,
                          std::memory_order_relaxed);
  return count;
}

// Where more than the transport can hold has been thrown away, what comes is new.
void UplinkIngest::drain() noexcept {
  for (std::uint32_t r = 0; r < receivers_.size(); ++r) {
    auto& batch = receivers_[r].batch;
    std::size_t count = 0;
    for (std::size_t all = 0; all <= transport_.buffers(); all += std::max<std::size_t>(count, 1)) {
      count = transport_.receive(r, batch);
      for (std::size_t i = 0; i < count; ++i) transport_.recycle({&batch[i].buffer, 1});
      if (count == 0 && !transport_.pending(r)) break;
    }
  }
}

// True when the packet's buffer is kept.
bool UplinkIngest::take(Receiver& receiver, const Received& packet, Tick when,
                        Hold& hold) noexcept {
  const PacketIds& ids = packet.ids;
  const auto reject = [&](Reject why) {
    increment(receiver.rejected[static_cast<std::size_t>(why)]);
    return false;
  };
  if (ids.symbol == kReportSymbol) {
    const Reject why = take_report(packet);
    increment(why == Reject::None ? receiver.reports : receiver.rejected_reports);
    return why == Reject::None ? false : reject(why);
  }
  if (const auto why = check(ids, packet.bytes, layout_, Carries::Uplink); why != Reject::None)
    return reject(why);
  Sighting sighting;
  if (const auto why = place(receiver, ids, when, sighting); why != Reject::None)
    return reject(why);
  const auto frame = static_cast<std::uint64_t>(sighting.number);
  if (heard_.load(std::memory_order_relaxed) < frame) raise(heard_, frame);

  const std::size_t index = cell(frame, ids.symbol, ids.antenna);
  auto& own = cells_[index];
  const Entry entry = hold.take(frame);
  std::uint64_t before = own.load(std::memory_order_relaxed);
  if (tag_of(before) == static_cast<std::uint32_t>(frame))
    return reject(hold.held && differs(packet, index) ? Reject::Differing : Reject::Duplicate);
  if (entry == Entry::Over) {
    // Once in a while that is a late packet. All of them: the radio's clock is behind ours.
    if (sighting.behind) doubt(receiver, sighting, layout_.symbols()[ids.symbol].end, when);
    return reject(Reject::Old);
  }
  Slot& at = slot(frame);
  if (entry == Entry::Held && !at.opened.load(std::memory_order_acquire)) {
    if (sink_.open(frame, clock_.air_start(frame))) {
      at.opened.store(true, std::memory_order_release);
    } else {
      hold.drop();
      release(frame);
    }
  }
  if (!hold.held) {
    increment(receiver.refused);
    return false;
  }
  // Two receivers may hold the same packet: one of them wins.
  if (!own.compare_exchange_strong(before, cell_of(frame, packet.buffer),
                                   std::memory_order_relaxed))
    return reject(Reject::Duplicate);
  receiver.strange = {};
  samples_[index].store(packet.samples, std::memory_order_release);
  note(frame, ids.symbol, when, receiver.awaited);
  sink_.arrive(frame, ids.symbol, ids.antenna, packet.samples, when);
  increment(receiver.accepted);
  return true;
}

Reject UplinkIngest::take_report(const Received& packet) noexcept {
  if (packet.bytes != kHeaderBytes) return Reject::Length;
  if (packet.ids.cell != layout_.cell()) return Reject::Cell;
  const auto known = static_cast<std::int64_t>(std::max(newest(), first()));
  const std::int64_t number =
      nearest(known, packet.ids.frame + offset_.load(std::memory_order_acquire));
  if (number > known + 1 + ahead_) return Reject::Early;
  if (number < 0 || number + kReportedFrames <= known) return Reject::Old;
  sink_.reported(static_cast<std::uint64_t>(number), packet.ids.antenna);
  return Reject::None;
}

// Whether a frame that is held has other samples there. What a card wrote elsewhere is not read.
bool UplinkIngest::differs(const Received& packet, std::size_t index) const noexcept {
  const std::int16_t* const first = samples_[index].load(std::memory_order_acquire);
  if (first == nullptr || !memory_.within_reach(first) || !memory_.within_reach(packet.samples))
    return false;
  return std::memcmp(first, packet.samples, packet.bytes - kHeaderBytes) != 0;
}

// The frame's number as we count, and whether it may still, or already, have packets.
Reject UplinkIngest::place(Receiver& receiver, const PacketIds& ids, Tick when,
                           Sighting& sighting) noexcept {
  const Tick end = layout_.symbols()[ids.symbol].end;
  std::uint64_t floor = floor_.load(std::memory_order_acquire);
  if (floor == kUnset) {
    // The first packet of all: its frame is whole only if this is where it begins. All receivers
    // that come here at once see the same packets' numbering, so that they store the same offset
    // unless one of them is forged.
    const bool whole = ids.symbol == layout_.symbols(Carries::Uplink).front();
    const std::uint32_t renumbered = ids.frame < kFarthest ? ids.frame : 0;
    std::uint32_t none = 0;
    offset_.compare_exchange_strong(none, renumbered - ids.frame);
    const std::uint32_t first = ids.frame + offset_.load();
    if (floor_.compare_exchange_strong(floor, first + (whole ? 0ULL : 1ULL)))
      floor = first + (whole ? 0ULL : 1ULL);
  }
  if (!clock_.locked())
    clock_.begin(clock_.epoch_of(ids.frame + offset_.load(std::memory_order_acquire), end, when));
  const std::uint32_t offset = offset_.load(std::memory_order_acquire);
  const auto newest = static_cast<std::int64_t>(newest_.load(std::memory_order_acquire));
  const std::int64_t known = std::max(newest, static_cast<std::int64_t>(floor));
  const std::int64_t number = nearest(known, ids.frame + offset);
  const std::int64_t present = paced_ ? static_cast<std::int64_t>(clock_.frame_at(when)) : known;
  const bool early = number > present + ahead_ && number > known &&
                     !(number == known + 1 && passed(static_cast<std::uint64_t>(known)));
  const bool old = number < 0 || number + ring_ <= std::max(present, known);
  sighting = {ids.frame, offset, floor, std::max(present, known), number, number + 1 < present,
              early};
  if (early || old) {
    doubt(receiver, sighting, end, when);
    return early ? Reject::Early : Reject::Old;
  }
  if (!sighting.behind) receiver.strange = {};
  return static_cast<std::uint64_t>(number) < floor ? Reject::Old : Reject::None;
}

void UplinkIngest::doubt(Receiver& receiver, const Sighting& sighting, Tick symbol_end,
                         Tick when) noexcept {
  if (!clock_.is_set() && strange(receiver, sighting, when))
    resynchronise(sighting, symbol_end, when);
}

// Whether the radio has evidently been through most of the frame: then the next one is not early,
// whatever a clock that was set by a delayed packet says.
bool UplinkIngest::passed(std::uint64_t frame) const noexcept {
  const Slot& at = slot(frame);
  const std::uint64_t state = at.state.load(std::memory_order_acquire);
  if (never_used(state) || frame_of(state) < frame) return false;
  if (frame_of(state) > frame || (state & kOpen) == 0) return true;
  return at.packets.load(std::memory_order_relaxed) >= packets_ / 2;
}

// True when mostly frames around this one, and none that is possible by the numbering we have, came
// for so long that the radio must have begun anew. What waited for us during a pause of ours tells
// nothing, unless it should not have come yet: then the clock was set by packets that were delayed.
bool UplinkIngest::strange(Receiver& receiver, const Sighting& sighting, Tick when) noexcept {
  const Tick frames = sighting.early ? 2 : 8;
  constexpr std::uint32_t kNear = 32;  // frames: a busy machine may miss some
  Strange& streak = receiver.strange;
  if (!receiver.current && !sighting.early) return false;
  if (streak.count == 0 || streak.offset != sighting.offset) {
    streak = {sighting.wire_frame, sighting.offset, 1, when};
    return false;
  }
  // The majority tells: what does not fit in is forged or belated.
  if (sighting.wire_frame - streak.wire_frame > kNear) {
    --streak.count;
    return false;
  }
  streak.wire_frame = sighting.wire_frame;
  streak.count = std::min(streak.count + 1, packets_);
  return streak.count >= packets_ / 2 && when - streak.since >= frames * layout_.duration();
}

// Begins with the frame after the one seen: as it is numbered if that is ahead of all we know,
// else under a new number, so that ours only grow.
void UplinkIngest::resynchronise(const Sighting& seen, Tick symbol_end, Tick when) noexcept {
  const std::int64_t least = seen.latest + ring_;
  const std::int64_t next =
      seen.number + 1 - least < kFarthest ? std::max(seen.number + 1, least) : least;
  std::uint64_t floor = seen.floor;
  if (!floor_.compare_exchange_strong(floor, static_cast<std::uint64_t>(next))) return;
  const auto first = static_cast<std::uint64_t>(next);
  clock_.restart(first, clock_.epoch_of(first - 1, symbol_end, when));
  offset_.store(static_cast<std::uint32_t>(first) - (seen.wire_frame + 1),
                std::memory_order_release);
  resynchronisations_.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t newest = newest_.load(std::memory_order_relaxed);
  if (next == seen.number + 1 && newest + 1 < first)
    passed_over_.fetch_add(first - newest - 1, std::memory_order_relaxed);
}

UplinkIngest::Entry UplinkIngest::enter(std::uint64_t frame) noexcept {
  auto& state = slot(frame).state;
  std::uint64_t seen = state.load(std::memory_order_acquire);
  for (;;) {
    std::uint64_t next = seen + 1;
    if (never_used(seen) || frame_of(seen) < frame) {
      if ((seen & (kOpen | kClosing)) != 0) return Entry::Busy;
      next = state_of(frame) | kOpen | 1;
    } else if (frame_of(seen) > frame || (seen & kOpen) == 0) {
      return Entry::Over;
    }
    if (state.compare_exchange_weak(seen, next, std::memory_order_acq_rel,
                                    std::memory_order_acquire))
      break;
  }
  std::uint64_t newest = newest_.load(std::memory_order_relaxed);
  while (newest < frame &&
         !newest_.compare_exchange_weak(newest, frame, std::memory_order_acq_rel)) {
  }
  return Entry::Held;
}

void UplinkIngest::leave(std::uint64_t frame) noexcept {
  const std::uint64_t before = slot(frame).state.fetch_sub(1, std::memory_order_acq_rel);
  if ((before & kHolders) == 1 && (before & kClosing) != 0) clean(frame);
}

void UplinkIngest::release(std::uint64_t frame) noexcept {
  auto& state = slot(frame).state;
  std::uint64_t seen = state.load(std::memory_order_acquire);
  for (;;) {
    const bool over = (seen & kOpen) == 0;
    if (!never_used(seen) && frame_of(seen) > frame) {  // it never had its place
      missing_.fetch_add(packets_, std::memory_order_relaxed);
      return;
    }
    if (!never_used(seen) && frame_of(seen) == frame) {
      if (over) return;
      const std::uint64_t closing = (seen & ~kOpen) | kClosing;
      if (!state.compare_exchange_weak(seen, closing, std::memory_order_acq_rel)) continue;
      if ((seen & kHolders) == 0) clean(frame);
      return;
    }
    if (!over || (seen & kClosing) != 0) return;  // an earlier frame was not released
    if (!state.compare_exchange_weak(seen, state_of(frame), std::memory_order_acq_rel)) continue;
    missing_.fetch_add(packets_, std::memory_order_relaxed);
    return;
  }
}

// By whoever is the last at a closing frame.
void UplinkIngest::clean(std::uint64_t frame) noexcept {
  Slot& at = slot(frame);
  std::array<std::uint32_t, 64> buffers;
  std::size_t count = 0;
  auto* const cells = &cells_[frame % ring_ * packets_];
  for (std::uint32_t i = 0; i < packets_; ++i) {
    const std::uint64_t seen = cells[i].load(std::memory_order_relaxed);
    if (tag_of(seen) != static_cast<std::uint32_t>(frame) || buffer_of(seen) == kNoBuffer) continue;
    cells[i].store(cell_of(frame, kNoBuffer), std::memory_order_relaxed);
    samples_[frame % ring_ * packets_ + i].store(nullptr, std::memory_order_relaxed);
    buffers[count++] = buffer_of(seen);
    if (count < buffers.size()) continue;
    transport_.recycle(buffers);
    count = 0;
  }
  transport_.recycle({buffers.data(), count});

  const std::uint32_t came = at.packets.exchange(0, std::memory_order_relaxed);
  if (at.opened.exchange(false, std::memory_order_relaxed))
    missing_.fetch_add(packets_ - came, std::memory_order_relaxed);
  const Tick epoch = epoch_of(frame);
  if (epoch != FrameClock::kNothing) clock_.learn(frame, epoch);
  at.first.store(0, std::memory_order_relaxed);
  at.last.store(0, std::memory_order_relaxed);
  for (const std::uint32_t symbol : layout_.symbols(Carries::Uplink)) {
    SymbolState& state = symbol_state(frame, symbol);
    state.packets.store(0, std::memory_order_relaxed);
    state.first.store(0, std::memory_order_relaxed);
    state.last.store(0, std::memory_order_relaxed);
    state.awaited.store(0, std::memory_order_relaxed);
  }
  at.state.store(state_of(frame), std::memory_order_release);
}

// The frame's air start by its symbols' first packets, as an epoch; nothing where nothing came.
Tick UplinkIngest::epoch_of(std::uint64_t frame) const noexcept {
  std::array<Tick, 64> epochs;
  std::size_t count = 0;
  for (const std::uint32_t symbol : layout_.symbols(Carries::Uplink)) {
    const Tick first = symbol_state(frame, symbol).first.load(std::memory_order_relaxed);
    if (first == 0 || count == epochs.size()) continue;
    epochs[count++] = clock_.epoch_of(frame, layout_.symbols()[symbol].end, first);
  }
  return agreed_epoch({epochs.data(), count});
}

// Before the sink learns of the packet, so that what it asks includes it.
void UplinkIngest::note(std::uint64_t frame, std::uint32_t symbol, Tick when,
                        Tick awaited) noexcept {
  Slot& at = slot(frame);
  Tick none = 0;
  at.first.compare_exchange_strong(none, when, std::memory_order_relaxed);
  raise(at.last, when);
  clock_.begin(clock_.epoch_of(frame, layout_.symbols()[symbol].end, when));
  SymbolState& state = symbol_state(frame, symbol);
  none = 0;
  state.first.compare_exchange_strong(none, when, std::memory_order_relaxed);
  raise(state.last, when);
  raise(state.awaited, awaited);
  state.packets.fetch_add(1, std::memory_order_release);
  at.packets.fetch_add(1, std::memory_order_release);
}

std::size_t UplinkIngest::cell(std::uint64_t frame, std::uint32_t symbol,
                               std::uint32_t antenna) const noexcept {
  return frame % ring_ * packets_ + layout_.symbols()[symbol].ordinal * layout_.antennas() +
         antenna;
}

const std::int16_t* UplinkIngest::samples(std::uint64_t frame, std::uint32_t symbol,
                                          std::uint32_t antenna) const noexcept {
  return holds(frame) ? samples_[cell(frame, symbol, antenna)].load(std::memory_order_acquire)
                      : nullptr;
}

UplinkIngest::SymbolState& UplinkIngest::symbol_state(std::uint64_t frame,
                                                      std::uint32_t symbol) const noexcept {
  return symbol_states_[frame % ring_ * layout_.symbols(Carries::Uplink).size() +
                        layout_.symbols()[symbol].ordinal];
}

bool UplinkIngest::holds(std::uint64_t frame) const noexcept {
  const std::uint64_t state = slot(frame).state.load(std::memory_order_acquire);
  return !never_used(state) && frame_of(state) == frame && (state & kOpen) != 0;
}

FrameArrivals UplinkIngest::arrivals(std::uint64_t frame) const noexcept {
  if (!holds(frame)) return {0, 0, 0, packets_};
  const Slot& at = slot(frame);
  const std::uint32_t packets = at.packets.load(std::memory_order_acquire);
  return {at.first.load(std::memory_order_relaxed), at.last.load(std::memory_order_relaxed),
          packets, packets_};
}

Tick UplinkIngest::last_packet(std::uint64_t frame, std::uint32_t symbol) const noexcept {
  const bool uplink = layout_.symbols()[symbol].carries == Carries::Uplink;
  return uplink && holds(frame) ? symbol_state(frame, symbol).last.load(std::memory_order_relaxed)
                                : 0;
}

Tick UplinkIngest::awaited(std::uint64_t frame, std::uint32_t symbol) const noexcept {
  const bool uplink = layout_.symbols()[symbol].carries == Carries::Uplink;
  return uplink && holds(frame)
             ? symbol_state(frame, symbol).awaited.load(std::memory_order_relaxed)
             : 0;
}

Tick UplinkIngest::caught_up() const noexcept {
  Tick least = std::numeric_limits<Tick>::max();
  for (const Receiver& each : receivers_)
    least = std::min(least, each.caught_up.load(std::memory_order_relaxed));
  return least;
}

bool UplinkIngest::complete(std::uint64_t frame, std::uint32_t symbol) const noexcept {
  return holds(frame) &&
         symbol_state(frame, symbol).packets.load(std::memory_order_acquire) == layout_.antennas();
}

IngestCounters UplinkIngest::counters() const noexcept {
  IngestCounters sum;
  for (const auto& r : receivers_) {
    sum.received += r.received.load(std::memory_order_relaxed);
    sum.accepted += r.accepted.load(std::memory_order_relaxed);
    sum.refused += r.refused.load(std::memory_order_relaxed);
    sum.reports += r.reports.load(std::memory_order_relaxed);
    sum.rejected_reports += r.rejected_reports.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < kRejects; ++i)
      sum.rejected[i] += r.rejected[i].load(std::memory_order_relaxed);
  }
  sum.missing = missing_.load(std::memory_order_relaxed);
  sum.resynchronisations = resynchronisations_.load(std::memory_order_relaxed);
  sum.passed_over = passed_over_.load(std::memory_order_relaxed);
  return sum;
}

}  // namespace carillon::fronthaul
