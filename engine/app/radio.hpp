// The emulated radio unit of a run with its users: frames made beforehand, replayed in time, and
// the downlink decoded when there is time. Its duties are played by app::Loop.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "app/run_plan.hpp"
#include "emulator/contingency.hpp"
#include "emulator/downlink_users.hpp"
#include "emulator/live_uplink.hpp"
#include "emulator/radio_unit.hpp"
#include "emulator/uplink_generator.hpp"
#include "frame/data_port.hpp"
#include "fronthaul/layout.hpp"
#include "fronthaul/transport.hpp"
#include "telemetry/store.hpp"

namespace carillon::app {

class Radio {
 public:
  /// `port`: whose bits the users send, and who gets what they receive; without a source they send
  /// those of the seed. All outlive this.
  Radio(const RunPlan& plan, const frame::Frame& frame, fronthaul::Transport& transport,
        telemetry::Store& store, const frame::DataPort& port);
  /// Makes the replay's frames, which takes a while: progress(i) is called before each and says
  /// whether to go on.
  template <typename Progress>
  void prepare(Progress&& progress) {
    if (plan_.radio.contingency == emulator::Contingency::References)
      emulator::write_references(frame_, unit_);
    if (live_) return live_->prepare();
    for (std::uint32_t i = 0; i < plan_.radio.frames && progress(i); ++i) prepare_frame(i);
  }

  void start(Tick air_start, std::uint64_t frames) { unit_.start(air_start, frames); }
  /// As of emulator::RadioUnit.
  void stop(std::uint64_t least) noexcept { unit_.stop(least); }
  /// Everything was sent, and all that went on air is decoded or given up. Any thread.
  bool finished() const noexcept;

  // Duties.
  bool step() noexcept { return unit_.step(); }
  Tick next_event() const noexcept { return unit_.next_event(); }
  bool users_step() noexcept;

  /// Frames that were sent or skipped: all before this number, when it has finished. Any thread.
  std::uint64_t frames() const noexcept;
  /// Whether a frame was skipped (as of emulator::RadioUnit), or is none that it had to send.
  bool left_out(std::uint64_t frame) const noexcept {
    return unit_.skipped(frame) || (unit_.finished() && frame >= frames());
  }
  /// When no thread is at it any more: what users did not decode is late.
  void close() noexcept { hand_out_late(frames()); }
  /// Copies the unit's counters into the store's. One thread.
  void report() noexcept;

 private:
  void prepare_frame(std::uint32_t replay);
  bool decode() noexcept;
  void settle();
  void hand_out() noexcept;
  void hand_out_late(std::uint64_t end) noexcept;

  const RunPlan& plan_;
  const frame::Frame& frame_;
  telemetry::Store& store_;
  fronthaul::Layout layout_;
  emulator::RadioUnit unit_;
  emulator::UplinkGenerator generator_;
  const frame::DataPort port_;
  std::optional<emulator::LiveUplink> live_;
  emulator::DownlinkUsers users_;
  const emulator::DownlinkFrame* decoding_ = nullptr;
  std::uint64_t handed_out_ = 0;                               // all before this frame
  std::atomic<std::uint64_t> decoded_{0}, decoded_blocks_{0};  // frames, and blocks of these
  std::atomic<std::uint64_t> late_blocks_{0};                  // handed out as late
};

}  // namespace carillon::app
