#include "frame/gpu/place.hpp"

#include <memory>
#include <stdexcept>

namespace carillon::frame {
namespace {

void demand(const cuda::Status& status, const char* what) {
  if (!status.ok()) throw std::runtime_error(what + (": " + status.text()));
}

}  // namespace

Gpus::Gpus(const std::vector<cuda::Device>& devices, const cuda::Driver& driver)
    : devices_(devices), driver_(driver), memories_(devices.size()) {}

GpuMemory& Gpus::memory(std::uint16_t device) {
  demand(cuda::use(devices_[device]), devices_[device].name.c_str());
  return memories_[device];
}

std::byte* Gpus::host_room(std::size_t bytes) {
  cuda::HostMemory& piece = host_.emplace_back(bytes);
  demand(piece.status(), "pinned memory of the host");
  return piece.data();
}

void Gpus::reach(std::span<std::byte> memory) {
  demand(reached_.emplace_back(memory).status(), "memory of received packets");
}

cuda::Status Gpus::launch(const GpuTask& task, cuda::Stream stream) noexcept {
  return frame::launch(task, stream);
}

cuda::Status Gpus::copy(const GpuPiece& to, const GpuPiece& from, std::uint16_t,
                        cuda::Stream stream) noexcept {
  return cuda::copy(to, from, stream);
}

GpuOrders Gpus::as_one(std::uint16_t device, const GpuOrders& orders) {
  demand(cuda::use(devices_[device]), devices_[device].name.c_str());
  const auto graph = std::make_shared<cuda::Graph>(orders, driver_.stream(device, 0));
  demand(graph->status(), "a graph of kernels and copies");
  return [graph](cuda::Stream stream) { return graph->launch(stream); };
}

}  // namespace carillon::frame
