#include "emulator/gpu_run.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include "emulator/payload.hpp"
#include "emulator/uplink_generator.hpp"

namespace carillon::emulator {
namespace {

using frame::Direction;
using runtime::FrameEvent;
using runtime::FrameRef;

constexpr Tick kFar = 1000 * kSecond;

// The cell, its devices, and the frames that come.
class Player {
 public:
  Player(const frame::Frame& frame, const RadioPlan& radio, const frame::GpuPool& pool,
         const GpuRunOptions& options)
      : frame_(frame),
        options_(options),
        server_(pool, {{frame, options.at_once ? kFar : options.deadline}}, options.policy,
                options.patience),
        received_(server_.received(0)) {
    prepare(radio);
    result_.blocks = static_cast<std::uint32_t>(frame.transport_blocks(Direction::Uplink).size());
    result_.frames.resize(options.frames);
  }

  GpuRunResult run() {
    air_start_ = now() + kMillisecond;
    next_ = received_.size();
    for (bool going = true; ended_ < options_.frames && going;) {
      advance(now());
      server_.step(now());
      take_events();
      if (now() < told_) continue;
      told_ = now() + 50 * kMillisecond;
      going = !options_.progress || options_.progress(ended_);
      server_.recover();
      demand_a_device();
    }
    result_.frames.resize(ended_);
    result_.copies = server_.executor().copies();
    return std::move(result_);
  }

 private:
  // Without any for a while, nothing will come of it.
  void demand_a_device() {
    if (server_.any_device()) seen_ = now();
    if (now() - seen_ < kSecond) return;
    throw std::runtime_error("no device is left: " + server_.trouble());
  }

  // Every place of the ring has a frame of its own, again and again.
  void prepare(const RadioPlan& radio) {
    UplinkGenerator generator(frame_, radio);
    for (std::uint16_t slot = 0; slot < frame_.format().ring; ++slot) {
      const FrameRef at{0, slot};
      generator.generate(slot, [&](std::uint32_t symbol, std::uint32_t antenna) {
        return server_.cells().samples(at, symbol, antenna);
      });
      sent_.emplace_back(generator.payload().begin(), generator.payload().end());
      const std::size_t bytes = frame_.payload_bytes(Direction::Downlink);
      if (bytes != 0)
        fill_payload(frame_, radio.seed, Direction::Downlink, slot,
                     {server_.cells().downlink_payload(at), bytes});
    }
  }

  void advance(Tick time) {
    if (next_ < received_.size()) {
      const runtime::Instruction& load = server_.graph(0).graph[received_[next_]];
      if (!options_.at_once && time < air_start_ + frame_.symbol(load.step).end) return;
      server_.feed({0, slot_}, received_[next_], time);
      ++next_;
      last_sample_[slot_] = options_.at_once ? time : air_start_ + frame_.symbol(load.step).end;
      return;
    }
    if (begun_ == options_.frames ||
        (begun_ != 0 && !options_.at_once && time < air_start_ + frame_.duration()))
      return;
    const std::uint16_t slot = server_.board(0).slot(begun_);
    if (server_.board(0).frame(slot).state != runtime::FrameStatus::State::Empty) {
      if (options_.at_once) return;
      air_start_ += frame_.duration();  // there is no room for it
      ++begun_;
      ++ended_;
      return;
    }
    if (options_.at_once && begun_ != ended_) return;
    if (begun_ != 0) air_start_ += frame_.duration();
    begin(slot, time);
  }

  void begin(std::uint16_t slot, Tick time) {
    slot_ = slot;
    last_sample_[slot] = time;
    if (options_.at_once) air_start_ = time;
    const bool admitted = server_.admit({begun_++, 0}, air_start_, time);
    next_ = admitted ? 0 : received_.size();
  }

  void take_events() {
    std::array<FrameEvent, 16> events;
    while (const std::size_t count = server_.poll(0, events))
      for (const FrameEvent& event : std::span(events).first(count)) take(event);
  }

  void take(const FrameEvent& event) {
    if (event.kind == FrameEvent::Kind::Committed || event.kind == FrameEvent::Kind::Missed) return;
    ++ended_;
    if (event.kind == FrameEvent::Kind::Refused) return;
    const FrameRef at{0, event.slot};
    if (event.kind == FrameEvent::Kind::Done) record(at, event);
    if (slot_ == event.slot) next_ = received_.size();  // what has not come is not waited for
    server_.release(at);
  }

  void record(FrameRef at, const FrameEvent& event) {
    GpuFrameRecord& record = result_.frames[event.frame];
    record.done = true;
    record.latency = event.at - last_sample_[at.slot];
    runtime::DeviceMask used;
    for (const auto& status : server_.board(0).statuses(at.slot)) used.set(status.device);
    record.devices = static_cast<std::uint16_t>(used.count());
    const auto blocks = frame_.transport_blocks(Direction::Uplink);
    for (std::uint32_t b = 0; b < blocks.size(); ++b) record.failed += !whole(at, b);
  }

  // It passes its checks and is what was sent.
  bool whole(FrameRef at, std::uint32_t b) const {
    const frame::TransportBlock& block = frame_.transport_blocks(Direction::Uplink)[b];
    const std::uint16_t device = server_.brought_by(at, block.last_symbol);
    return server_.cells().good(at, device, b) &&
           std::memcmp(server_.cells().payload(at, device) + block.payload_offset,
                       sent_[at.slot].data() + block.payload_offset,
                       (frame_.plan(block).A() + 7) / 8) == 0;
  }

  const frame::Frame& frame_;
  const GpuRunOptions& options_;
  frame::GpuServer server_;
  const std::vector<std::uint16_t>& received_;   // Loads of received symbols, in order
  std::vector<std::vector<std::uint8_t>> sent_;  // [slot] payloads
  GpuRunResult result_;
  std::array<Tick, 64> last_sample_{};  // [slot]
  std::uint64_t begun_ = 0, ended_ = 0;
  std::uint16_t slot_ = 0;  // of the newest frame
  std::size_t next_ = 0;    // the symbol of it that comes next, in received_
  Tick air_start_ = 0, told_ = 0, seen_ = now();
};

}  // namespace

GpuRunResult run_on_gpus(const frame::Frame& frame, const RadioPlan& radio,
                         const frame::GpuPool& pool, const GpuRunOptions& options) {
  return Player(frame, radio, pool, options).run();
}

}  // namespace carillon::emulator
