#include <vector>

#include "fronthaul/gpu/check.inl"
#include "fronthaul/gpu/target.hpp"

namespace carillon::fronthaul::gpu {
namespace {

class HostTarget : public Target {
 public:
  HostTarget(BlockRing& ring, bool sums) : ring_(ring), sums_(sums), checks_(ring.slots()) {}

  std::string take(std::uint32_t slot) override {
    const BlockMeta& meta = ring_.meta()[slot];
    BlockCheck& check = checks_[slot] = {};
    if (sums_)
      inspect_on_host({&meta, reinterpret_cast<const std::uint32_t*>(ring_.payload(slot)),
                       meta.samples, nullptr, &check});
    if (meta.channel < kMostChannels)
      stamp_one(meta, state_[meta.channel], check);
    else
      check.stamp = Stamp::Channel;
    return {};
  }
  std::string finish(std::uint32_t) override { return {}; }
  const BlockCheck& check(std::uint32_t slot) const override { return checks_[slot]; }

 private:
  BlockRing& ring_;
  const bool sums_;
  ChannelState state_[kMostChannels] = {};
  std::vector<BlockCheck> checks_;
};

}  // namespace

std::unique_ptr<Target> make_host_target(BlockRing& ring, bool sums) {
  return std::make_unique<HostTarget>(ring, sums);
}

}  // namespace carillon::fronthaul::gpu
