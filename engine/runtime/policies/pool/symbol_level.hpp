// Hydra's schedule on a pool: a step (there: a symbol) is one unit of work, its stages on one
// device, in one stream. What all steps share (there: pilots) stays together; later steps go to the
// devices in proportion to how fast these are, starting where that is (MegaStation §3.3, §5.1).
#pragma once

#include "runtime/policies/pool/placement.hpp"

namespace carillon::runtime {

class SymbolLevel final : public Placement {
 protected:
  void prepare(const View& view) override;
  bool arrange(const View& view, FrameRef frame) override;
  void ready(const View& view, std::span<const InstanceId> ids) override;
  std::uint16_t refuge(const View& view, const InstanceId& id, std::uint16_t from) override;

 private:
  std::uint16_t deal(const View& view, const InstanceId& first, std::uint16_t home);

  std::vector<double> dealt_;  // [device] ns of the frame's later steps
};

}  // namespace carillon::runtime
