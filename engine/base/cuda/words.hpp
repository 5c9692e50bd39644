// Words that the host and running kernels tell each other through: pinned host memory, which both
// reach at the same address. A kernel reads and writes them over the bus, so seldom.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/cuda/status.hpp"

namespace carillon::cuda {

class Words {
 public:
  Words() = default;
  /// So many, all 0. Making and freeing them may wait for all that runs on the device.
  explicit Words(std::size_t count);
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;
  Words(Words&& other) noexcept;
  Words& operator=(Words&& other) noexcept;
  ~Words();

  const Status& status() const { return status_; }
  std::size_t count() const { return count_; }
  /// For kernels; null when status() says why.
  std::uint32_t* data() const { return data_; }
  std::uint32_t get(std::size_t i) const {
    return std::atomic_ref(data_[i]).load(std::memory_order_acquire);
  }
  void set(std::size_t i, std::uint32_t value) {
    std::atomic_ref(data_[i]).store(value, std::memory_order_release);
  }

 private:
  std::uint32_t* data_ = nullptr;
  std::size_t count_ = 0;
  Status status_;
};

}  // namespace carillon::cuda
