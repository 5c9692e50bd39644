#include "base/aligned.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

namespace carillon {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t alignment(std::size_t bytes) { return bytes >= kHugePage ? kHugePage : kCacheLine; }

}  // namespace

void* allocate_aligned(std::size_t bytes) {
  const std::size_t align = alignment(bytes);
  const std::size_t rounded = (bytes + align - 1) / align * align;
  void* memory = std::aligned_alloc(align, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  if (align == kHugePage) madvise(memory, rounded, MADV_HUGEPAGE);
  std::memset(memory, 0, rounded);  // also touches every page before real time starts
  return memory;
}

void free_aligned(void* memory, std::size_t) noexcept { std::free(memory); }

}  // namespace carillon
