// Turns what happened into records: one for each frame, sums for users, stages and threads, tasks
// for the trace. Used by the conductor alone while the run lasts.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "app/delivery.hpp"
#include "app/judge.hpp"
#include "app/loop.hpp"
#include "app/on_air.hpp"
#include "frame/cpu/pipeline.hpp"
#include "frame/data_port.hpp"
#include "frame/opcodes.hpp"
#include "fronthaul/ingest.hpp"
#include "runtime/runtime.hpp"
#include "telemetry/store.hpp"

namespace carillon::app {

/// What the sender knows of one frame.
struct Downlink {
  std::uint32_t symbols = 0, late_symbols = 0;
  Tick first = 0, last = 0;  // absolute
};

/// A frame that has ended, before its memory is released.
struct FrameView {
  std::uint64_t frame;
  std::uint16_t slot;
  Tick air_start;
  frame::Pipeline& pipeline;
  const runtime::SourceBoard& board;
  const fronthaul::UplinkIngest& ingest;
  const Downlink& downlink;
  const frame::KnownBits* known;  // what users sent; null: not known
  std::uint32_t radio_frame;      // its number on the radio's side
  bool alone;                     // no other frame is in flight
  bool sent_away;                 // to GPUs
  bool handed_back;               // by them
  /// [block] What they handed out before is not decided anew; empty: they handed nothing back.
  std::span<const Delivery::Out> delivered = {};
};

/// How far the radio has been heard.
struct Heard {
  std::uint64_t newest = 0;  // the newest frame of which anything came
  std::uint64_t first = 0;   // the first of the radio's present numbering; grows when it restarts
};

class Recorder {
 public:
  Recorder(telemetry::Store& store, const frame::Frame& frame);

  /// The sources of task and stall events, before the run; of the tasks, those of cell number
  /// `cell` are its own. Thread numbers are the loops' places.
  void watch(const runtime::Runtime& runtime, std::uint16_t cell,
             std::span<const std::uint32_t> worker_threads, std::span<Loop* const> loops);

  /// Of the radio in this process, before the run: whether a frame is none that it sent, since it
  /// skipped it or had ended before.
  using LeftOut = std::function<bool(std::uint64_t frame)>;
  void watch(LeftOut left_out) { left_out_ = std::move(left_out); }

  /// Before the run: who schedules frames, where a program does.
  void scheduled_by(frame::WorkSource* work) { work_ = work; }

  /// Before the run: called with each frame that is settled, on the thread that collects, and the
  /// clock that frames are to have in their records, in MHz.
  using Settled = std::function<void(const telemetry::FrameRecord& record)>;
  void govern(Settled settled, const std::atomic<std::uint32_t>& clock_mhz) {
    settled_ = std::move(settled);
    clock_mhz_ = &clock_mhz;
  }

  void ended(const FrameView& view, const runtime::FrameEvent& event);
  /// An overload NACK for a frame that never began; `heard`: something of it came.
  void refused(std::uint64_t frame, std::uint32_t radio_frame, Tick air_start, bool heard = true);
  /// Whenever it may have changed. Frames of which nothing came count only when the radio goes on
  /// after them: others were announced by the clock after it had stopped or before it restarted.
  void heard(const Heard& heard) noexcept;
  /// What the radio unit put on air up to this frame (fronthaul::kReportSymbol). Any thread.
  void reported(std::uint64_t frame, std::uint32_t replaced) noexcept {
    on_air_.reported(frame, replaced);
  }
  /// Takes over what the threads have traced since the last time, and settles what can be settled.
  void collect();
  /// After the threads have ended: settles all frames.
  void close();
  /// Frames that were announced but not counted. Any thread.
  std::uint64_t ghosts() const noexcept { return ghosts_.load(std::memory_order_relaxed); }
  /// Those of them that were sent to GPUs, and that these handed back.
  std::uint64_t ghosts_sent_away() const noexcept {
    return ghosts_away_.load(std::memory_order_relaxed);
  }
  std::uint64_t ghosts_handed_back() const noexcept {
    return ghosts_back_.load(std::memory_order_relaxed);
  }

 private:
  struct Source {
    const telemetry::TraceRing* ring;
    std::uint32_t thread;
    telemetry::TraceRing::Cursor cursor;
  };

  // A frame waits here until it is known why it was late: a thread that stands still says so only
  // when it goes on; and a frame of which nothing came may just be one that was never sent.
  struct Pending {
    telemetry::FrameRecord record;
    std::uint32_t radio_frame = 0;
    LateFrame late;
    bool is_late = false, silent = false;
    bool sent_away = false, handed_back = false;
    bool sent_all = false;    // its downlink left in time, as far as is known here
    bool holds_work = false;  // which is still to be counted
    std::uint64_t nacks = 0;  // its first NackRecord
  };
  static constexpr std::size_t kPending = 4096;

  // What a frame's tasks took, until it is known whether it is of the run.
  struct Cost {
    std::uint32_t frame = 0;
    bool settled = false, ghost = false;
    std::array<telemetry::StageRecord, frame::kOps> stages{};
  };

  std::uint32_t clock_mhz() const {
    return clock_mhz_ == nullptr ? 0 : clock_mhz_->load(std::memory_order_relaxed);
  }
  void push(const Pending& pending);
  void settle(bool closing);
  bool can_settle(const Pending& pending) const;
  bool may_be_reported(const Pending& pending) const;
  void hear_what_went_on_air(Pending& pending);
  bool is_ghost(const Pending& pending, bool closing) const;
  void commit(Pending& pending);
  telemetry::FrameRecord measure(const FrameView& view) const;
  bool missed_deadline(const FrameView& view) const;
  Tick longest_work(const FrameView& view, Tick ended) const;
  std::uint16_t last_word(const FrameView& view, const frame::TransportBlock& block) const;
  bool was_late(const FrameView& view, const frame::TransportBlock& block) const;
  void blame_packets(const FrameView& view, bool uplink, LateFrame& late) const;
  Tick waited(const FrameView& view, std::uint16_t symbol, std::uint32_t lacking) const;
  telemetry::LateCause why_failed(const FrameView& view, const frame::TransportBlock& block) const;
  void count_blocks(const FrameView& view, telemetry::FrameRecord& record);
  void nack_frame(std::uint64_t frame);
  void fail_blocks(telemetry::FrameRecord& record, std::uint32_t radio_frame);
  void nack_block(std::uint64_t frame, const frame::TransportBlock& block, std::uint32_t cause);
  void explain_nacks(const Pending& pending, telemetry::LateCause cause);
  void sample_quality(const FrameView& view);
  void sample_raw_errors(const FrameView& view);
  void trace_packets(const FrameView& view);
  void keep_tasks_of(std::uint64_t frame, Tick begun);
  void collect_tasks(Source& source);
  Cost& cost_of(std::uint64_t frame);
  void charge(const telemetry::TraceEvent& task);
  void settle_cost(Cost& cost, bool ghost);
  void collect_stalls(Source& source);

  telemetry::Store& store_;
  const frame::Frame& frame_;
  const Tick due_, downlink_due_;  // a frame's last deadlines, from its start
  const Tick last_end_;            // of its last uplink symbol, likewise
  Judge judge_;
  OnAir on_air_;
  LeftOut left_out_;
  Settled settled_;
  frame::WorkSource* work_ = nullptr;
  const std::atomic<std::uint32_t>* clock_mhz_ = nullptr;
  std::uint16_t cell_ = 0;
  std::vector<Source> tasks_, stalls_;
  std::vector<Loop*> loops_;
  std::vector<Pending> pending_;  // a ring, oldest at first_
  std::size_t first_ = 0, waiting_ = 0;
  std::vector<Cost> costs_;  // [frame mod kPending]
  Heard heard_;
  std::uint64_t fell_silent_ = 0;  // the last frame heard before the radio restarted
  std::atomic<std::uint64_t> ghosts_{0}, ghosts_away_{0}, ghosts_back_{0};
};

}  // namespace carillon::app
