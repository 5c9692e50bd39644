#include "fronthaul/gpu/ring.hpp"

#include <new>
#include <stdexcept>

namespace carillon::fronthaul::gpu {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;  // from here on memory is aligned to it

std::size_t pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// Whole pages, and never so little that it would be aligned to a cache line only.
std::size_t whole(std::size_t bytes) { return bytes < kHugePage ? kHugePage : pages(bytes); }

}  // namespace

BlockRing::BlockRing(std::uint32_t slots, std::size_t slot_bytes)
    : slots_(slots), slot_bytes_(slot_bytes), meta_at_(pages(slots * slot_bytes)) {
  if (slots == 0 || slot_bytes == 0 || slot_bytes % 64 != 0)
    throw std::invalid_argument("a ring has slots of a multiple of 64 bytes");
  const std::size_t control_at = meta_at_ + slots * sizeof(BlockMeta);
  bytes_ = AlignedArray<std::byte>(whole(control_at + sizeof(Control)));
  for (std::uint32_t i = 0; i < slots; ++i) new (&meta()[i]) BlockMeta;
  control_ = new (bytes_.data() + control_at) Control;
}

std::optional<std::uint32_t> BlockRing::claim() noexcept {
  const std::uint64_t next = control_->published.load(std::memory_order_relaxed);
  if (next - retired() >= slots_) {
    ++overflows_;
    return std::nullopt;
  }
  return static_cast<std::uint32_t>(next % slots_);
}

void BlockRing::publish() noexcept {
  control_->published.store(control_->published.load(std::memory_order_relaxed) + 1,
                            std::memory_order_release);
}

std::optional<std::uint32_t> BlockRing::oldest() const noexcept {
  const std::uint64_t at = retired();
  if (at == published()) return std::nullopt;
  return static_cast<std::uint32_t>(at % slots_);
}

void BlockRing::retire() noexcept {
  retired_.store(retired_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

}  // namespace carillon::fronthaul::gpu
