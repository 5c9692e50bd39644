// This machine's GPUs as frame::GpuCells sees them.
#pragma once

#include <deque>
#include <vector>

#include "base/cuda/driver.hpp"
#include "frame/gpu/cells.hpp"

namespace carillon::frame {

class Gpus final : public GpuPlace {
 public:
  /// Devices by their numbers in the pool; partitions of a card are that card each. The driver's
  /// streams say on which SMs graphs are made, while cells are set up.
  Gpus(const std::vector<cuda::Device>& devices, const cuda::Driver& driver);

  GpuMemory& memory(std::uint16_t device) override;
  std::byte* host_room(std::size_t bytes) override;
  void reach(std::span<std::byte> memory) override;
  cuda::Status launch(const GpuTask& task, cuda::Stream stream) noexcept override;
  cuda::Status copy(const GpuPiece& to, const GpuPiece& from, std::uint16_t from_device,
                    cuda::Stream stream) noexcept override;
  GpuOrders as_one(std::uint16_t device, const GpuOrders& orders) override;

 private:
  std::vector<cuda::Device> devices_;
  const cuda::Driver& driver_;
  std::deque<DeviceMemory> memories_;  // [device]
  std::vector<cuda::HostMemory> host_;
  std::deque<cuda::Reach> reached_;
};

}  // namespace carillon::frame
