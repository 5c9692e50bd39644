#include "app/baseband.hpp"

#include <algorithm>

#include "base/thread.hpp"

namespace carillon::app {
namespace {

// Guards the opening of frames: a few hundred nanoseconds, once a frame.
class Opening {
 public:
  explicit Opening(std::atomic_flag& flag) : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire)) spin_pause();
  }
  ~Opening() { flag_.clear(std::memory_order_release); }
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;

 private:
  std::atomic_flag& flag_;
};

fronthaul::UplinkIngest::Options ingest_options(const frame::Pipeline& pipeline) {
  fronthaul::UplinkIngest::Options options;
  options.ring = pipeline.ring() + 4;
  return options;
}

Tick first_leaves(const frame::Frame& frame) {
  const auto downlink = frame.symbols_of(frame::SymbolKind::Downlink);
  return downlink.empty() ? frame.duration() : frame.downlink_deadline(downlink.front());
}

Tick received_by(const frame::Frame& frame) {
  Tick last = 0;
  for (const auto& symbol : frame.symbols())
    if (symbol.kind == frame::SymbolKind::Pilot || symbol.kind == frame::SymbolKind::Uplink)
      last = std::max(last, symbol.end);
  return last;
}

fronthaul::TransmitLead::Options lead_options(const frame::Frame& frame) {
  return {.quantile = frame.format().deadlines.lead_quantile,
          .least = frame.least_lead(),
          .most = frame.most_lead()};
}

}  // namespace

Baseband::Baseband(frame::Pipeline& pipeline, runtime::Runtime::Source cell,
                   fronthaul::Transport& transport, Recorder& recorder, const frame::DataPort& port,
                   Accelerator::Cell* accelerator)
    : frame_(pipeline.frame()),
      recorder_(recorder),
      pipeline_(pipeline),
      cell_(cell),
      layout_(frame_),
      transport_(transport),
      memory_(transport.received_memory()),
      ingest_(layout_, transport, *this, ingest_options(pipeline_)),
      sender_(layout_, transport, pipeline_.ring()),
      port_(port),
      delivery_(pipeline_, port),
      first_leaves_(first_leaves(frame_)),
      received_by_(received_by(frame_)),
      lead_(lead_options(frame_)),
      holder_(pipeline_.ring()),
      downlink_(pipeline_.ring()),
      places_(pipeline_.ring()),
      accelerator_(accelerator),
      returns_(accelerator == nullptr ? 0 : pipeline_.ring()) {
  for (Returned& each : returns_) {
    each.taken.resize(frame_.symbols().size(), std::vector<bool>(frame_.format().antennas));
    each.open.resize(frame_.symbols().size());
    each.came.reserve(frame_.symbols().size() * frame_.format().antennas);
    each.chunks.resize(pipeline_.graph().graph.size());
  }
  for (std::uint32_t slot = 0; slot < pipeline_.ring(); ++slot) {
    holder_[slot].store(kNone, std::memory_order_relaxed);
    for (const auto s : frame_.symbols_of(frame::SymbolKind::Downlink)) aim_transmit(slot, s);
  }
  recorder_.scheduled_by(port_.work);
  if (port_.work != nullptr) {
    prepared_work_.resize(port_.work->places());
    port_.work->prepare_by([this](const frame::WorkSource::Work& work) {
      prepared_work_[work.place] = pipeline_.prepare(*work.program);
    });
  }
  ingest_.drain();
}

Baseband::~Baseband() = default;

void Baseband::aim_transmit(std::uint32_t slot, std::uint32_t symbol) noexcept {
  const std::uint32_t ordinal = frame_.symbol(symbol).ordinal;
  for (std::uint32_t a = 0; a < frame_.format().antennas; ++a)
    pipeline_.set_transmit(slot, ordinal, a, sender_.samples(slot, symbol, a));
}

bool Baseband::open(std::uint64_t frame, Tick air_start) { return open(frame, air_start, true); }

bool Baseband::open(std::uint64_t frame, Tick air_start, bool heard) noexcept {
  const Opening guard(opening_);
  std::uint64_t next = next_.load(std::memory_order_relaxed);
  if (next != kNone && frame < next)
    return holder_[frame % holder_.size()].load(std::memory_order_relaxed) == frame;
  if (closing_.load(std::memory_order_acquire)) return false;
  if (next != kNone && frame > next)
    if (const std::uint64_t count = left_out(next, frame, air_start))
      refuse(frame - count, count, air_start - static_cast<Tick>(count) * frame_.duration(), false);
  const bool started = start(frame, air_start, heard);
  newest_start_ = air_start;
  next_.store(frame + 1, std::memory_order_release);
  return started;
}

// Frames before this one that nobody announced in time because we stood still are refused, so that
// each is accounted. Numbers that the radio left out when it restarted were never on air: there the
// time since the last frame tells how many there were. Else it does not, for the clock may just
// have been set.
std::uint64_t Baseband::left_out(std::uint64_t next, std::uint64_t frame,
                                 Tick air_start) const noexcept {
  if (next >= ingest_.first()) return frame - next;
  const Tick duration = frame_.duration();
  const Tick frames = (air_start - newest_start_ + duration / 2) / duration;
  return std::min(frame - next, static_cast<std::uint64_t>(std::max<Tick>(frames - 1, 0)));
}

bool Baseband::start(std::uint64_t frame, Tick air_start, bool heard) noexcept {
  auto& holder = holder_[frame % holder_.size()];
  // A receiver may still be at the frame before, though that is recorded and released.
  if (holder.load(std::memory_order_acquire) != kNone || !cell_.vacant(frame)) {
    refuse(frame, 1, air_start, heard);
    return false;
  }
  const auto number = static_cast<std::uint32_t>(frame % places_.size());
  const frame::FramePlace place = places_[number] = {ingest_.wire_frame(frame), number};
  pipeline_.begin(frame, hold_work(place.radio_frame));
  delivery_.begin(number);
  if (port_.source != nullptr) port_.source->take(place, air_start, pipeline_.downlink_bits(frame));
  downlink_[frame % holder_.size()] = {};
  holder.store(frame, std::memory_order_relaxed);
  return begin(frame, air_start);
}

const frame::Prepared& Baseband::hold_work(std::uint32_t radio_frame) noexcept {
  const std::uint32_t place =
      port_.work == nullptr ? frame::kNoPlace : port_.work->hold(radio_frame).place;
  return place == frame::kNoPlace ? pipeline_.prepared(radio_frame) : prepared_work_[place];
}

// Where it is worked on is decided here, once and for all unless it is handed back.
bool Baseband::begin(std::uint64_t frame, Tick air_start) noexcept {
  const bool away = accelerator_ != nullptr &&
                    accelerator_->reserve(frame, air_start, pipeline_.slot(frame).downlink_bits);
  if (away) pipeline_.send_away(frame, *accelerator_);
  const bool begun =
      cell_.begin(frame, air_start, pipeline_.chunks(frame), lead_.lead() - frame_.least_lead());
  if (!away) return begun;
  accelerator_->go(frame);
  away_.fetch_add(1, std::memory_order_relaxed);
  return begun;
}

// Whether a downlink symbol has left or been missed, of a frame that is handed back.
bool Baseband::was_over(std::uint16_t slot, std::uint32_t symbol) const noexcept {
  const runtime::InstructionStatus& status =
      cell_.board().status(slot, pipeline_.graph().bring[symbol]);
  return status.state >= runtime::InstructionStatus::State::Committed &&
         status.why != runtime::Reason::Abandoned;
}

// Under way again as soon as nobody is at it any more.
void Baseband::take_back(const runtime::FrameEvent& event) noexcept {
  Returned& back = returns_[event.slot];
  back.frame = event.frame;
  back.air_start = cell_.board().frame(event.slot).start;
  back.begun = false;
  for (std::uint32_t s = 0; s < back.open.size(); ++s) {
    const bool received = pipeline_.graph().receive[s] != frame::kNoInstruction;
    back.open[s] = received ? frame_.format().antennas : 0;
    std::fill(back.taken[s].begin(), back.taken[s].end(), false);
  }
  const runtime::Graph& graph = pipeline_.graph().graph;
  for (std::uint16_t i = 0; i < graph.size(); ++i)
    back.chunks[i] =
        graph[i].drop_alone && was_over(event.slot, graph[i].step) ? 0 : graph[i].chunks;
  back.here.store(true, std::memory_order_release);
  handed_back_.fetch_add(1, std::memory_order_relaxed);
  accelerator_->release(event.frame);
  cell_.release(event.frame);
}

// Begins a frame again that was handed back, and gives the cores what comes of it.
bool Baseband::resume(Returned& back) noexcept {
  if (!back.here.load(std::memory_order_relaxed)) return false;
  if (!back.begun) {
    if (!cell_.vacant(back.frame)) return false;
    const Opening guard(opening_);
    pipeline_.begin(back.frame, pipeline_.prepared(place_of(back.frame).radio_frame));
    gather(back);
    const auto chunks = pipeline_.chunks(back.frame);
    for (std::size_t i = 0; i < chunks.size(); ++i)
      back.chunks[i] = std::min(back.chunks[i], chunks[i]);
    cell_.begin_again(back.frame, back.air_start, back.chunks, back.came);
    back.begun = true;
    return true;
  }
  gather(back);
  for (const auto& [instruction, item] : back.came) cell_.arrive(back.frame, instruction, item);
  return !back.came.empty();
}

// What the ingest has of a frame that was handed back, beyond what it had.
void Baseband::gather(Returned& back) noexcept {
  back.came.clear();
  for (std::uint32_t s = 0; s < back.open.size(); ++s)
    for (std::uint32_t a = 0; back.open[s] != 0 && a < back.taken[s].size(); ++a) {
      const std::int16_t* const samples =
          back.taken[s][a] ? nullptr : ingest_.samples(back.frame, s, a);
      if (samples == nullptr) continue;
      back.taken[s][a] = true;
      --back.open[s];
      if (!within_reach(samples)) continue;
      pipeline_.set_samples(back.frame, s, a, samples);
      back.came.push_back({pipeline_.graph().receive[s], a});
    }
}

// Under the opening flag; the conductor settles it. At most a ring of frames can begin while it
// does not, so that nearly all refusals follow each other. Half of the rows are kept for those that
// do not: of the others none is lost, though it is no longer told apart of which something was
// heard.
void Baseband::refuse(std::uint64_t first, std::uint64_t count, Tick air_start,
                      bool heard) noexcept {
  Refusal* last = refusals_ == 0 ? nullptr : &refused_[refusals_ - 1];
  const std::uint32_t wire = ingest_.wire_frame(first);
  const bool follows = last != nullptr && last->first + last->count == first &&
                       last->first_on_wire + static_cast<std::uint32_t>(last->count) == wire;
  if (follows && (last->heard == heard || refusals_ >= kRefused / 2)) {
    last->count += count;
    last->heard |= heard;
  } else if (refusals_ < kRefused) {  // else the radio has restarted dozens of times meanwhile
    refused_[refusals_++] = {first, count, wire, air_start, heard};
  }
  any_refused_.store(true, std::memory_order_release);
}

void Baseband::arrive(std::uint64_t frame, std::uint32_t symbol, std::uint32_t antenna,
                      const std::int16_t* samples, Tick) {
  auto hold = cell_.hold(frame);
  if (!hold) return;
  if (pipeline_.slot(frame).elsewhere != nullptr)
    return accelerator_->arrive(frame, symbol, antenna, samples);
  if (accelerator_ != nullptr &&
      returns_[frame % returns_.size()].here.load(std::memory_order_acquire))
    return;
  if (!within_reach(samples)) return;
  pipeline_.set_samples(frame, symbol, antenna, samples);
  hold.arrive(pipeline_.graph().receive[symbol], antenna);
}

// A frame that the cores have is without what lies in a device's memory, as if it had been lost: to
// fetch it takes longer than a receiver may wait.
bool Baseband::within_reach(const std::int16_t* samples) noexcept {
  if (memory_.within_reach(samples)) return true;
  out_of_reach_.fetch_add(1, std::memory_order_relaxed);
  return false;
}

// A radio that has restarted goes on with later numbers by another clock.
void Baseband::announce(Tick instant) noexcept {
  std::uint64_t next = next_.load(std::memory_order_acquire);
  if (next == kNone || !ingest_.clock().locked() || closing_.load(std::memory_order_acquire))
    return;
  const std::uint64_t first = ingest_.first();
  next = std::max(next, first);
  if (!sent_by_radio(next)) return;
  const Tick air_start = ingest_.clock().air_start(next);
  if (ingest_.first() != first) return;
  if (air_start - head_start() <= instant) {
    open(next, air_start, false);
    cell_.expect(air_start + frame_.duration() - head_start());
  }
}

// How long before its air start a frame is opened: its first downlink symbol may have to leave
// before that.
Tick Baseband::head_start() const noexcept {
  const Tick leaves = first_leaves_ - (lead_.lead() - frame_.least_lead());
  if (leaves >= 0) return 50 * kMicrosecond;
  return frame::Frame::kHeadStart - leaves;
}

// From a frame that is over, and came whole.
void Baseband::learn_way(std::uint64_t frame, Tick air_start) noexcept {
  const auto arrived = ingest_.arrivals(frame);
  if (arrived.packets == layout_.packets(fronthaul::Carries::Uplink) && arrived.packets != 0)
    lead_.note(arrived.last_packet - air_start - received_by_);
}

void Baseband::follow(Tick air_start) noexcept {
  ingest_.follow(air_start);
  newest_start_ = air_start - frame_.duration();
  next_.store(0, std::memory_order_release);
}

bool Baseband::all_announced() const noexcept {
  const std::uint64_t next = next_.load(std::memory_order_acquire);
  return next == kNone || !sent_by_radio(next);
}

bool Baseband::sent_by_radio(std::uint64_t frame) const noexcept {
  const std::uint64_t end = radio_ends_.load(std::memory_order_acquire);
  return end == kNone ||
         static_cast<std::int32_t>(static_cast<std::uint32_t>(end) - ingest_.wire_frame(frame)) > 0;
}

Tick Baseband::next_opening() const noexcept {
  std::uint64_t next = next_.load(std::memory_order_acquire);
  if (next == kNone || !ingest_.clock().locked()) return runtime::kNever;
  next = std::max(next, ingest_.first());
  if (!sent_by_radio(next)) return runtime::kNever;
  return ingest_.clock().air_start(next) - head_start();
}

std::uint32_t Baseband::next_wire_frame() const noexcept {
  const std::uint64_t next = next_.load(std::memory_order_acquire);
  return next == kNone ? 0 : ingest_.wire_frame(next);
}

bool Baseband::conduct() noexcept {
  const Tick instant = now();
  announce(instant);
  recorder_.heard({ingest_.heard(), ingest_.first()});
  if (any_refused_.load(std::memory_order_acquire)) settle_refused();
  if (accelerator_ != nullptr && !accelerator_->any_device()) transport_.receive_in_host();
  std::array<runtime::FrameEvent, 16> events;
  const std::size_t count = cell_.poll(events);
  for (std::size_t i = 0; i < count; ++i) handle(events[i]);
  bool resumed = false;
  for (Returned& each : returns_) resumed |= resume(each);
  return count > 0 || resumed;
}

// A frame has its slot also while it is between an accelerator and the cores.
bool Baseband::drained() const noexcept {
  return std::ranges::all_of(holder_, [](const auto& frame) { return frame.load() == kNone; }) &&
         cell_.live() == 0;
}

void Baseband::close() noexcept {
  closing_.store(true, std::memory_order_release);
  while (conduct()) {
  }
  recorder_.close();
}

void Baseband::handle(const runtime::FrameEvent& event) noexcept {
  using Kind = runtime::FrameEvent::Kind;
  switch (event.kind) {
    case Kind::Committed: return committed(event);
    case Kind::Missed: return miss(event);
    case Kind::Refused:
    case Kind::Done:
    case Kind::Dropped: return finish(event);
  }
}

void Baseband::committed(const runtime::FrameEvent& event) noexcept {
  const std::uint16_t symbol = pipeline_.graph().graph[event.instruction].step;
  if (frame_.symbol(symbol).kind != frame::SymbolKind::Downlink)
    return delivery_.committed(place_of(event.frame), event.instruction, event.at);
  sender_.send(place_of(event.frame).radio_frame, event.slot, symbol);
  aim_transmit(event.slot, symbol);
  auto& downlink = downlink_[event.slot];
  if (downlink.symbols++ == 0) downlink.first = event.at;
  downlink.last = event.at;
}

void Baseband::miss(const runtime::FrameEvent& event) noexcept {
  const std::uint16_t symbol = pipeline_.graph().graph[event.instruction].step;
  if (frame_.symbol(symbol).kind == frame::SymbolKind::Downlink)
    ++downlink_[event.slot].late_symbols;
}

FrameView Baseband::view(std::uint64_t frame, std::uint16_t slot) const noexcept {
  auto& self = const_cast<Baseband&>(*this);
  const bool handed_back =
      accelerator_ != nullptr && returns_[slot].here.load(std::memory_order_relaxed);
  return {frame,
          slot,
          cell_.board().frame(slot).start,
          self.pipeline_,
          cell_.board(),
          ingest_,
          downlink_[slot],
          port_.known,
          place_of(frame).radio_frame,
          cell_.live() <= 1,
          handed_back || pipeline_.slot(frame).elsewhere != nullptr,
          handed_back,
          handed_back ? delivery_.out(place_of(frame).place) : std::span<const Delivery::Out>{}};
}

void Baseband::finish(const runtime::FrameEvent& event) noexcept {
  const std::uint64_t frame = event.frame;
  const bool away = pipeline_.slot(frame).elsewhere != nullptr;
  if (away && event.kind == runtime::FrameEvent::Kind::Dropped &&
      event.why == runtime::Reason::Abandoned && accelerator_->handed_back(frame))
    return take_back(event);
  const FrameView ended = view(frame, event.slot);
  recorder_.ended(ended, event);
  const frame::FramePlace& place = place_of(frame);
  delivery_.ended(place, event.at);
  if (port_.source != nullptr) port_.source->release(place);
  if (port_.work != nullptr && pipeline_.slot(frame).program != &frame_.program())
    port_.work->release(place.radio_frame);
  learn_way(frame, ended.air_start);
  ingest_.release(frame);
  if (away) accelerator_->release(frame);
  if (accelerator_ != nullptr) returns_[event.slot].here.store(false, std::memory_order_release);
  if (event.kind != runtime::FrameEvent::Kind::Refused) cell_.release(event.frame);
  holder_[event.slot].store(kNone, std::memory_order_release);
  ended_.fetch_add(1, std::memory_order_relaxed);
}

void Baseband::settle_refused() noexcept {
  std::array<Refusal, kRefused> refused;
  std::size_t count = 0;
  {
    const Opening guard(opening_);
    count = refusals_;
    std::copy_n(refused_.begin(), count, refused.begin());
    refusals_ = 0;
    any_refused_.store(false, std::memory_order_relaxed);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Refusal& row = refused[i];
    for (std::uint64_t n = 0; n < row.count; ++n) {
      const Tick air_start = row.air_start + static_cast<Tick>(n) * frame_.duration();
      const std::uint32_t number = row.first_on_wire + static_cast<std::uint32_t>(n);
      const bool held = port_.work != nullptr && port_.work->hold(number).program != nullptr;
      recorder_.refused(row.first + n, number, air_start, row.heard);
      delivery_.refused(number, port_.program(frame_, number), now());
      if (held) port_.work->release(number);
      ingest_.release(row.first + n);
    }
    ended_.fetch_add(row.count, std::memory_order_relaxed);
  }
}

}  // namespace carillon::app
