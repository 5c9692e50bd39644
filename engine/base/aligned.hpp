// Cache-line-aligned arrays, on huge pages where the system has them.
#pragma once

#include <cstddef>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace carillon {

inline constexpr std::size_t kCacheLine = 64;

/// Zeroed memory aligned to a cache line; from 2 MiB up it is aligned to 2 MiB and advised to use
/// huge pages. Throws std::bad_alloc.
void* allocate_aligned(std::size_t bytes);
void free_aligned(void* memory, std::size_t bytes) noexcept;

/// A fixed-size, zero-initialised, move-only array of trivial elements.
template <typename T>
class AlignedArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  AlignedArray() = default;
  explicit AlignedArray(std::size_t size)
      : data_(size == 0 ? nullptr : static_cast<T*>(allocate_aligned(size * sizeof(T)))),
        size_(size) {}
  AlignedArray(AlignedArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  AlignedArray& operator=(AlignedArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~AlignedArray() {
    if (data_ != nullptr) free_aligned(data_, size_ * sizeof(T));
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  std::span<T> span() { return {data_, size_}; }
  std::span<const T> span() const { return {data_, size_}; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace carillon
