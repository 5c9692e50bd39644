// Turns what happened into records: one for each frame, sums for users, stages and threads, tasks
// for the trace. Used by the conductor alone while the run lasts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "app/judge.hpp"
#include "app/loop.hpp"
#include "frame/pipeline.hpp"
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
  const runtime::Scoreboard& board;
  const fronthaul::UplinkIngest& ingest;
  const Downlink& downlink;
  bool alone;  // no other frame is in flight
};

class Recorder {
 public:
  Recorder(telemetry::Store& store, const frame::Frame& frame);

  /// The sources of task and stall events, before the run. Thread numbers are the loops' places.
  void watch(runtime::Runtime& runtime, std::span<const std::uint32_t> worker_threads,
             std::span<Loop* const> loops);

  void ended(const FrameView& view, const runtime::FrameEvent& event);
  /// An overload NACK for a frame that never began.
  void refused(std::uint64_t frame, Tick air_start);
  /// Takes over what the threads have traced since the last time.
  void collect();

 private:
  struct Source {
    const telemetry::TraceRing* ring;
    std::uint32_t thread;
    telemetry::TraceRing::Cursor cursor;
  };

  telemetry::FrameRecord measure(const FrameView& view) const;
  bool missed_deadline(const FrameView& view) const;
  Tick worst_packet_delay(const FrameView& view) const;
  void blame(telemetry::FrameRecord& record, const LateFrame& late);
  void count_blocks(const FrameView& view, telemetry::FrameRecord& record, bool dropped);
  void sample_quality(const FrameView& view);
  void trace_packets(const FrameView& view);
  void keep_tasks_of(std::uint64_t frame);
  void collect_tasks(Source& source);
  void collect_stalls(Source& source);

  telemetry::Store& store_;
  const frame::Frame& frame_;
  Judge judge_;
  std::vector<Source> tasks_, stalls_;
};

}  // namespace carillon::app
