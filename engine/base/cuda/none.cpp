// Without nvcc: no device, in words, and nothing that could be asked of one succeeds. device.cu
// takes its place where there is nvcc.
#include <utility>

#include "base/cuda/device.hpp"
#include "base/cuda/driver.hpp"

namespace carillon::cuda {
namespace {

constexpr char kWhy[] = "built without CUDA; ./carillon --with-cuda setup builds with it";

}  // namespace

std::string Status::text() const { return kWhy; }

Machine look() {
  Machine machine;
  machine.why = kWhy;
  return machine;
}

Status use(const Device&) { return kNotBuilt; }

Memory::Memory(std::size_t bytes) : bytes_(bytes), status_(kNotBuilt) {}
Memory::Memory(Memory&& other) noexcept { *this = std::move(other); }
Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(status_, other.status_);
  return *this;
}
Memory::~Memory() = default;
Status Memory::clear() { return kNotBuilt; }

HostMemory::HostMemory(std::size_t) : status_(kNotBuilt) {}
HostMemory::HostMemory(HostMemory&& other) noexcept { *this = std::move(other); }
HostMemory& HostMemory::operator=(HostMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(status_, other.status_);
  return *this;
}
HostMemory::~HostMemory() = default;

Reach::Reach(std::span<std::byte>) : data_(nullptr), status_(kNotBuilt) {}
Reach::~Reach() = default;

Status copy(const Rows&, const Rows&, Stream) { return kNotBuilt; }

Graph::Graph(const std::function<Status(Stream)>&, Stream) : status_(kNotBuilt) {}
Graph::Graph(Graph&& other) noexcept { *this = std::move(other); }
Graph& Graph::operator=(Graph&& other) noexcept {
  std::swap(executable_, other.executable_);
  std::swap(status_, other.status_);
  return *this;
}
Graph::~Graph() = default;
Status Graph::launch(Stream) const { return status_; }

Status copy_in(void*, const void*, std::size_t) { return kNotBuilt; }
Status copy_out(void*, const void*, std::size_t) { return kNotBuilt; }
Status finish() { return kNotBuilt; }

std::unique_ptr<Driver> make_driver(const std::vector<Device>&, const DriverOptions&,
                                    Status& status) {
  status = kNotBuilt;
  return nullptr;
}

std::unique_ptr<Driver> make_driver(Partitions, const Device&, const DriverOptions&,
                                    Status& status) {
  status = kNotBuilt;
  return nullptr;
}

}  // namespace carillon::cuda
