// The CUDA devices of this machine, and their memory. Built without nvcc there are none; that a
// machine has no driver or no device is an ordinary state, never an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/cuda/status.hpp"

struct CUgraphExec_st;

namespace carillon::cuda {

struct Device {
  std::uint32_t index = 0;
  std::string name;
  std::uint32_t major = 0, minor = 0;  ///< compute capability
  std::uint32_t sms = 0;
  std::size_t memory_bytes = 0;
  std::uint32_t shared_bytes = 0;  ///< most of one block
  std::string address;             ///< on PCI, as sysfs has it: 0000:3b:00.0
};

/// Compute capability 8.0: what our kernels need.
inline constexpr std::uint32_t kLeastMajor = 8;

struct Machine {
  bool built = false;           ///< with nvcc
  int driver = 0, runtime = 0;  ///< 13000: CUDA 13.0; driver 0: there is none
  std::vector<Device> devices;  ///< that our kernels run on
  std::vector<Device> too_old;
  std::string why;  ///< there are no devices: in words, and what to do; else empty
};

/// Asks the driver, and starts nothing on a device.
Machine look();

/// Makes it the current device of this thread.
Status use(const Device& device);

/// Memory of the current device. Status says what went wrong, and then it is null.
class Memory {
 public:
  Memory() = default;
  explicit Memory(std::size_t bytes);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&& other) noexcept;
  ~Memory();

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  const Status& status() const { return status_; }
  /// All of it to zero; done when it returns, for every stream.
  Status clear();

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  Status status_;
};

/// Memory of the host that every device reaches, zeros. Status as of Memory.
class HostMemory {
 public:
  HostMemory() = default;
  explicit HostMemory(std::size_t bytes);
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  HostMemory(HostMemory&& other) noexcept;
  HostMemory& operator=(HostMemory&& other) noexcept;
  ~HostMemory();

  std::byte* data() const { return data_; }
  const Status& status() const { return status_; }

 private:
  std::byte* data_ = nullptr;
  Status status_;
};

/// Memory of the host that is there already: every device reaches it, at the host's addresses, as
/// long as this lives. Status as of Memory.
class Reach {
 public:
  explicit Reach(std::span<std::byte> memory);
  Reach(const Reach&) = delete;
  Reach& operator=(const Reach&) = delete;
  ~Reach();

  const Status& status() const { return status_; }

 private:
  std::byte* data_;
  Status status_;
};

/// Rows of bytes, their starts a pitch apart.
struct Rows {
  void* at = nullptr;
  std::size_t bytes = 0, pitch = 0, rows = 1;
};

/// From any memory of a device or of HostMemory to any, in order on the stream. Both have as many
/// rows of as many bytes.
Status copy(const Rows& to, const Rows& from, Stream stream);

/// From the host's memory and back, when all that was launched before has ended; there when they
/// return, for every stream.
Status copy_in(void* to, const void* from, std::size_t bytes);
Status copy_out(void* to, const void* from, std::size_t bytes);

/// Launches that are given to a device as one: a symbol's kernels, or a frame's.
class Graph {
 public:
  Graph() = default;
  /// What `launches` puts on its stream, in order. Nothing runs yet. `on`: the stream whose SMs the
  /// kernels will run on, of a partition; where a graph is launched does not decide that.
  explicit Graph(const std::function<Status(Stream)>& launches, Stream on = nullptr);
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  Graph(Graph&& other) noexcept;
  Graph& operator=(Graph&& other) noexcept;
  ~Graph();

  /// What went wrong when it was made; then it cannot be launched.
  const Status& status() const { return status_; }
  Status launch(Stream stream) const;

 private:
  CUgraphExec_st* executable_ = nullptr;
  Status status_;
};

/// What this thread launched last: for measurements, which ask the driver about it.
struct LastLaunch {
  const void* kernel = nullptr;
  std::uint32_t threads = 0, shared_bytes = 0;
};
LastLaunch& last_launch();

/// Waits until all that was launched has ended, and says how.
Status finish();

}  // namespace carillon::cuda
