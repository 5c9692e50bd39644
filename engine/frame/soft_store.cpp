#include "frame/soft_store.hpp"

#include <algorithm>
#include <cstring>

namespace carillon::frame {
namespace {

// Before a code block's soft bits comes how far they reach.
constexpr std::size_t kHeader = kCacheLine;

std::size_t stride(const phy::TransportPlan& plan) {
  return kHeader + (plan.N() + kCacheLine - 1) / kCacheLine * kCacheLine;
}

}  // namespace

void add_soft(std::int8_t* to, const std::int8_t* from, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i)
    to[i] = static_cast<std::int8_t>(std::clamp(to[i] + from[i], -127, 127));
}

std::size_t kept_bytes(const phy::TransportPlan& plan) { return plan.C() * stride(plan); }

SoftStore::SoftStore(const Frame& frame)
    : processes_(frame.format().grants.harq_processes),
      each_(frame.longest_kept()),
      memory_(bytes(frame)) {}

std::size_t SoftStore::bytes(const Frame& frame) {
  const FrameFormat& f = frame.format();
  return f.users * f.grants.harq_processes * frame.longest_kept();
}

std::size_t SoftStore::place(const TransportBlock& block, const phy::TransportPlan& plan,
                             std::uint32_t index) const noexcept {
  return (std::size_t{block.user} * processes_ + block.harq_process) * each_ + index * stride(plan);
}

void SoftStore::combine(const TransportBlock& block, const phy::TransportPlan& plan,
                        std::uint32_t index, std::int8_t* soft,
                        std::uint32_t& sent) const noexcept {
  const std::int8_t* kept = &memory_[place(block, plan, index)];
  std::uint32_t before;
  std::memcpy(&before, kept, sizeof(before));
  add_soft(soft, kept + kHeader, plan.N());
  sent = std::max(sent, before);
}

void SoftStore::keep(const TransportBlock& block, const phy::TransportPlan& plan,
                     std::uint32_t index, const std::int8_t* soft, std::uint32_t sent) noexcept {
  std::int8_t* kept = &memory_[place(block, plan, index)];
  std::memcpy(kept, &sent, sizeof(sent));
  std::memcpy(kept + kHeader, soft, plan.N());
}

}  // namespace carillon::frame
