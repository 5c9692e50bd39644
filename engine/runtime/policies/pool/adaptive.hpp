// Carillon's schedule for a pool: the granularity is chosen anew for every frame. When a frame
// comes, its course is forecast from a home of each type of device, on it alone, with another one,
// and so on, from what every device and every link to it has planned and from what the frame's
// instructions and copies take; it is laid out on as many as make it soonest, and on fewer when
// they are nearly as good. The parts of its zero-forcing are shared only by devices that are idle:
// what one frame gains by that, others lose to copies. A symbol is issued as a whole when its
// samples are there, or behind what it waits for when it receives none, so that neither the host
// nor the signal of a kernel's end is waited for. A frame that could not be in time is refused:
// what it would cost serves the others.
#pragma once

#include "runtime/policies/pool/placement.hpp"

namespace carillon::runtime {

class Adaptive final : public Placement {
 public:
  void committed(const View& view, const InstanceId& id) override;
  void ended(const View& view, FrameRef frame) override;
  void changed(const View& view, std::uint16_t device) override;

 protected:
  void prepare(const View& view) override;
  bool arrange(const View& view, FrameRef frame) override;
  void ready(const View& view, std::span<const InstanceId> ids) override;
  std::uint16_t refuge(const View& view, const InstanceId& id, std::uint16_t from) override;
  void moved(const View& view, const InstanceId& id) override;

 private:
  // A frame's use of a link, in shares of it.
  struct Message {
    std::size_t link = 0;
    Tick start = 0, end = 0;
    std::uint32_t share = 0;
  };
  // A frame that has lost a device.
  struct Rescue {
    Tick now = kNever;
    std::uint16_t cell = 0, slot = 0, from = 0;
    bool operator==(const Rescue&) const = default;
  };
  struct Step {
    Tick end = 0;
    std::uint16_t device = kNowhere;
  };
  // Where a frame begins (its place in order_), on how many devices its symbols are, and whether
  // the parts of what is before them are.
  struct Layout {
    std::uint32_t home = 0, devices = 1;
    bool apart = false;
  };

  void order(const View& view);
  bool needs_no_other_symbol(const View& view, const InstanceId& id);
  static bool up(const View& view, std::uint16_t device);
  Layout most_useful(const View& view, FrameRef frame);
  bool first_of_type(const View& view, std::uint32_t place) const;
  std::uint16_t device_of(const Layout& layout, std::uint32_t turn) const;
  static std::uint32_t coming(const View& view, FrameRef frame);
  Tick forecast(const View& view, FrameRef frame, const Layout& layout);
  void find_wanted(const View& view, FrameRef frame);
  void assign(const View& view, FrameRef frame, const Layout& layout);
  Tick after(const View& view, const InstanceId& id, std::uint16_t device);
  Tick run(const View& view, const InstanceId& id, std::uint16_t device, Tick wanted);
  Tick carry(std::size_t link, Tick wanted, double ns);
  // A device's link to the others, each way; past the last device, the link that all share.
  static std::size_t sends(std::uint16_t device) { return std::size_t{2} * device; }
  static std::size_t receives(std::uint16_t device) { return std::size_t{2} * device + 1; }
  void plan_messages();
  void expect_forecast(const View& view, const InstanceId& id);
  void lay_out(const View& view, FrameRef frame, Reason why);

  std::vector<std::vector<bool>> fed_;  // [cell][step] whether it receives samples
  std::vector<std::uint16_t> order_;    // devices that are up, the idlest first
  std::vector<Tick> late_;              // [device] how far behind its plan
  Tick margin_ = 0;                     // before the deadline, of what is admitted
  std::uint32_t sharers_ = 1;           // of what all devices share, the frame among them
  std::vector<Outlook> links_;          // [link] what frames have planned on it
  // Of one forecast:
  std::vector<Tick> computes_;  // [device] until when it works for the frame
  std::vector<Tick> lanes_;     // [link] until when it carries the frame's messages
  std::vector<Message> messages_;
  std::vector<bool> wanted_;    // [instruction]
  std::vector<Step> forecast_;  // [instruction]
  std::vector<Tick> there_;     // [instruction][device] when its result is
  Rescue rescue_;               // that it was made for
};

}  // namespace carillon::runtime
