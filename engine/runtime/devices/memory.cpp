#include "runtime/devices/memory.hpp"

namespace carillon::runtime {

DeviceMemory::DeviceMemory(std::uint64_t bytes, std::span<const std::uint64_t> sizes)
    : bytes_(bytes) {
  for (const std::uint64_t size : sizes) classes_.push_back({.size = rounded(size), .free = {}});
}

bool DeviceMemory::fits(std::span<const std::uint32_t> blocks) const {
  std::uint64_t more = 0;
  for (std::size_t c = 0; c < blocks.size(); ++c)
    more += lacks(classes_[c], blocks[c]) * classes_[c].size;
  return more <= bytes_ - carved_;
}

void DeviceMemory::reserve(std::span<const std::uint32_t> blocks) {
  for (std::size_t c = 0; c < blocks.size(); ++c) {
    Class& of = classes_[c];
    for (std::uint32_t n = lacks(of, blocks[c]); n > 0; --n) {
      of.free.push_back(carved_);
      carved_ += of.size;
      ++of.blocks;
    }
    of.reserved += blocks[c];
  }
}

DeviceMemory::Address DeviceMemory::take(std::uint32_t of) {
  Class& from = classes_[of];
  const Address block = from.free.back();
  from.free.pop_back();
  in_use_ += from.size;
  most_ = std::max(most_, in_use_);
  return block;
}

void DeviceMemory::give(std::uint32_t of, Address block) {
  classes_[of].free.push_back(block);
  in_use_ -= classes_[of].size;
}

}  // namespace carillon::runtime
