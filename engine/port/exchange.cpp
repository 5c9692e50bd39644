#include "port/exchange.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace carillon::port {
namespace {

using frame::Direction;

// What may wait for its owner, whose thread is an ordinary one: so many frames or more, for so long
// if that takes no more than this.
constexpr std::size_t kQueuedFrames = 8;
constexpr Tick kQueued = 200 * kMillisecond;
constexpr std::size_t kMostQueued = std::size_t{16} << 20;  // bytes

constexpr std::size_t units_for(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit;
}

std::size_t longest_block(const frame::Frame& frame, Direction direction) {
  std::size_t longest = 0;
  for (const frame::FrameProgram& program : frame.programs())
    for (const auto& block : program.transport_blocks(direction))
      longest = std::max(longest, bytes_for(program.plan(block).A()));
  return longest;
}

// Units of a frame's blocks in the queue: of the one that has most of them.
std::size_t units_of_a_frame(const frame::Frame& frame, Direction direction, std::size_t unit) {
  std::size_t most = 0;
  for (const frame::FrameProgram& program : frame.programs()) {
    std::size_t units = 0;
    for (const auto& block : program.transport_blocks(direction))
      units += units_for(sizeof(Message) + bytes_for(program.plan(block).A()), unit);
    most = std::max(most, units);
  }
  return most;
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
      zeros_(longest_block(frame, sends)),
      queue_(kUnit, queue_units(frame, receives(), kUnit), 1) {
  for (Entry& entry : entries_) {
    const std::size_t blocks = frame.most_transport_blocks(sends);
    entry.blocks = std::vector<std::atomic<Block>>(blocks);
    entry.filled.resize(blocks);
    entry.payload = AlignedArray<std::uint8_t>(frame.payload_bytes(sends));
  }
}

void Exchange::take(frame::FramePlace frame, Tick air_start,
                    std::span<const std::uint8_t*> bits) noexcept {
  Entry& entry = this->entry(frame.radio_frame);
  std::uint64_t filling = word(frame.radio_frame, Place::Filling);
  const bool any = entry.word.compare_exchange_strong(
      filling, word(frame.radio_frame, Place::Taken), std::memory_order_acq_rel);
  const auto blocks = frame_.program(frame.radio_frame).transport_blocks(sends_);
  std::uint64_t used = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const bool ready =
        any && entry.blocks[b].exchange(Block::Closed, std::memory_order_acq_rel) == Block::Ready;
    bits[b] = ready ? entry.payload.data() + blocks[b].payload_offset : zeros_.data();
    used += ready;
  }
  count(Used, used);
  count(Padded, blocks.size() - used);
  entry.air_start.store(air_start, std::memory_order_relaxed);
  newest_.store(frame.radio_frame, std::memory_order_release);
}

void Exchange::release(frame::FramePlace frame) noexcept {
  std::uint64_t taken = word(frame.radio_frame, Place::Taken);
  entry(frame.radio_frame)
      .word.compare_exchange_strong(taken, word(frame.radio_frame, Place::Free),
                                    std::memory_order_acq_rel);
}

void Exchange::receive(frame::FramePlace frame,
                       const frame::ReceivedTransportBlock& block) noexcept {
  switch (block.verdict) {
    case frame::Verdict::Good: count(Good); break;
    case frame::Verdict::Failed: count(Failed); break;
    case frame::Verdict::Late: count(Late); break;
  }
  const std::size_t units = units_for(sizeof(Message) + block.bits.size(), kUnit);
  if (queue_.room() < units) return count(Dropped);
  Message message =
      message_of(MessageType::Block, frame_, receives(), frame.radio_frame, block.block);
  message.verdict = static_cast<std::uint8_t>(block.verdict);
  message.time = block.at;
  std::byte* const place = queue_.place();
  std::memcpy(place, &message, sizeof(message));
  if (!block.bits.empty())
    std::memcpy(place + sizeof(message), block.bits.data(), block.bits.size());
  queue_.write(units);
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
  if (newest == told_) return std::nullopt;
  told_ = newest;
  const auto frame = static_cast<std::uint32_t>(newest);
  return Begun{frame, entry(frame).air_start.load(std::memory_order_relaxed)};
}

Refusal Exchange::offer(const Message& message, std::span<const std::uint8_t> piece) noexcept {
  const std::uint64_t newest = newest_.load(std::memory_order_acquire);
  if (newest == kNone) return Refusal::NoFrame;
  const auto ahead = static_cast<std::int32_t>(message.frame - static_cast<std::uint32_t>(newest));
  if (ahead <= 0) return Refusal::Late;
  if (ahead > static_cast<std::int32_t>(kAhead)) return Refusal::Early;
  const frame::FrameProgram& program = frame_.program(message.frame);
  const auto blocks = program.transport_blocks(sends_);
  if (message.block >= blocks.size()) return Refusal::Block;
  const std::uint32_t bits = program.plan(blocks[message.block]).A();
  if (message.bits != bits || piece.empty() || message.offset > bytes_for(bits) ||
      piece.size() > bytes_for(bits) - message.offset)
    return Refusal::Bits;
  Entry& entry = this->entry(message.frame);
  if (const Refusal why = claim(entry, message.frame); why != Refusal::None) return why;
  return put(entry, message, piece);
}

// Makes the entry the frame's, unless it is or cannot be.
Refusal Exchange::claim(Entry& entry, std::uint32_t frame) noexcept {
  std::uint64_t present = entry.word.load(std::memory_order_acquire);
  if (present == word(frame, Place::Filling)) return Refusal::None;
  if (present == word(frame, Place::Taken)) return Refusal::Late;
  if (static_cast<Place>(present & 3) == Place::Taken) return Refusal::Early;
  if (!entry.word.compare_exchange_strong(present, word(frame, Place::Clearing),
                                          std::memory_order_acq_rel))
    return Refusal::Late;  // the cell has just begun the frame that was here
  clear(entry);
  entry.word.store(word(frame, Place::Filling), std::memory_order_release);
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
  const auto& block = frame_.program(message.frame).transport_blocks(sends_)[message.block];
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
  for (Entry& entry : entries_)
    if (static_cast<Place>(entry.word.load(std::memory_order_acquire) & 3) != Place::Taken)
      clear(entry);
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
