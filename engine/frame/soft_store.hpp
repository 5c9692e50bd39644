// Soft bits that outlive a frame: of uplink transport blocks that failed and will be sent again, by
// user and HARQ process.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/aligned.hpp"
#include "frame/frame.hpp"

namespace carillon::frame {

/// to[i] + from[i], saturated to ±127.
void add_soft(std::int8_t* to, const std::int8_t* from, std::size_t count) noexcept;

/// Bytes that a transport block's soft bits take in it.
std::size_t kept_bytes(const phy::TransportPlan& plan);

/// Memory for each process of each user, of which a block has no more than one under way
/// (HarqProcesses): any thread may work on any code block.
class SoftStore {
 public:
  /// None where the cell has no HARQ processes.
  explicit SoftStore(const Frame& frame);

  static std::size_t bytes(const Frame& frame);

  /// Before a code block is decoded: adds what was kept of it to its N soft bits. `sent`: one more
  /// than the last place of which anything was received, now and before.
  void combine(const TransportBlock& block, const phy::TransportPlan& plan, std::uint32_t index,
               std::int8_t* soft, std::uint32_t& sent) const noexcept;
  /// When it was decoded in vain, or others of its transport block may have been.
  void keep(const TransportBlock& block, const phy::TransportPlan& plan, std::uint32_t index,
            const std::int8_t* soft, std::uint32_t sent) noexcept;

 private:
  std::size_t place(const TransportBlock& block, const phy::TransportPlan& plan,
                    std::uint32_t index) const noexcept;

  std::uint32_t processes_;
  std::size_t each_;  // bytes of a process
  AlignedArray<std::int8_t> memory_;
};

}  // namespace carillon::frame
