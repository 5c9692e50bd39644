// The memory of a device, handed out in blocks: one free list for each kind of operand, kept on the
// host (MegaStation, appendix A.3). An operand's label becomes an address when it is first needed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace carillon::runtime {

class DeviceMemory {
 public:
  using Address = std::uint64_t;  ///< bytes from the beginning of what was given to it
  static constexpr std::uint64_t kAlignment = 256;

  /// What a block of so many bytes takes.
  static constexpr std::uint64_t rounded(std::uint64_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  /// `sizes`: bytes of a block, by class.
  DeviceMemory(std::uint64_t bytes, std::span<const std::uint64_t> sizes);

  /// Whether so many blocks more, by class, can be held beside all that are reserved.
  bool fits(std::span<const std::uint32_t> blocks) const;
  /// Reserves as many, which must fit. Memory goes to the class that first needs it and stays
  /// there, so that nothing is carved up any more when the load has been seen once.
  void reserve(std::span<const std::uint32_t> blocks);
  /// One block of that class is no longer reserved.
  void release(std::uint32_t of) { --classes_[of].reserved; }

  /// One of the blocks that are reserved: there is one.
  Address take(std::uint32_t of);
  void give(std::uint32_t of, Address block);

  std::uint64_t in_use() const { return in_use_; }
  std::uint64_t most_in_use() const { return most_; }

 private:
  struct Class {
    std::uint64_t size = 0;
    std::uint32_t reserved = 0, blocks = 0;
    std::vector<Address> free;
  };
  /// Blocks that have to be carved out to have so many more.
  static std::uint32_t lacks(const Class& of, std::uint32_t more) {
    const std::uint32_t wanted = of.reserved + more;
    return wanted - std::min(wanted, of.blocks);
  }
  std::vector<Class> classes_;
  std::uint64_t bytes_, carved_ = 0, in_use_ = 0, most_ = 0;
};

}  // namespace carillon::runtime
