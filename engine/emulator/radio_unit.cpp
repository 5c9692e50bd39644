#include "emulator/radio_unit.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace carillon::emulator {

using fronthaul::Carries;
using fronthaul::kNoBuffer;
using fronthaul::Outgoing;
using fronthaul::Received;

namespace {

constexpr Tick kNever = std::numeric_limits<Tick>::max();

// The polling thread is the only writer; others read.
template <typename T>
void add(T& counter, T amount = 1) {
  std::atomic_ref(counter).store(counter + amount, std::memory_order_relaxed);
}

}  // namespace

const std::int16_t* DownlinkFrame::samples(std::uint32_t symbol, std::uint32_t antenna) const {
  return places_[layout_->symbols()[symbol].ordinal * layout_->antennas() + antenna].samples;
}

bool DownlinkFrame::substituted(std::uint32_t symbol) const {
  return substituted_[layout_->symbols()[symbol].ordinal] != 0;
}

RadioUnit::RadioUnit(const fronthaul::Layout& layout, fronthaul::Transport& transport,
                     Options options)
    : layout_(layout),
      transport_(transport),
      options_(options),
      made_(options.live ? options.replay : 0),
      downlink_frames_(options.collecting + options.queue),
      open_(options.collecting, kNone),
      queue_memory_(fronthaul::Ring<std::uint32_t>::bytes(options.queue)),
      returned_memory_(fronthaul::Ring<std::uint32_t>::bytes(options.queue)),
      queue_(queue_memory_.data(), options.queue, true),
      returned_(returned_memory_.data(), options.queue, true) {
  const std::size_t frames = options.replay + (options.live ? 1U : 0U);
  const std::size_t wanted = frames * layout.packets(Carries::Uplink);
  for (std::size_t i = 0; i < wanted; ++i) {
    const std::uint32_t buffer = transport.acquire();
    if (buffer == kNoBuffer) {
      transport.abandon(replay_);
      throw std::runtime_error("the fronthaul has " + std::to_string(i) +
                               " free packet buffers but the replay of " + std::to_string(frames) +
                               " frames needs " + std::to_string(wanted));
    }
    replay_.push_back(buffer);
  }

  const auto symbols = layout.symbols(Carries::Downlink);
  std::uint32_t samples = 0;
  for (const auto s : symbols) samples = std::max(samples, layout.symbols()[s].samples);
  contingency_stride_ = std::size_t{samples} * 2;
  contingency_ =
      AlignedArray<std::int16_t>(symbols.size() * layout.antennas() * contingency_stride_);
  for (auto& frame : downlink_frames_) {
    frame.layout_ = &layout;
    frame.places_.resize(layout.packets(Carries::Downlink));
    frame.arrived_.resize(symbols.size());
    frame.substituted_.resize(symbols.size());
    free_.push_back(static_cast<std::uint32_t>(free_.size()));
  }
}

RadioUnit::~RadioUnit() {
  for (auto& frame : downlink_frames_) empty(frame);
  transport_.abandon(replay_);
}

std::size_t RadioUnit::replay_place(std::uint32_t replay_frame, std::uint32_t symbol,
                                    std::uint32_t antenna) const noexcept {
  return std::size_t{replay_frame} * layout_.packets(Carries::Uplink) +
         layout_.symbols()[symbol].ordinal * layout_.antennas() + antenna;
}

std::int16_t* RadioUnit::uplink_samples(std::uint32_t replay_frame, std::uint32_t symbol,
                                        std::uint32_t antenna) noexcept {
  return transport_.samples(replay_[replay_place(replay_frame, symbol, antenna)]);
}

std::int16_t* RadioUnit::contingency_samples(std::uint32_t symbol, std::uint32_t antenna) noexcept {
  const std::size_t place = layout_.symbols()[symbol].ordinal * layout_.antennas() + antenna;
  return contingency_.data() + place * contingency_stride_;
}

void RadioUnit::start(Tick air_start, std::uint64_t frames) noexcept {
  air_start_ = air_start;
  frames_ = frames;
  uplink_ = downlink_ = {};
  to_report_ = 0;
}

bool RadioUnit::step(Tick instant) noexcept {
  if (finished()) return false;
  if (const std::uint64_t least = stopping_.exchange(0, std::memory_order_acquire); least != 0) {
    const std::uint64_t last = std::max({uplink_.frame + 1, downlink_.frame + 1, least});
    frames_ = frames_ == 0 ? last : std::min(frames_, last);
  }
  reclaim();
  bool worked = collect();
  if (uplink_due() <= instant) worked |= send_due(instant);
  if (downlink_due() <= instant) {
    put_on_air();
    worked = true;
  }
  if (uplink_due() == kNever && downlink_due() == kNever)
    finished_.store(true, std::memory_order_release);
  return worked;
}

Tick RadioUnit::next_event() const noexcept { return std::min(uplink_due(), downlink_due()); }

// A symbol's packets leave when it has been on air; spread, one by one over a symbol's time more.
Tick RadioUnit::uplink_due() const noexcept {
  const auto symbols = layout_.symbols(Carries::Uplink);
  if (symbols.empty() || ended(uplink_)) return kNever;
  const auto& symbol = layout_.symbols()[symbols[uplink_.index]];
  const Tick later = options_.spread ? (symbol.end - symbol.start) * uplink_.antenna /
                                           static_cast<Tick>(layout_.antennas())
                                     : 0;
  return air_start(uplink_.frame) + symbol.end + later;
}

Tick RadioUnit::downlink_due() const noexcept {
  const auto symbols = layout_.symbols(Carries::Downlink);
  if (symbols.empty() || ended(downlink_)) return kNever;
  return air_start(downlink_.frame) + layout_.symbols()[symbols[downlink_.index]].start;
}

bool RadioUnit::send_due(Tick instant) noexcept {
  if (uplink_.index == 0 && uplink_.antenna == 0) {
    skip_what_was_missed(instant);
    if (uplink_due() > instant || ended(uplink_)) return true;
  }
  const std::uint32_t s = layout_.symbols(Carries::Uplink)[uplink_.index];
  if (uplink_.index == 0 && uplink_.antenna == 0) choose_place();
  std::array<Outgoing, kBatch> batch;
  std::uint32_t count = 0;
  const std::uint32_t left = layout_.antennas() - uplink_.antenna;
  const std::uint32_t most =
      options_.spread ? 1 : std::min(left, static_cast<std::uint32_t>(kBatch));
  for (; count < most; ++count) {
    const std::uint32_t antenna = uplink_.antenna + count;
    batch[count] = {{static_cast<std::uint32_t>(uplink_.frame), s, layout_.cell(), antenna},
                    layout_.packet_bytes(s),
                    replay_[replay_place(sending_, s, antenna)],
                    antenna * transport_.peer_receivers() / layout_.antennas(),
                    true};
  }
  const auto sent = static_cast<std::uint32_t>(transport_.send({batch.data(), count}));
  add(counters_.packets_sent, std::uint64_t{sent});
  if (uplink_.index == 0 && uplink_.antenna == 0 && sent > 0) note_pace(instant - uplink_due());
  const auto& symbol = layout_.symbols()[s];
  const bool give_up = sent < count && instant - uplink_due() > symbol.end - symbol.start;
  if (give_up) add(counters_.packets_unsent, std::uint64_t{left - sent});
  pass_antennas(give_up ? left : sent);
  return sent > 0 || give_up;
}

// Once a frame, before its first packet.
void RadioUnit::choose_place() noexcept {
  sending_ = static_cast<std::uint32_t>(uplink_.frame % options_.replay);
  if (!options_.live || made_[sending_].load(std::memory_order_acquire) == uplink_.frame + 1)
    return;
  sending_ = options_.replay;
}

// Of a frame's first packets.
void RadioUnit::note_pace(Tick error) noexcept {
  add(counters_.pacing_error_sum, error);
  add(counters_.pacing_error_square, static_cast<std::uint64_t>(error * error));
  add(counters_.pacing_frames);
}

// A radio does not stand still; this machine may. Frames that are over are not sent any more, so
// that the baseband unit does not get them all at once.
void RadioUnit::skip_what_was_missed(Tick instant) noexcept {
  const Tick late = instant - uplink_due();
  const bool partly_on_air = downlink_.frame == uplink_.frame && downlink_.index > 0;
  if (late < 2 * layout_.duration() || partly_on_air || downlink_.frame > uplink_.frame) return;
  auto missed = static_cast<std::uint64_t>(late / layout_.duration());
  if (frames_ != 0) missed = std::min(missed, frames_ - uplink_.frame);
  skip(missed);
}

// Each frame is sent, and has its downlink on air, or neither. Downlink symbols that are still due
// of frames before these come first.
void RadioUnit::skip(std::uint64_t frames) noexcept {
  const bool downlink = !layout_.symbols(Carries::Downlink).empty();
  while (downlink && downlink_.frame < uplink_.frame) put_on_air();
  Skipped& range = skipped_[skips_.load(std::memory_order_relaxed) % kSkipped];
  range.first.store(uplink_.frame, std::memory_order_relaxed);
  range.end.store(uplink_.frame + frames, std::memory_order_relaxed);
  skips_.fetch_add(1, std::memory_order_release);
  uplink_.frame += frames;
  passed_.store(uplink_.frame, std::memory_order_release);
  add(counters_.frames_skipped, frames);
  if (!downlink) return;
  for (auto& index : open_) {  // what came of them
    if (index == kNone || downlink_frames_[index].frame_ >= uplink_.frame) continue;
    empty(downlink_frames_[index]);
    free_.push_back(std::exchange(index, kNone));
  }
  downlink_.frame = uplink_.frame;
}

bool RadioUnit::skipped(std::uint64_t frame) const noexcept {
  const std::size_t count = std::min(skips_.load(std::memory_order_acquire), kSkipped);
  return std::any_of(skipped_.begin(), skipped_.begin() + static_cast<std::ptrdiff_t>(count),
                     [&](const Skipped& range) {
                       return frame >= range.first.load(std::memory_order_relaxed) &&
                              frame < range.end.load(std::memory_order_relaxed);
                     });
}

void RadioUnit::pass_antennas(std::uint32_t count) noexcept {
  uplink_.antenna += count;
  if (uplink_.antenna < layout_.antennas()) return;
  uplink_.antenna = 0;
  if (++uplink_.index < layout_.symbols(Carries::Uplink).size()) return;
  uplink_.index = 0;
  ++uplink_.frame;
  passed_.store(uplink_.frame, std::memory_order_release);
  add(counters_.frames_sent);
  if (options_.live) add(counters_.frames_silent, std::uint64_t{sending_ == options_.replay});
}

bool RadioUnit::collect() noexcept {
  bool any = false;
  for (std::uint32_t r = 0; r < transport_.receivers(); ++r) {
    std::array<Received, kBatch> batch;
    std::array<std::uint32_t, kBatch> returned;
    const std::size_t count = transport_.receive(r, batch);
    std::size_t returning = 0;
    for (std::size_t i = 0; i < count; ++i)
      if (!accept(batch[i])) returned[returning++] = batch[i].buffer;
    transport_.recycle({returned.data(), returning});
    any |= count > 0 || transport_.pending(r);
  }
  return any;
}

// True when the packet's buffer is kept.
bool RadioUnit::accept(const Received& packet) noexcept {
  const auto& ids = packet.ids;
  const auto ahead =
      static_cast<std::int32_t>(ids.frame - static_cast<std::uint32_t>(downlink_.frame));
  const bool believed =
      fronthaul::check(ids, packet.bytes, layout_, Carries::Downlink) == fronthaul::Reject::None &&
      ahead < static_cast<std::int64_t>(options_.collecting);
  if (!believed) {
    add(counters_.downlink_rejected);
    return false;
  }
  const std::uint32_t ordinal = layout_.symbols()[ids.symbol].ordinal;
  if (ended(downlink_) || ahead < 0 || (ahead == 0 && ordinal < downlink_.index)) {
    add(counters_.downlink_late);
    return false;
  }
  DownlinkFrame& frame = collecting(downlink_.frame + static_cast<std::uint64_t>(ahead));
  if (frame.substituted_[ordinal] != 0) {
    add(counters_.downlink_late);
    return false;
  }
  auto& place = frame.places_[ordinal * layout_.antennas() + ids.antenna];
  if (place.samples != nullptr) {
    const std::size_t bytes = packet.bytes - fronthaul::kHeaderBytes;
    if (std::memcmp(place.samples, packet.samples, bytes) != 0) add(counters_.downlink_differing);
    add(counters_.downlink_rejected);
    return false;
  }
  place = {packet.buffer, packet.samples};
  ++frame.arrived_[ordinal];
  add(counters_.downlink_packets);
  return true;
}

// There is always a free one: frames collected at once and frames outstanding are both bounded.
DownlinkFrame& RadioUnit::collecting(std::uint64_t frame) noexcept {
  auto& index = open_[frame % options_.collecting];
  if (index == kNone) {
    index = free_.back();
    free_.pop_back();
    downlink_frames_[index].frame_ = frame;
  }
  return downlink_frames_[index];
}

// The sample counter has reached a D symbol.
void RadioUnit::put_on_air() noexcept {
  constexpr int kMostBatches = 8;
  for (int i = 0; i < kMostBatches && collect(); ++i) {
  }
  const std::uint32_t symbol = layout_.symbols(Carries::Downlink)[downlink_.index];
  DownlinkFrame& frame = collecting(downlink_.frame);
  if (layout_.symbols()[symbol].into_unit == 0) begin_unit(frame);
  add(frame.substituted(symbol) ? counters_.downlink_symbols_substituted
                                : counters_.downlink_symbols_sent);
  if (++downlink_.index < layout_.symbols(Carries::Downlink).size()) return;
  report_on(frame);
  hand_on(downlink_.frame);
  downlink_.index = 0;
  ++downlink_.frame;
}

// What is here of a unit goes on air, whole or not at all.
void RadioUnit::begin_unit(DownlinkFrame& frame) noexcept {
  const auto symbols = layout_.symbols(Carries::Downlink);
  std::uint32_t end = downlink_.index + 1;
  while (end < symbols.size() && layout_.symbols()[symbols[end]].into_unit != 0) ++end;
  const std::span arrived(frame.arrived_.data() + downlink_.index, end - downlink_.index);
  if (std::ranges::all_of(arrived, [&](auto count) { return count == layout_.antennas(); })) return;
  for (std::uint32_t ordinal = downlink_.index; ordinal < end; ++ordinal)
    substitute(frame, ordinal);
}

void RadioUnit::substitute(DownlinkFrame& frame, std::uint32_t ordinal) noexcept {
  const std::uint32_t antennas = layout_.antennas();
  const std::span places(frame.places_.data() + ordinal * antennas, antennas);
  recycle(places);
  const std::uint32_t symbol = layout_.symbols(Carries::Downlink)[ordinal];
  for (std::uint32_t a = 0; a < antennas; ++a) places[a].samples = contingency_samples(symbol, a);
  frame.substituted_[ordinal] = 1;
  ++frame.substituted_symbols_;
}

// A report that the link does not take is made up for by those of later frames.
void RadioUnit::report_on(const DownlinkFrame& frame) noexcept {
  const std::uint64_t frames = frame.frame_ + 1 - std::exchange(to_report_, frame.frame_ + 1);
  replaced_ = frames < fronthaul::kReportedFrames ? replaced_ << frames : 0;
  replaced_ |= frame.substituted_symbols_ > 0 ? 1U : 0U;
  Outgoing report{{static_cast<std::uint32_t>(frame.frame_), fronthaul::kReportSymbol,
                   layout_.cell(), replaced_},
                  fronthaul::kHeaderBytes,
                  transport_.acquire()};
  if (report.buffer == kNoBuffer) return;
  transport_.send({&report, 1});
  transport_.abandon({&report.buffer, 1});
}

void RadioUnit::hand_on(std::uint64_t frame) noexcept {
  auto& index = open_[frame % options_.collecting];
  add(counters_.downlink_frames);
  add(counters_.downlink_blocks, std::uint64_t{options_.blocks[frame % options_.blocks.size()]});
  if (outstanding_ < options_.queue && queue_.push(index)) {
    ++outstanding_;
  } else {
    add(counters_.downlink_frames_unverified);
    empty(downlink_frames_[index]);
    free_.push_back(index);
  }
  index = kNone;
}

void RadioUnit::reclaim() noexcept {
  std::uint32_t index = 0;
  while (returned_.pop(index)) {
    empty(downlink_frames_[index]);
    free_.push_back(index);
    --outstanding_;
  }
}

void RadioUnit::empty(DownlinkFrame& frame) noexcept {
  recycle(frame.places_);
  std::ranges::fill(frame.arrived_, 0);
  std::ranges::fill(frame.substituted_, std::uint8_t{0});
  frame.substituted_symbols_ = 0;
}

void RadioUnit::recycle(std::span<DownlinkFrame::Place> places) noexcept {
  std::array<std::uint32_t, kBatch> buffers;
  std::size_t count = 0;
  for (auto& place : places) {
    if (place.buffer != kNoBuffer) buffers[count++] = place.buffer;
    place = {};
    if (count < kBatch) continue;
    transport_.recycle(buffers);
    count = 0;
  }
  transport_.recycle({buffers.data(), count});
}

const DownlinkFrame* RadioUnit::take() noexcept {
  std::uint32_t index = 0;
  return queue_.pop(index) ? &downlink_frames_[index] : nullptr;
}

void RadioUnit::give_back(const DownlinkFrame* frame) noexcept {
  returned_.push(static_cast<std::uint32_t>(frame - downlink_frames_.data()));
}

RadioCounters RadioUnit::counters() const noexcept {
  const auto read = [](auto& value) {
    return std::atomic_ref(value).load(std::memory_order_relaxed);
  };
  RadioCounters& c = counters_;
  return {read(c.frames_sent),
          read(c.frames_skipped),
          read(c.frames_silent),
          read(c.packets_sent),
          read(c.packets_unsent),
          read(c.downlink_packets),
          read(c.downlink_late),
          read(c.downlink_rejected),
          read(c.downlink_differing),
          read(c.downlink_symbols_sent),
          read(c.downlink_symbols_substituted),
          read(c.downlink_frames),
          read(c.downlink_frames_unverified),
          read(c.downlink_blocks),
          read(c.pacing_error_sum),
          read(c.pacing_error_square),
          read(c.pacing_frames)};
}

}  // namespace carillon::emulator
