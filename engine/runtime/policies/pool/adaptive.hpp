// Carillon's schedule for a pool: the granularity is chosen anew for every frame. When a frame
// comes, its course is forecast from a home of each type of device, on it alone, with another one,
// and so on, from what every device and every link to it has planned and from what the frame's
// instructions and copies take; it is laid out on as many as make it soonest, and on fewer when
// they are nearly as good (Forecast). What somebody else keeps of a device is learned from the
// times of our kernels there (DeviceStatus::others), and what is behind its plan is done first. A
// step is issued as a whole when its input is there, or behind what it waits for when it
// receives none, so that neither the host nor the signal of a kernel's end is waited for. A frame
// that could not be in time is refused: what it would cost serves the others.
#pragma once

#include "runtime/policies/pool/forecast.hpp"
#include "runtime/policies/pool/placement.hpp"

namespace carillon::runtime {

class Adaptive final : public Placement {
 public:
  void ended(const View& view, FrameRef frame) override;

 protected:
  void prepare(const View& view) override;
  bool arrange(const View& view, FrameRef frame) override;
  void ready(const View& view, std::span<const InstanceId> ids) override;
  std::uint16_t refuge(const View& view, const InstanceId& id, std::uint16_t from) override;
  void moved(const View& view, const InstanceId& id) override;

 private:
  // A frame that has lost a device.
  struct Rescue {
    Tick now = kNever;
    std::uint16_t source = 0, slot = 0, from = 0;
    bool operator==(const Rescue&) const = default;
  };
  // Where a frame begins (its place in order_), on how many devices its steps are, and whether
  // the parts of what is before them are.
  struct Layout {
    std::uint32_t home = 0, devices = 1;
    bool apart = false;
    Tick done = kNever;  // when the frame would be
  };

  void order(const View& view, FrameRef frame);
  void find_overdue(const View& view);
  static bool any_other(const View& view, FrameRef frame);
  bool needs_no_other_step(const View& view, const InstanceId& id);
  Layout most_useful(const View& view, FrameRef frame);
  bool first_of_type(const View& view, std::uint32_t place) const;
  std::uint16_t device_of(const Layout& layout, std::uint32_t turn) const;
  static std::uint32_t coming(const View& view, FrameRef frame);
  Tick forecast(const View& view, FrameRef frame, const Layout& layout, bool others = true);
  void find_wanted(const View& view, FrameRef frame);
  void assign(const View& view, FrameRef frame, const Layout& layout);
  void expect_forecast(const View& view, const InstanceId& id);
  void lay_out(const View& view, FrameRef frame, Reason why);

  std::vector<std::vector<bool>> fed_;  // [source][step] whether it receives input
  std::vector<std::uint16_t> order_;    // devices that are usable, the soonest first
  Tick margin_ = 0;                     // before the deadline, of what is admitted
  std::uint32_t sharers_ = 1;           // of what all devices share, the frame among them
  Forecast forecast_;
  std::vector<Layout> layouts_;
  std::vector<bool> wanted_;  // [instruction] by the frame that is forecast
  std::vector<double> busy_;  // [device] ns that it would be, with all of it
  Rescue rescue_;             // that it was made for
};

}  // namespace carillon::runtime
