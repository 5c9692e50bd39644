// The emulated radio unit: sends the uplink's samples when they have been on air, takes the
// downlink's when they must be. Samples are made beforehand and replayed. Owns no thread; one polls
// it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/aligned.hpp"
#include "base/tick.hpp"
#include "fronthaul/layout.hpp"
#include "fronthaul/ring.hpp"
#include "fronthaul/transport.hpp"

namespace carillon::emulator {

/// A frame of the downlink as it went on air.
class DownlinkFrame {
 public:
  std::uint64_t frame() const { return frame_; }
  /// Never null: the antenna's samples, prefix first, or the contingency's.
  const std::int16_t* samples(std::uint32_t symbol, std::uint32_t antenna) const;
  /// The D symbol's unit did not come in time: the contingency went on air instead.
  bool substituted(std::uint32_t symbol) const;
  std::uint32_t substituted_symbols() const { return substituted_symbols_; }

 private:
  friend class RadioUnit;
  struct Place {
    std::uint32_t buffer = fronthaul::kNoBuffer;
    const std::int16_t* samples = nullptr;
  };

  const fronthaul::Layout* layout_ = nullptr;
  std::uint64_t frame_ = 0;
  std::vector<Place> places_;              // [D ordinal][antenna]
  std::vector<std::uint32_t> arrived_;     // [D ordinal] antennas
  std::vector<std::uint8_t> substituted_;  // [D ordinal]
  std::uint32_t substituted_symbols_ = 0;
};

struct RadioCounters {
  std::uint64_t frames_sent = 0;     // uplink gone through
  std::uint64_t frames_skipped = 0;  // neither sent nor on air: this thread did not run
  std::uint64_t frames_silent = 0;   // of those sent, that the users had not made in time
  std::uint64_t packets_sent = 0;
  std::uint64_t packets_unsent = 0;         // the link would not take them for a symbol's time
  std::uint64_t downlink_packets = 0;       // good and in time
  std::uint64_t downlink_late = 0;          // good, but after the symbol's air start
  std::uint64_t downlink_rejected = 0;      // malformed, duplicate, unknown frame
  std::uint64_t downlink_differing = 0;     // of those, duplicates with other samples
  std::uint64_t downlink_symbols_sent = 0;  // on air as the baseband unit sent them
  std::uint64_t downlink_symbols_substituted = 0;  // on air from the contingency
  std::uint64_t downlink_frames = 0;               // on air, whatever was in them
  std::uint64_t downlink_frames_unverified = 0;    // nobody had time to decode them
  std::uint64_t downlink_blocks = 0;               // of the frames on air
  Tick pacing_error_sum = 0;                       // of the frames' first packets against the clock
  std::uint64_t pacing_error_square = 0;           // ns²
  std::uint64_t pacing_frames = 0;
};

class RadioUnit {
 public:
  struct Options {
    std::uint32_t replay = 16;     // uplink frames made beforehand; frame n repeats n mod replay
    std::uint32_t collecting = 4;  // downlink frames that may be arriving at once
    std::uint32_t queue = 4;       // complete ones that may wait for, or be at, the users
    bool spread = false;           // a symbol's packets over the next symbol's time, not in a burst
    bool live = false;             // a frame's samples are made shortly before, see made()
    std::vector<std::uint32_t> blocks{0};  // [program] of the downlink, for downlink_blocks
  };

  /// Throws std::runtime_error when the transport lacks the buffers. Layout and transport outlive
  /// this.
  RadioUnit(const fronthaul::Layout& layout, fronthaul::Transport& transport, Options options);
  ~RadioUnit();

  /// Before start: where the replay's samples of a P or U symbol go, prefix first; 32768 = 1.0.
  /// Live: those of frame n go to n mod replay once passed() is greater than n - replay, and to
  /// place `replay` what is sent for frames that were not made in time.
  std::int16_t* uplink_samples(std::uint32_t replay_frame, std::uint32_t symbol,
                               std::uint32_t antenna) noexcept;
  /// Before start: what goes on air for a D symbol whose unit did not come in time; zeros unless
  /// written.
  std::int16_t* contingency_samples(std::uint32_t symbol, std::uint32_t antenna) noexcept;

  /// Live, one thread: all samples of a frame are in their place.
  void made(std::uint64_t frame) noexcept {
    made_[frame % options_.replay].store(frame + 1, std::memory_order_release);
  }
  /// Any thread: the first frame of which not all was sent or skipped.
  std::uint64_t passed() const noexcept { return passed_.load(std::memory_order_acquire); }

  /// Frame 0 is on air from `air_start` on. `frames` 0: until stop().
  void start(Tick air_start, std::uint64_t frames = 0) noexcept;
  /// Any thread: ends after the frame that is on air, and not before `least` frames in all.
  void stop(std::uint64_t least = 0) noexcept {
    stopping_.store(std::max<std::uint64_t>(least, 1), std::memory_order_release);
  }
  /// Everything was sent and the last downlink frame handed on.
  bool finished() const noexcept { return finished_.load(std::memory_order_acquire); }

  /// Does what is due at `instant`; true if there was anything. Never blocks, and returns after one
  /// symbol's work. The thread may sleep until next_event().
  bool step(Tick instant = now()) noexcept;
  Tick next_event() const noexcept;
  Tick air_start(std::uint64_t frame) const noexcept {
    return air_start_ + static_cast<Tick>(frame) * layout_.duration();
  }

  /// Whether a frame was skipped, if that was among the last times. Any thread.
  bool skipped(std::uint64_t frame) const noexcept;

  /// Users' side, any thread: the oldest frame that waits, or null; give it back when decoded.
  const DownlinkFrame* take() noexcept;
  void give_back(const DownlinkFrame* frame) noexcept;

  /// Any thread; each value is exact once finished.
  RadioCounters counters() const noexcept;

 private:
  static constexpr std::size_t kBatch = 64;
  static constexpr std::uint32_t kNone = 0xffff'ffff;

  // A place in the frames to come: the frame, and the index among the symbols of its way.
  struct Cursor {
    std::uint64_t frame = 0;
    std::uint32_t index = 0, antenna = 0;
  };

  std::size_t replay_place(std::uint32_t replay_frame, std::uint32_t symbol,
                           std::uint32_t antenna) const noexcept;
  bool ended(const Cursor& cursor) const noexcept {
    return frames_ != 0 && cursor.frame >= frames_;
  }
  Tick uplink_due() const noexcept;
  Tick downlink_due() const noexcept;
  bool send_due(Tick instant) noexcept;
  void note_pace(Tick error) noexcept;
  void skip_what_was_missed(Tick instant) noexcept;
  void skip(std::uint64_t frames) noexcept;
  void pass_antennas(std::uint32_t count) noexcept;
  void choose_place() noexcept;
  bool collect() noexcept;
  bool accept(const fronthaul::Received& packet) noexcept;
  DownlinkFrame& collecting(std::uint64_t frame) noexcept;
  void put_on_air() noexcept;
  void begin_unit(DownlinkFrame& frame) noexcept;
  void substitute(DownlinkFrame& frame, std::uint32_t ordinal) noexcept;
  void hand_on(std::uint64_t frame) noexcept;
  void report_on(const DownlinkFrame& frame) noexcept;
  void reclaim() noexcept;
  void empty(DownlinkFrame& frame) noexcept;
  void recycle(std::span<DownlinkFrame::Place> places) noexcept;

  const fronthaul::Layout& layout_;
  fronthaul::Transport& transport_;
  const Options options_;
  std::vector<std::uint32_t> replay_;       // buffers [replay frame][uplink ordinal][antenna]
  AlignedArray<std::int16_t> contingency_;  // [D ordinal][antenna][contingency_stride_]
  std::size_t contingency_stride_ = 0;

  std::vector<std::atomic<std::uint64_t>> made_;  // [replay frame] its frame + 1, if live

  std::uint32_t replaced_ = 0;   // bit i: something of frame - i was substituted
  std::uint64_t to_report_ = 0;  // the frame after these

  struct Skipped {
    std::atomic<std::uint64_t> first{0}, end{0};
  };
  static constexpr std::size_t kSkipped = 64;
  std::array<Skipped, kSkipped> skipped_;
  std::atomic<std::size_t> skips_{0};

  std::vector<DownlinkFrame> downlink_frames_;  // collecting + queue
  std::vector<std::uint32_t> free_;             // indices into downlink_frames_; all empty
  std::vector<std::uint32_t> open_;             // [frame mod collecting]: index or kNone
  std::uint32_t outstanding_ = 0;               // queued or at the users
  AlignedArray<std::byte> queue_memory_, returned_memory_;
  fronthaul::Ring<std::uint32_t> queue_, returned_;

  Tick air_start_ = 0;
  std::uint64_t frames_ = 0;
  Cursor uplink_, downlink_;
  std::uint32_t sending_ = 0;  // the replay's frame that the uplink is at
  std::atomic<std::uint64_t> passed_{0};
  std::atomic<std::uint64_t> stopping_{0};  // 0: no; else after so many frames or more
  std::atomic<bool> finished_{false};
  mutable RadioCounters counters_;  // through atomic_ref
};

}  // namespace carillon::emulator
