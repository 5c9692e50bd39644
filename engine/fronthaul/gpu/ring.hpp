// Blocks in flight: slots of one piece of page-aligned memory that a driver can register, so that
// samples are received into it, copied from it, or read in it by a GPU; and beside them, in the
// same memory, the side ring of their metadata with the count of blocks published, which a GPU can
// read, too. One thread fills, one empties.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/aligned.hpp"
#include "fronthaul/gpu/block.hpp"

namespace carillon::fronthaul::gpu {

class BlockRing {
 public:
  /// `slot_bytes` is a multiple of 64. Throws std::invalid_argument on what is none, and
  /// std::bad_alloc.
  BlockRing(std::uint32_t slots, std::size_t slot_bytes);
  BlockRing(const BlockRing&) = delete;
  BlockRing& operator=(const BlockRing&) = delete;

  /// The next slot to fill, the same until it is published; none while all are in use, which is
  /// counted.
  std::optional<std::uint32_t> claim() noexcept;
  /// The claimed slot holds a block; whoever sees it published sees all of it.
  void publish() noexcept;
  /// The oldest published slot that is not retired; none when there is none.
  std::optional<std::uint32_t> oldest() const noexcept;
  /// Gives the oldest back.
  void retire() noexcept;

  std::byte* payload(std::uint32_t slot) noexcept { return bytes_.data() + slot * slot_bytes_; }
  BlockMeta* meta() noexcept { return reinterpret_cast<BlockMeta*>(bytes_.data() + meta_at_); }

  std::uint32_t slots() const { return slots_; }
  std::size_t slot_bytes() const { return slot_bytes_; }
  std::uint64_t published() const noexcept {
    return control_->published.load(std::memory_order_acquire);
  }
  std::uint64_t retired() const noexcept { return retired_.load(std::memory_order_acquire); }
  /// How often there was no slot.
  std::uint64_t overflows() const noexcept { return overflows_; }

  /// What to register: payload slots, metadata, count.
  void* memory() noexcept { return bytes_.data(); }
  std::size_t memory_bytes() const { return bytes_.size(); }

 private:
  struct alignas(kCacheLine) Control {
    std::atomic<std::uint64_t> published{0};
  };

  std::uint32_t slots_;
  std::size_t slot_bytes_, meta_at_;
  AlignedArray<std::byte> bytes_;
  Control* control_;
  std::uint64_t overflows_ = 0;  // the filling thread's
  alignas(kCacheLine) std::atomic<std::uint64_t> retired_{0};
};

}  // namespace carillon::fronthaul::gpu
