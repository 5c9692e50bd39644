#include <cuda_runtime.h>

#include <algorithm>
#include <utility>

#include "base/cuda/words.hpp"

namespace carillon::cuda {

Words::Words(std::size_t count) : count_(count) {
  void* data = nullptr;
  status_ = Status(
      cudaHostAlloc(&data, count * sizeof(*data_), cudaHostAllocMapped | cudaHostAllocPortable));
  if (!status_.ok()) return;
  data_ = static_cast<std::uint32_t*>(data);
  std::fill_n(data_, count, 0);
}

Words::Words(Words&& other) noexcept { *this = std::move(other); }

Words& Words::operator=(Words&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(count_, other.count_);
  std::swap(status_, other.status_);
  return *this;
}

Words::~Words() {
  if (data_ != nullptr) (void)cudaFreeHost(data_);
}

}  // namespace carillon::cuda
