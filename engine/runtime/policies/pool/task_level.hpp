// BigStation's schedule on a pool: a task is one unit of work; when it is ready it goes to the
// device with the least to do, wherever its operands are (MegaStation §3.3, §5.1).
#pragma once

#include "runtime/policies/pool/placement.hpp"

namespace carillon::runtime {

class TaskLevel final : public Placement {
 protected:
  bool arrange(const View& view, FrameRef frame) override;
  void ready(const View& view, std::span<const InstanceId> ids) override;

 private:
  std::uint16_t stream_ = 0;
};

}  // namespace carillon::runtime
