// LuMaMi's schedule on a pool: a frame is one unit of work, on one device, in one stream; frames go
// to whichever device has the least to do (MegaStation §5.1).
#pragma once

#include "runtime/policies/pool/placement.hpp"

namespace carillon::runtime {

class FrameLevel final : public Placement {
 protected:
  bool arrange(const View& view, FrameRef frame) override;
  void ready(const View& view, std::span<const InstanceId> ids) override;
  std::uint16_t refuge(const View& view, const InstanceId& id, std::uint16_t from) override;
};

}  // namespace carillon::runtime
