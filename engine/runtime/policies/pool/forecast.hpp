// How a frame would fare on the devices that its instructions are meant for, event by event: what
// it reads has come, a device is free for the next, it has ended. What other frames have planned on
// devices and links comes first; of the frame's own, a device takes what was issued first, a link
// what comes first.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/policies/pool/costs.hpp"
#include "runtime/policies/pool/links.hpp"
#include "runtime/policies/pool/outlook.hpp"

namespace carillon::runtime {

class Forecast {
 public:
  /// Of an instruction: where it is, and when it ends.
  struct Step {
    std::uint16_t device = kNowhere;
    Tick end = kNever;
    Tick ready = kAlways;       // what it reads is there
    std::uint16_t missing = 0;  // of what it reads
  };

  /// Makes room, once.
  void prepare(const View& view);
  /// What was planned on links before now is over.
  void advance(Tick now);
  /// All of a frame's instructions, to be given a device, and an end if they have one already; what
  /// has no device is no part of it.
  std::span<Step> begin(const View& view, FrameRef frame);
  struct Options {
    /// Frames, this one included, whose input wants the link that all devices share.
    std::uint32_t sharers = 1;
    bool others = true;  ///< count what somebody else keeps of devices
  };
  /// What was planned to be over, and is not: links and devices do it first.
  void set_overdue(const View& view, const InstanceId& id, std::uint16_t device);
  void clear_overdue();
  /// When the frame would be done.
  Tick run(const View& view, FrameRef frame, std::span<const Outlook> devices,
           const Options& options);
  const Step& operator[](std::uint16_t instruction) const { return steps_[instruction]; }
  /// What the last run would have links carry, they will.
  void plan_messages();

 private:
  enum class Kind : std::uint8_t { Ended, Ready, Free };
  struct Event {
    Tick at;
    Kind kind;
    std::uint16_t which;                        // instruction, or device
    bool operator<(const Event& other) const {  // a heap's top is its largest
      return at != other.at       ? at > other.at
             : kind != other.kind ? kind > other.kind
                                  : which > other.which;
    }
  };
  struct Device {
    bool busy = false;
    std::vector<std::uint16_t> waiting;  // ready instructions: a heap, the first issued first
  };
  struct Message {
    std::size_t link = 0;
    Tick start = 0, end = 0;
    double ns = 0;
  };

  void begin_behind(const View& view);
  std::uint32_t ours(const View& view, std::uint16_t device) const;
  void push(Tick at, Kind kind, std::uint16_t which);
  void ready(const View& view, const InstanceId& id, Tick now);
  void dispatch(const View& view, FrameRef frame, std::uint16_t device, Tick now);
  void transfer(const View& view, const InstanceId& id, Tick now);
  void deliver(const View& view, const InstanceId& id);
  Tick carry(std::size_t link, Tick wanted, double ns);

  Links links_;                 // what frames have planned on them
  std::vector<double> behind_;  // [link] ns
  std::vector<double> late_;    // [device] SM·ns
  // Of one run:
  std::span<const Outlook> outlooks_;  // [device]
  Options options_;
  std::vector<Step> steps_;    // [instruction]
  std::vector<Event> events_;  // a heap
  std::vector<Device> devices_;
  std::vector<Tick> lanes_;  // [link] until when it carries the frame's messages
  std::vector<Message> messages_;
  std::vector<Tick> there_;  // [instruction][device] when its result is
};

}  // namespace carillon::runtime
