// The baseband unit of one cell: frames are opened when the radio's clock says so, worked on, sent,
// recorded and released. Owns no thread; its duties are played by app::Loop.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "app/accelerator.hpp"
#include "app/delivery.hpp"
#include "app/recorder.hpp"
#include "frame/cpu/pipeline.hpp"
#include "frame/data_port.hpp"
#include "fronthaul/downlink.hpp"
#include "fronthaul/ingest.hpp"
#include "fronthaul/transmit_lead.hpp"
#include "runtime/runtime.hpp"

namespace carillon::app {

class Baseband final : public fronthaul::SymbolSink {
 public:
  /// `cell`: the pipeline's in the runtime. `accelerator`: works on frames that it has room for;
  /// null: there is none. All outlive this.
  Baseband(frame::Pipeline& pipeline, runtime::Runtime::Source cell,
           fronthaul::Transport& transport, Recorder& recorder, const frame::DataPort& port,
           Accelerator::Cell* accelerator = nullptr);
  ~Baseband() override;

  // Duties.
  bool receive(std::uint32_t receiver) noexcept { return ingest_.poll(receiver) > 0; }
  /// One thread: announces frames, sends finished downlink symbols, ends frames.
  bool conduct() noexcept;
  /// When the next frame has to be announced; kNever when that is not known.
  Tick next_opening() const noexcept;

  /// The radio unit is in this process, and its first frame is on air from then on. Before any
  /// packet.
  void follow(Tick air_start) noexcept;
  /// The radio sends no frame from this one on, by its number: the clock announces none. Any
  /// thread.
  void announce_until(std::uint64_t frame) noexcept {
    radio_ends_.store(frame, std::memory_order_release);
  }
  /// The first frame that is neither open nor refused, by the radio's number; 0 before the first.
  std::uint32_t next_wire_frame() const noexcept;
  /// Every frame that the radio sends is open or refused, as far as its end is known.
  bool all_announced() const noexcept;
  /// No frame beyond those already open; drained() when these have ended.
  void stop_opening() noexcept { closing_.store(true, std::memory_order_release); }
  bool drained() const noexcept;
  /// After the threads have ended: what is left to record.
  void close() noexcept;

  runtime::Runtime::Source cell() const { return cell_; }
  const fronthaul::UplinkIngest& ingest() const { return ingest_; }
  const fronthaul::DownlinkSender& sender() const { return sender_; }
  std::uint64_t frames_ended() const noexcept { return ended_.load(std::memory_order_relaxed); }
  /// That were begun on an accelerator, and of these, that it handed back.
  std::uint64_t frames_sent_away() const noexcept { return away_.load(std::memory_order_relaxed); }
  std::uint64_t frames_handed_back() const noexcept {
    return handed_back_.load(std::memory_order_relaxed);
  }
  /// That came in a device's memory, and whose frames the cores had.
  std::uint64_t packets_out_of_reach() const noexcept {
    return out_of_reach_.load(std::memory_order_relaxed);
  }

  // fronthaul::SymbolSink
  bool open(std::uint64_t frame, Tick air_start) override;
  void arrive(std::uint64_t frame, std::uint32_t symbol, std::uint32_t antenna,
              const std::int16_t* samples, Tick when) override;
  void reported(std::uint64_t frame, std::uint32_t replaced) override {
    recorder_.reported(frame, replaced);
  }

 private:
  static constexpr std::uint64_t kNone = ~0ULL;
  static constexpr std::size_t kRefused = 256;

  // Frames that an accelerator handed back. Their packets are taken from the ingest, by the
  // conductor, since they came while nobody could have them.
  struct Returned {
    std::atomic<bool> here{false};
    bool begun = false;
    std::uint64_t frame = 0;
    Tick air_start = 0;
    std::vector<std::vector<bool>> taken;              // [symbol][antenna]
    std::vector<std::uint32_t> open;                   // [symbol] how many are not taken
    std::vector<runtime::Runtime::Source::Item> came;  // and have not been handed on
    std::vector<std::uint32_t> chunks;                 // without downlink symbols that are over
  };

  bool open(std::uint64_t frame, Tick air_start, bool heard) noexcept;
  bool start(std::uint64_t frame, Tick air_start, bool heard) noexcept;
  void refuse(std::uint64_t first, std::uint64_t count, Tick air_start, bool heard) noexcept;
  std::uint64_t left_out(std::uint64_t next, std::uint64_t frame, Tick air_start) const noexcept;
  void announce(Tick now) noexcept;
  bool sent_by_radio(std::uint64_t frame) const noexcept;
  void handle(const runtime::FrameEvent& event) noexcept;
  void committed(const runtime::FrameEvent& event) noexcept;
  void miss(const runtime::FrameEvent& event) noexcept;
  void finish(const runtime::FrameEvent& event) noexcept;
  void settle_refused() noexcept;
  const frame::Prepared& hold_work(std::uint32_t radio_frame) noexcept;
  bool begin(std::uint64_t frame, Tick air_start) noexcept;
  void take_back(const runtime::FrameEvent& event) noexcept;
  bool resume(Returned& back) noexcept;
  void gather(Returned& back) noexcept;
  bool was_over(std::uint16_t slot, std::uint32_t symbol) const noexcept;
  void aim_transmit(std::uint32_t slot, std::uint32_t symbol) noexcept;
  bool within_reach(const std::int16_t* samples) noexcept;
  FrameView view(std::uint64_t frame, std::uint16_t slot) const noexcept;
  Tick head_start() const noexcept;
  void learn_way(std::uint64_t frame, Tick air_start) noexcept;
  const frame::FramePlace& place_of(std::uint64_t frame) const noexcept {
    return places_[frame % places_.size()];
  }

  const frame::Frame& frame_;
  Recorder& recorder_;
  frame::Pipeline& pipeline_;
  runtime::Runtime::Source cell_;
  fronthaul::Layout layout_;
  fronthaul::Transport& transport_;
  const fronthaul::ReceivedMemory memory_;
  fronthaul::UplinkIngest ingest_;
  fronthaul::DownlinkSender sender_;
  const frame::DataPort port_;
  Delivery delivery_;
  std::vector<frame::Prepared> prepared_work_;  // [WorkSource::places()]
  const Tick first_leaves_, received_by_;  // from a frame's start: the first downlink symbol, by
                                           // the graph's deadlines; the last uplink symbol's end
  fronthaul::TransmitLead lead_;

  // Opening is rare and short: whoever sees a new frame first does it, under this flag.
  std::atomic_flag opening_ = ATOMIC_FLAG_INIT;
  std::atomic<std::uint64_t> next_{kNone};          // the first frame not yet opened or refused
  std::vector<std::atomic<std::uint64_t>> holder_;  // [slot] the frame it belongs to, or kNone
  Tick newest_start_ = 0;                           // air start of the frame before next_
  struct Refusal {                                  // of frames in a row, by either number
    std::uint64_t first, count;
    std::uint32_t first_on_wire;
    Tick air_start;  // of the first
    bool heard;
  };
  std::array<Refusal, kRefused> refused_{};
  std::size_t refusals_ = 0;
  std::atomic<bool> any_refused_{false};
  std::vector<Downlink> downlink_;  // [slot]
  // [slot] The radio's number stays what it was when the frame began, though it may begin anew.
  std::vector<frame::FramePlace> places_;
  Accelerator::Cell* accelerator_;
  std::vector<Returned> returns_;  // [slot]; none without an accelerator
  std::atomic<std::uint64_t> away_{0}, handed_back_{0}, out_of_reach_{0};
  std::atomic<bool> closing_{false};
  std::atomic<std::uint64_t> radio_ends_{kNone};  // before this frame, by its own number
  std::atomic<std::uint64_t> ended_{0};
};

}  // namespace carillon::app
