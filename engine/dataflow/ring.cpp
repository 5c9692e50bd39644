#include "dataflow/ring.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace carillon::dataflow {
namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

constexpr std::uint64_t kMost = std::uint64_t{1} << 40;  // bytes; more is a mistake

std::size_t bytes_of(std::size_t item_bytes, std::uint64_t items) {
  if (!std::has_single_bit(item_bytes) || items == 0 || items > kMost / item_bytes)
    throw std::invalid_argument("a ring has items of 2^n bytes, and less than a terabyte of them");
  return item_bytes * items;
}

}  // namespace

MirroredMemory::MirroredMemory(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  bytes_ = std::max(std::bit_ceil(bytes), page);
  const int file = memfd_create("carillon-ring", MFD_CLOEXEC);
  if (file < 0) fail("a ring of samples");
  void* place = MAP_FAILED;
  const bool there = ftruncate(file, static_cast<off_t>(bytes_)) == 0 &&
                     (place = mmap(nullptr, 2 * bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                                   0)) != MAP_FAILED;
  data_ = static_cast<std::byte*>(place);
  const auto map = [&](std::byte* at) {
    return mmap(at, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE, file,
                0) != MAP_FAILED;
  };
  const bool mapped = there && map(data_) && map(data_ + bytes_);
  const int error = errno;
  close(file);
  if (mapped) return;
  if (there) munmap(place, 2 * bytes_);
  errno = error;
  fail("a ring of samples");
}

MirroredMemory::~MirroredMemory() { munmap(data_, 2 * bytes_); }

Ring::Ring(std::size_t item_bytes, std::uint64_t items, std::size_t readers, std::uint64_t history)
    : item_bytes_(item_bytes),
      memory_(bytes_of(item_bytes, items + history)),
      capacity_(memory_.bytes() / item_bytes - history),
      readers_(readers) {}

std::uint64_t Ring::room() const {
  const std::uint64_t written = written_.load(std::memory_order_relaxed);
  std::uint64_t held = 0;
  for (std::size_t reader = 0; reader < readers_.size(); ++reader)
    if (const std::uint64_t position = read(reader); position != kGone)
      held = std::max(held, written - position);
  return capacity_ - held;
}

}  // namespace carillon::dataflow
