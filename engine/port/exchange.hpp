// Hands bits over between a cell's real-time threads and whoever owns them: without a lock, a
// system call or an allocation on the cell's side, which never waits. Who comes too late, or does
// not fetch what is there, loses it; that is counted.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/aligned.hpp"
#include "dataflow/ring.hpp"
#include "frame/data_port.hpp"
#include "frame/frame.hpp"
#include "frame/work.hpp"
#include "port/message.hpp"

namespace carillon::port {

/// Blocks, each in one class of its direction. Accepted ones are used or unused once their frame
/// has begun; all blocks to be sent of frames that were begun are used or padded.
struct PortCounters {
  std::uint64_t good = 0, failed = 0, late = 0;  // that were received, for the owner
  std::uint64_t dropped = 0;                     // of those, that found the queue full
  std::uint64_t accepted = 0;                    // to be sent, from the owner
  std::uint64_t used = 0;                        // of those, that were there when their frame began
  std::uint64_t unused = 0;                      // … whose frame never began, or just had
  std::uint64_t padded = 0;                      // zeros went on air, since no bits were there
};

/// Received uplink blocks of a cell with HARQ processes, by attempt; the last place has all later
/// ones.
struct HarqCounters {
  static constexpr std::size_t kAttempts = 4;
  std::array<std::uint64_t, kAttempts> blocks{}, good{}, good_bits{};
  Tick again = 0, again_most = 0;  // from a block's first verdict to its good one: sum and most
};

class Exchange final : public frame::TransportSource,
                       public frame::TransportSink,
                       public frame::WorkSource {
 public:
  /// Frames for which bits may be given before they begin.
  static constexpr std::uint32_t kAhead = 8;

  /// `sends`: the direction whose bits the owner gives; it gets the other's. `ring`: frames that
  /// may be held at once. The frame outlives this. Throws std::system_error.
  Exchange(const frame::Frame& frame, frame::Direction sends, std::uint32_t ring);

  frame::Direction sends() const { return sends_; }
  frame::Direction receives() const {
    return sends_ == frame::Direction::Uplink ? frame::Direction::Downlink
                                              : frame::Direction::Uplink;
  }

  // The cell, or its users.
  void take(frame::FramePlace frame, Tick air_start,
            std::span<const std::uint8_t*> bits) noexcept override;
  void release(frame::FramePlace frame) noexcept override;
  void receive(frame::FramePlace frame,
               const frame::ReceivedTransportBlock& block) noexcept override;
  // … whose frames the owner schedules, any thread.
  Work hold(std::uint32_t frame) noexcept override;
  void release(std::uint32_t frame) noexcept override;
  Work find(std::uint32_t frame) const noexcept override;
  std::uint32_t places() const noexcept override {
    return static_cast<std::uint32_t>(entries_.size());
  }
  void prepare_by(Prepare prepare) override { prepare_ = std::move(prepare); }

  // The owner of the bits, one thread.
  /// A piece of a block that is to be sent: None, or why it was not taken.
  Refusal offer(const Message& message, std::span<const std::uint8_t> piece) noexcept;
  /// What a frame is to do, as in frame::Grants::list; once for each: None, or why it was not
  /// taken. Grants that cannot be done are left out, with a problem each (frame::WorkCompiler).
  Refusal schedule(std::uint32_t frame, std::span<const std::uint32_t> grants,
                   std::vector<Problem>& problems);
  /// What a frame does that the owner has scheduled, unless a later one has its place.
  const frame::FrameProgram& program(std::uint32_t frame) noexcept { return program_of(frame); }
  struct Begun {
    std::uint32_t frame;
    Tick air_start;
  };
  /// The newest frame that has begun, if that is another than when this was last asked.
  std::optional<Begun> newest() noexcept;
  /// The oldest received block that was not fetched, or null; with its bits, until pop().
  const Message* front() const noexcept;
  std::span<const std::uint8_t> bits() const noexcept;
  void pop() noexcept;
  /// No frame will begin any more, and none is in flight: what still waits for one is unused.
  void close() noexcept;

  /// Any thread.
  PortCounters counters() const noexcept;
  HarqCounters harq() const noexcept;

 private:
  // Of an entry, and the frame that it is.
  static constexpr std::uint64_t kFree = 0;
  static constexpr std::uint64_t kClearing = 1;  // the owner makes room for a frame
  static constexpr std::uint64_t kFilling = 2;   // the owner's bits come
  static constexpr std::uint64_t kTaken = 3;     // the cell has begun the frame; and more: as often
  static constexpr int kStateBits = 16;
  enum class Block : std::uint8_t { Empty, Ready, Closed };

  struct Entry {
    std::atomic<std::uint64_t> word{0};  // frame · 2¹⁶ + state
    std::atomic<Tick> air_start{0};
    std::vector<std::atomic<Block>> blocks;
    std::vector<std::size_t> filled;  // bytes of each block that are there; the owner's
    AlignedArray<std::uint8_t> payload;
    frame::FrameProgram program;  // of a frame that was scheduled
  };

  static std::uint64_t word(std::uint32_t frame, std::uint64_t state) {
    return std::uint64_t{frame} << kStateBits | state;
  }
  static std::uint64_t state_of(std::uint64_t word) { return word & ((1 << kStateBits) - 1); }
  std::size_t index(std::uint32_t frame) const { return frame & (entries_.size() - 1); }
  Entry& entry(std::uint32_t frame) { return entries_[index(frame)]; }
  const Entry& entry(std::uint32_t frame) const { return entries_[index(frame)]; }
  bool hold(Entry& entry, std::uint32_t frame) noexcept;
  const frame::FrameProgram& program_of(std::uint32_t frame) const noexcept {
    return frame_.scheduled_by_port() ? entry(frame).program : frame_.program(frame);
  }
  Refusal in_time(std::uint32_t frame) const noexcept;
  Refusal is_scheduled(const Entry& entry, std::uint32_t frame) const noexcept;
  Refusal claim(Entry& entry, std::uint32_t frame) noexcept;
  Refusal make_room(Entry& entry, std::uint32_t frame) noexcept;
  void clear(Entry& entry) noexcept;
  Refusal put(Entry& entry, const Message& message, std::span<const std::uint8_t> piece) noexcept;

  static constexpr std::uint64_t kNone = ~0ULL;
  static constexpr std::size_t kUnit = 8;  // bytes of an item of the queue

  const frame::Frame& frame_;
  const frame::Direction sends_;
  std::vector<Entry> entries_;  // [frame mod their number], a power of two
  AlignedArray<std::uint8_t> zeros_;
  frame::WorkCompiler compiler_;  // the owner's
  Prepare prepare_;
  std::atomic<std::uint64_t> newest_{kNone};   // frame, once there is one
  std::atomic<std::uint64_t> settled_{kNone};  // what this one and those before do is
  std::uint64_t newest_said_ = kNone;          // the owner's
  dataflow::Ring queue_;                       // Messages, each with its bits
  enum Counter : std::uint8_t { Good, Failed, Late, Dropped, Accepted, Used, Unused, Padded, kAll };
  std::array<std::atomic<std::uint64_t>, kAll> counters_{};
  struct Attempt {
    std::atomic<std::uint64_t> blocks{0}, good{0}, good_bits{0};
  };
  std::array<Attempt, HarqCounters::kAttempts> attempts_{};
  std::atomic<Tick> again_{0}, again_most_{0};
  std::vector<Tick> first_verdict_;  // [user][process]; who receives'
  void settle(const frame::TransportBlock& block, std::uint64_t bits, frame::Verdict verdict,
              Tick at) noexcept;
  void count(Counter counter, std::uint64_t number = 1) noexcept {
    counters_[counter].fetch_add(number, std::memory_order_relaxed);
  }
};

}  // namespace carillon::port
