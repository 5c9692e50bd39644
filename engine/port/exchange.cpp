#include "port/exchange.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace carillon::port {
namespace {

using frame::Direction;

// What may wait for its owner, whose thread is an ordinary one: so many frames or more, for so long
// if that takes no more than this.
constexpr std::size_t kQueuedFrames = 8;
constexpr Tick kQueued = 200 * kMillisecond;
constexpr std::size_t kMostQueued = std::size_t{16} << 20;  // bytes

// As Message::snr.
std::uint16_t in_hundredths(float snr) {
  if (!(snr > 0)) return 0;
  const float db = std::clamp(10 * std::log10(snr), -99.0F, 300.0F);
  return static_cast<std::uint16_t>(std::lround((db + 100) * 100));
}

constexpr std::size_t units_for(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit;
}

// Units that a frame's blocks take in the queue at most.
std::size_t units_of_a_frame(const frame::Frame& frame, Direction direction, std::size_t unit) {
  const frame::Room& room = frame.room(direction);
  return room.payload_bytes / unit + room.transport_blocks * units_for(sizeof(Message), unit);
}

std::size_t queue_units(const frame::Frame& frame, Direction direction, std::size_t unit) {
  const std::size_t of_a_frame = units_of_a_frame(frame, direction, unit);
  const auto frames = static_cast<std::size_t>(kQueued / frame.duration());
  const std::size_t wanted = std::min(frames * of_a_frame, kMostQueued / unit);
  return std::max({std::size_t{1}, kQueuedFrames * of_a_frame, wanted});
}

}  // namespace

Exchange::Exchange(const frame::Frame& frame, Direction sends, std::uint32_t ring)
    : frame_(frame),
      sends_(sends),
      entries_(std::bit_ceil(ring + kAhead + 1)),
      zeros_(frame.room(sends).longest_block),
      compiler_(frame, sends == Direction::Downlink),
      queue_(kUnit, queue_units(frame, receives(), kUnit), 1),
      first_verdict_(std::size_t{frame.format().users} * frame.format().grants.harq_processes) {
  for (Entry& entry : entries_) {
    const std::size_t blocks = frame.room(sends).transport_blocks;
    entry.blocks = std::vector<std::atomic<Block>>(blocks);
    entry.filled.resize(blocks);
    entry.payload = AlignedArray<std::uint8_t>(frame.room(sends).payload_bytes);
  }
}

bool Exchange::hold(Entry& entry, std::uint32_t frame) noexcept {
  std::uint64_t present = entry.word.load();
  while (present >> kStateBits == frame && state_of(present) >= kFilling)
    if (entry.word.compare_exchange_weak(present, present + 1, std::memory_order_acq_rel))
      return true;
  return false;
}

void Exchange::release(std::uint32_t frame) noexcept {
  Entry& entry = this->entry(frame);
  std::uint64_t present = entry.word.load(std::memory_order_acquire);
  while (present >> kStateBits == frame && state_of(present) >= kTaken) {
    const bool last = state_of(present) == kTaken;
    if (entry.word.compare_exchange_weak(present, last ? word(frame, kFree) : present - 1,
                                         std::memory_order_acq_rel))
      return;
  }
}

frame::WorkSource::Work Exchange::hold(std::uint32_t frame) noexcept {
  // Before the entry is looked at: schedule() looks in the other order, so that one of the two sees
  // the other.
  std::uint64_t settled = settled_.load(std::memory_order_relaxed);
  while (settled == kNone ||
         static_cast<std::int32_t>(frame - static_cast<std::uint32_t>(settled)) > 0)
    if (settled_.compare_exchange_weak(settled, frame)) break;
  Entry& entry = this->entry(frame);
  if (!hold(entry, frame)) return {};
  return {&entry.program, static_cast<std::uint32_t>(index(frame))};
}

frame::WorkSource::Work Exchange::find(std::uint32_t frame) const noexcept {
  const Entry& entry = this->entry(frame);
  const std::uint64_t present = entry.word.load(std::memory_order_acquire);
  if (present >> kStateBits != frame || state_of(present) < kTaken) return {};
  return {&entry.program, static_cast<std::uint32_t>(index(frame))};
}

void Exchange::take(frame::FramePlace frame, Tick air_start,
                    std::span<const std::uint8_t*> bits) noexcept {
  Entry& entry = this->entry(frame.radio_frame);
  // What a frame does is not settled here.
  const bool none = frame_.scheduled_by_port() && find(frame.radio_frame).program == nullptr;
  const bool any = !none && hold(entry, frame.radio_frame);
  std::uint64_t used = 0;
  for (std::size_t b = 0; b < bits.size(); ++b) {
    const bool ready =
        any && entry.blocks[b].exchange(Block::Closed, std::memory_order_acq_rel) == Block::Ready;
    bits[b] = ready ? entry.payload.data() +
                          program_of(frame.radio_frame).transport_blocks(sends_)[b].payload_offset
                    : zeros_.data();
    used += ready;
  }
  count(Used, used);
  count(Padded, bits.size() - used);
  entry.air_start.store(air_start, std::memory_order_relaxed);
  settled_.store(frame.radio_frame);
  newest_.store(frame.radio_frame, std::memory_order_release);
}

void Exchange::release(frame::FramePlace frame) noexcept { release(frame.radio_frame); }

void Exchange::receive(frame::FramePlace frame,
                       const frame::ReceivedTransportBlock& block) noexcept {
  switch (block.verdict) {
    case frame::Verdict::Good: count(Good); break;
    case frame::Verdict::Failed: count(Failed); break;
    case frame::Verdict::Late: count(Late); break;
  }
  const frame::FrameProgram& program = program_of(frame.radio_frame);
  const frame::TransportBlock& tb = program.transport_blocks(receives())[block.block];
  if (tb.attempt > 0) settle(tb, program.plan(tb).A(), block.verdict, block.at);
  const std::size_t units = units_for(sizeof(Message) + block.bits.size(), kUnit);
  if (queue_.room() < units) return count(Dropped);
  Message message =
      message_of(MessageType::Block, frame_, program, receives(), frame.radio_frame, block.block);
  message.verdict = static_cast<std::uint8_t>(block.verdict);
  message.time = block.at;
  message.snr = in_hundredths(block.snr);
  std::byte* const place = queue_.place();
  std::memcpy(place, &message, sizeof(message));
  if (!block.bits.empty())
    std::memcpy(place + sizeof(message), block.bits.data(), block.bits.size());
  queue_.write(units);
}

// Before the owner hears of it, who may send it again at once.
void Exchange::settle(const frame::TransportBlock& block, std::uint64_t bits,
                      frame::Verdict verdict, Tick at) noexcept {
  const bool good = verdict == frame::Verdict::Good;
  const auto add = [](auto& counter, auto value) {
    counter.fetch_add(value, std::memory_order_relaxed);
  };
  Attempt& attempt = attempts_[std::min<std::size_t>(block.attempt, attempts_.size()) - 1];
  add(attempt.blocks, std::uint64_t{1});
  add(attempt.good, std::uint64_t{good});
  add(attempt.good_bits, good ? bits : 0);
  Tick& first =
      first_verdict_[block.user * frame_.format().grants.harq_processes + block.harq_process];
  if (block.attempt == 1) first = at;
  if (block.attempt > 1 && good) {
    add(again_, at - first);
    again_most_.store(std::max(again_most_.load(std::memory_order_relaxed), at - first),
                      std::memory_order_relaxed);
  }
  compiler_.settle(block, verdict);
}

HarqCounters Exchange::harq() const noexcept {
  HarqCounters counters{.again = again_.load(std::memory_order_relaxed),
                        .again_most = again_most_.load(std::memory_order_relaxed)};
  for (std::size_t i = 0; i < attempts_.size(); ++i) {
    counters.blocks[i] = attempts_[i].blocks.load(std::memory_order_relaxed);
    counters.good[i] = attempts_[i].good.load(std::memory_order_relaxed);
    counters.good_bits[i] = attempts_[i].good_bits.load(std::memory_order_relaxed);
  }
  return counters;
}

const Message* Exchange::front() const noexcept {
  if (queue_.available(0) == 0) return nullptr;
  return reinterpret_cast<const Message*>(queue_.items(0));
}

std::span<const std::uint8_t> Exchange::bits() const noexcept {
  const Message& message = *front();
  const bool any = message.verdict != static_cast<std::uint8_t>(frame::Verdict::Late);
  return {reinterpret_cast<const std::uint8_t*>(queue_.items(0)) + sizeof(Message),
          any ? bytes_for(message.bits) : 0};
}

void Exchange::pop() noexcept { queue_.take(0, units_for(sizeof(Message) + bits().size(), kUnit)); }

std::optional<Exchange::Begun> Exchange::newest() noexcept {
  const std::uint64_t newest = newest_.load(std::memory_order_acquire);
  if (newest == newest_said_) return std::nullopt;
  newest_said_ = newest;
  const auto frame = static_cast<std::uint32_t>(newest);
  return Begun{frame, entry(frame).air_start.load(std::memory_order_relaxed)};
}

// Whether the owner may still, and already, say something of a frame.
Refusal Exchange::in_time(std::uint32_t frame) const noexcept {
  const std::uint64_t settled = settled_.load();
  if (settled == kNone) return Refusal::NoFrame;
  const auto ahead = static_cast<std::int32_t>(frame - static_cast<std::uint32_t>(settled));
  if (ahead <= 0) return Refusal::Late;
  return ahead > static_cast<std::int32_t>(kAhead) ? Refusal::Early : Refusal::None;
}

Refusal Exchange::offer(const Message& message, std::span<const std::uint8_t> piece) noexcept {
  if (const Refusal why = in_time(message.frame); why != Refusal::None) return why;
  Entry& entry = this->entry(message.frame);
  if (const Refusal why = is_scheduled(entry, message.frame); why != Refusal::None) return why;
  const frame::FrameProgram& program = program_of(message.frame);
  const auto blocks = program.transport_blocks(sends_);
  if (message.block >= blocks.size()) return Refusal::Block;
  const std::uint32_t bits = program.plan(blocks[message.block]).A();
  if (message.bits != bits || piece.empty() || message.offset > bytes_for(bits) ||
      piece.size() > bytes_for(bits) - message.offset)
    return Refusal::Bits;
  if (const Refusal why = claim(entry, message.frame); why != Refusal::None) return why;
  return put(entry, message, piece);
}

// Whether it is known what the frame does.
Refusal Exchange::is_scheduled(const Entry& entry, std::uint32_t frame) const noexcept {
  const std::uint64_t present = entry.word.load(std::memory_order_acquire);
  if (!frame_.scheduled_by_port() || present == word(frame, kFilling)) return Refusal::None;
  return present >> kStateBits == frame && state_of(present) >= kTaken ? Refusal::Late
                                                                       : Refusal::Block;
}

Refusal Exchange::schedule(std::uint32_t frame, std::span<const std::uint32_t> grants,
                           std::vector<Problem>& problems) {
  if (!frame_.scheduled_by_port()) return Refusal::Format;
  if (const Refusal why = in_time(frame); why != Refusal::None) return why;
  Entry& entry = this->entry(frame);
  if (entry.word.load(std::memory_order_acquire) == word(frame, kFilling)) return Refusal::Order;
  if (const Refusal why = make_room(entry, frame); why != Refusal::None) return why;
  entry.program = compiler_.compile(grants, problems);
  if (prepare_) prepare_({&entry.program, static_cast<std::uint32_t>(index(frame))});
  std::uint64_t filling = word(frame, kFilling);
  entry.word.store(filling);
  // The cell may have begun it meanwhile, with nothing to do.
  if (in_time(frame) != Refusal::Late ||
      !entry.word.compare_exchange_strong(filling, word(frame, kFree), std::memory_order_acq_rel))
    return Refusal::None;
  compiler_.withdraw(entry.program);
  return Refusal::Late;
}

// Makes the entry the frame's, unless it is or cannot be.
Refusal Exchange::claim(Entry& entry, std::uint32_t frame) noexcept {
  if (entry.word.load(std::memory_order_acquire) == word(frame, kFilling)) return Refusal::None;
  if (const Refusal why = make_room(entry, frame); why != Refusal::None) return why;
  entry.word.store(word(frame, kFilling), std::memory_order_release);
  return Refusal::None;
}

// Takes the entry from the frame that was here.
Refusal Exchange::make_room(Entry& entry, std::uint32_t frame) noexcept {
  std::uint64_t present = entry.word.load(std::memory_order_acquire);
  if (state_of(present) >= kTaken)
    return present >> kStateBits == frame ? Refusal::Late : Refusal::Early;
  if (!entry.word.compare_exchange_strong(present, word(frame, kClearing),
                                          std::memory_order_acq_rel))
    return present >> kStateBits == frame ? Refusal::Late : Refusal::Early;  // just begun
  if (frame_.scheduled_by_port() && state_of(present) == kFilling)
    compiler_.withdraw(entry.program);
  clear(entry);
  return Refusal::None;
}

void Exchange::clear(Entry& entry) noexcept {
  for (std::size_t b = 0; b < entry.blocks.size(); ++b) {
    if (entry.blocks[b].exchange(Block::Empty, std::memory_order_relaxed) == Block::Ready)
      count(Unused);
    entry.filled[b] = 0;
  }
}

Refusal Exchange::put(Entry& entry, const Message& message,
                      std::span<const std::uint8_t> piece) noexcept {
  std::size_t& filled = entry.filled[message.block];
  if (message.offset != filled) return Refusal::Order;
  const auto& block = program_of(message.frame).transport_blocks(sends_)[message.block];
  std::uint8_t* const to = entry.payload.data() + block.payload_offset;
  std::memcpy(to + filled, piece.data(), piece.size());
  filled += piece.size();
  if (filled < bytes_for(message.bits)) return Refusal::None;
  if (message.bits % 8 != 0)
    to[filled - 1] &= static_cast<std::uint8_t>(0xff << (8 - message.bits % 8));
  Block empty = Block::Empty;
  if (!entry.blocks[message.block].compare_exchange_strong(empty, Block::Ready,
                                                           std::memory_order_acq_rel))
    return Refusal::Late;
  count(Accepted);
  return Refusal::None;
}

void Exchange::close() noexcept {
  for (Entry& entry : entries_) clear(entry);
}

PortCounters Exchange::counters() const noexcept {
  const auto read = [&](Counter counter) {
    return counters_[counter].load(std::memory_order_relaxed);
  };
  return {.good = read(Good),
          .failed = read(Failed),
          .late = read(Late),
          .dropped = read(Dropped),
          .accepted = read(Accepted),
          .used = read(Used),
          .unused = read(Unused),
          .padded = read(Padded)};
}

}  // namespace carillon::port
