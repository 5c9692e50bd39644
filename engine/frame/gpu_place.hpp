// This machine's GPUs as frame::GpuCells sees them.
#pragma once

#include <deque>
#include <vector>

#include "frame/gpu_cells.hpp"

namespace carillon::frame {

class Gpus final : public GpuPlace {
 public:
  /// Devices by their numbers in the pool; partitions of a card are that card each.
  explicit Gpus(const std::vector<cuda::Device>& devices);

  GpuMemory& memory(std::uint16_t device) override;
  std::byte* host_room(std::size_t bytes) override;
  void reach(std::span<std::byte> memory) override;
  cuda::Status launch(const GpuTask& task, cuda::Stream stream) noexcept override;
  cuda::Status copy(const GpuPiece& to, const GpuPiece& from, std::uint16_t from_device,
                    cuda::Stream stream) noexcept override;

 private:
  std::vector<cuda::Device> devices_;
  std::deque<DeviceMemory> memories_;  // [device]
  std::vector<cuda::HostMemory> host_;
  std::deque<cuda::Reach> reached_;
};

}  // namespace carillon::frame
