#include "emulator/gpu_run.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

namespace carillon::emulator {
namespace {

using frame::Direction;
using frame::SymbolKind;
using runtime::FrameEvent;
using runtime::FrameRef;

constexpr Tick kFar = 1000 * kSecond;

// The cells, their devices, and the frames that come.
class Player {
 public:
  Player(const frame::Frame& frame, const RecordedAir& recorded, const frame::GpuPool& pool,
         const GpuRunOptions& options)
      : frame_(frame),
        recorded_(recorded),
        options_(options),
        server_(pool, cells_of(frame, options), options.policy) {
    for (std::uint16_t c = 0; c < options.cells; ++c) {
      airs_.push_back({.cell = c});
      prepare(airs_.back());
    }
    result_.blocks =
        static_cast<std::uint32_t>(frame.program().transport_blocks(Direction::Uplink).size());
    result_.frames.resize(options.frames * options.cells);
  }

  GpuRunResult run() {
    for (Air& air : airs_) {
      air.start = now() + kMillisecond;
      air.next = received(air).size();
    }
    for (bool going = true; ended() < result_.frames.size() && going;) {
      for (Air& air : airs_) advance(air, now());
      server_.step(now());
      for (Air& air : airs_) take_events(air);
      if (now() < told_) continue;
      told_ = now() + 50 * kMillisecond;
      going = !options_.progress || options_.progress(ended());
      server_.recover();
      demand_a_device();
    }
    const auto least = std::ranges::min_element(airs_, {}, &Air::ended);
    result_.frames.resize(least->ended * airs_.size());
    result_.copies = server_.executor().copies();
    return std::move(result_);
  }

 private:
  // A cell's frames as they come.
  struct Air {
    std::uint16_t cell = 0;
    std::uint64_t begun = 0, ended = 0;
    std::uint16_t slot = 0;  // of the newest frame
    std::size_t next = 0;    // the symbol of it that comes next, in received()
    Tick start = 0;
    std::array<Tick, 64> last_sample = {};  // [slot]
  };

  static std::vector<frame::GpuServer::Cell> cells_of(const frame::Frame& frame,
                                                      const GpuRunOptions& options) {
    if (options.cells < 1 || options.cells > runtime::kMaxSources)
      throw std::invalid_argument("cells must be between 1 and " +
                                  std::to_string(runtime::kMaxSources));
    return {options.cells, {frame, options.at_once ? kFar : options.deadline}};
  }
  // Loads of received symbols, in order.
  const std::vector<std::uint16_t>& received(const Air& air) const {
    return server_.received(air.cell);
  }
  std::uint64_t ended() const {
    std::uint64_t all = 0;
    for (const Air& air : airs_) all += air.ended;
    return all;
  }

  // Without any for a while, nothing will come of it.
  void demand_a_device() {
    if (server_.any_device()) seen_ = now();
    if (now() - seen_ < kSecond) return;
    throw std::runtime_error("no device is left: " + server_.trouble());
  }

  // Every place of the ring has a frame of its own, again and again.
  void prepare(const Air& air) {
    for (std::uint16_t slot = 0; slot < recorded_.frames(); ++slot) {
      const FrameRef at{air.cell, slot};
      for (const SymbolKind kind : {SymbolKind::Pilot, SymbolKind::Uplink})
        for (const std::uint32_t symbol : frame_.symbols_of(kind))
          for (std::uint32_t a = 0; a < frame_.format().antennas; ++a)
            std::ranges::copy(recorded_.samples(slot, symbol, a),
                              server_.cells().samples(at, symbol, a));
      if (const auto payload = recorded_.downlink(slot); !payload.empty())
        std::ranges::copy(payload, server_.cells().downlink_payload(at));
    }
  }

  void advance(Air& air, Tick time) {
    if (air.next < received(air).size()) {
      const std::uint16_t load = received(air)[air.next];
      const Tick end = air.start + frame_.symbol(server_.graph(air.cell).graph[load].step).end;
      if (!options_.at_once && time < end) return;
      server_.feed({air.cell, air.slot}, load, time);
      ++air.next;
      air.last_sample[air.slot] = options_.at_once ? time : end;
      return;
    }
    if (air.begun == options_.frames ||
        (air.begun != 0 && !options_.at_once && time < air.start + frame_.duration()))
      return;
    const std::uint16_t slot = server_.board(air.cell).slot(air.begun);
    if (server_.board(air.cell).frame(slot).state != runtime::FrameStatus::State::Empty) {
      if (options_.at_once) return;
      air.start += frame_.duration();  // there is no room for it
      ++air.begun;
      ++air.ended;
      return;
    }
    if (options_.at_once && air.begun != air.ended) return;
    if (air.begun != 0) air.start += frame_.duration();
    begin(air, slot, time);
  }

  void begin(Air& air, std::uint16_t slot, Tick time) {
    air.slot = slot;
    air.last_sample[slot] = time;
    if (options_.at_once) air.start = time;
    const bool admitted = server_.admit({air.begun++, air.cell}, air.start, time);
    air.next = admitted ? 0 : received(air).size();
  }

  void take_events(Air& air) {
    std::array<FrameEvent, 16> events;
    while (const std::size_t count = server_.poll(air.cell, events))
      for (const FrameEvent& event : std::span(events).first(count)) take(air, event);
  }

  void take(Air& air, const FrameEvent& event) {
    if (event.kind == FrameEvent::Kind::Committed || event.kind == FrameEvent::Kind::Missed) return;
    ++air.ended;
    if (event.kind == FrameEvent::Kind::Refused) return;
    const FrameRef at{air.cell, event.slot};
    if (event.kind == FrameEvent::Kind::Done) record(air, at, event);
    if (air.slot == event.slot)
      air.next = received(air).size();  // what has not come is not waited for
    server_.release(at);
  }

  void record(const Air& air, FrameRef at, const FrameEvent& event) {
    GpuFrameRecord& record = result_.frames[event.frame * airs_.size() + air.cell];
    record.done = true;
    record.latency = event.at - air.last_sample[at.slot];
    record.at = event.at;
    runtime::DeviceMask used;
    for (const auto& status : server_.board(air.cell).statuses(at.slot)) used.set(status.device);
    record.devices = static_cast<std::uint16_t>(used.count());
    const auto blocks = frame_.program().transport_blocks(Direction::Uplink);
    for (std::uint32_t b = 0; b < blocks.size(); ++b) record.failed += !whole(at, b);
  }

  // It passes its CRC, if it has one, and is what was sent.
  bool whole(FrameRef at, std::uint32_t b) const {
    const frame::TransportBlock& block = frame_.program().transport_blocks(Direction::Uplink)[b];
    const std::uint16_t device = server_.brought_by(at, block.last_symbol);
    const phy::TransportPlan& plan = frame_.program().plan(block);
    const bool same = std::memcmp(server_.cells().payload(at, device) + block.payload_offset,
                                  recorded_.payload(at.slot).data() + block.payload_offset,
                                  (plan.A() + 7) / 8) == 0;
    return frame::received(plan, server_.cells().good(at, device, b), same);
  }

  const frame::Frame& frame_;
  const RecordedAir& recorded_;
  const GpuRunOptions& options_;
  frame::GpuServer server_;
  std::vector<Air> airs_;  // [cell]
  GpuRunResult result_;
  Tick told_ = 0, seen_ = now();
};

}  // namespace

GpuRunResult run_on_gpus(const frame::Frame& frame, const RecordedAir& air,
                         const frame::GpuPool& pool, const GpuRunOptions& options) {
  return Player(frame, air, pool, options).run();
}

GpuRunResult run_on_gpus(const frame::Frame& frame, const RadioPlan& radio,
                         const frame::GpuPool& pool, const GpuRunOptions& options) {
  return run_on_gpus(frame, RecordedAir(frame, radio), pool, options);
}

}  // namespace carillon::emulator
