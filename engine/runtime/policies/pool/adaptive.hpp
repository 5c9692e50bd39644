// Carillon's schedule for a pool: the granularity is chosen anew for every frame. When a frame
// comes, its course is forecast on one device, on two, and so on, from what every device and every
// link to it has planned and from what the frame's instructions and copies take; it is laid out on
// as many as make it soonest, and on fewer when they are nearly as good. A symbol is issued as a
// whole when its samples are there, so that neither the host nor the signal of a kernel's end is
// waited for.
#pragma once

#include "runtime/policies/pool/placement.hpp"

namespace carillon::runtime {

class Adaptive final : public Placement {
 protected:
  void prepare(const View& view) override;
  void arrange(const View& view, FrameRef frame) override;
  void ready(const View& view, std::span<const InstanceId> ids) override;

 private:
  // A device and its link as a frame's forecast sees them: until when each is taken.
  struct Queue {
    Tick computes = 0, sends = 0, receives = 0;
  };
  struct Step {
    Tick end = 0;
    std::uint16_t device = kNowhere;
  };

  void order(const View& view);
  Tick forecast(const View& view, FrameRef frame, std::uint32_t devices);
  Tick after(const View& view, const InstanceId& id, std::uint16_t device);
  Tick run(const View& view, const InstanceId& id, std::uint16_t device, Tick wanted);
  void lay_out(const View& view, FrameRef frame, Reason why);

  std::vector<std::uint16_t> order_;  // devices that are up, the idlest first
  std::vector<Queue> planned_;        // [device], of the frames so far
  std::vector<Queue> queues_;         // [device], of one forecast
  std::vector<Step> forecast_;        // [instruction], of one forecast
  std::vector<Tick> there_;           // [instruction][device] when its result is, of one forecast
};

}  // namespace carillon::runtime
