// BigStation's schedule on a pool: a task is one unit of work; when it is ready it goes to the
// device on which it is expected to end first, behind what that has to do and after the copies of
// what it reads (MegaStation §3.3, §5.1).
#pragma once

#include "runtime/policies/pool/placement.hpp"

namespace carillon::runtime {

class TaskLevel final : public Placement {
 public:
  void changed(const View& view, std::uint16_t device) override;

 protected:
  void prepare(const View& view) override;
  bool arrange(const View& view, FrameRef frame) override;
  void ready(const View& view, std::span<const InstanceId> ids) override;
  std::uint16_t refuge(const View& view, const InstanceId& id, std::uint16_t from) override;

 private:
  std::uint16_t soonest(const View& view, const InstanceId& id);
  void note(const View& view, const InstanceId& id, std::uint16_t device);
  double copies(const View& view, const InstanceId& id, std::uint16_t device);

  std::vector<DeviceMask> there_;  // by instance: where its result is, or is copied to
  std::uint16_t stream_ = 0;
};

}  // namespace carillon::runtime
