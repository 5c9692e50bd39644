// Cells' frames on a pool of GPUs: the arrays of every frame in flight on every device, the kernels
// and copies of each instruction, and what goes to and comes from the host, which has arrays like a
// device's, so that a symbol is one copy; unless devices fetch samples from where their packets
// lie. Made once; nothing of a frame's course allocates. Every place of a cell's ring has arrays of
// its own on every device: no policy finds a device without room, and addresses never change, so
// that the kernels and copies of an instruction, or of a symbol, can be one CUDA graph.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "frame/gpu/frame.hpp"
#include "frame/pool.hpp"
#include "frame/receive.hpp"
#include "runtime/executors/cuda.hpp"

namespace carillon::frame {

/// Orders to a device: on a stream of it.
using GpuOrders = std::function<cuda::Status(cuda::Stream)>;

/// Devices as frames see them: memory, and orders into streams. Behind an interface for tests, in
/// which devices are the host's.
class GpuPlace {
 public:
  virtual ~GpuPlace() = default;
  virtual GpuMemory& memory(std::uint16_t device) = 0;
  /// Host memory that devices reach, zeros, kept as long as this.
  virtual std::byte* host_room(std::size_t bytes) = 0;
  /// Lets devices reach memory that the host has and that outlives this. Throws std::runtime_error
  /// when they cannot.
  virtual void reach(std::span<std::byte> memory) = 0;
  virtual cuda::Status launch(const GpuTask& task, cuda::Stream stream) noexcept = 0;
  /// Rows, from device or host to device or host. `from_device`: whose memory is read.
  virtual cuda::Status copy(const GpuPiece& to, const GpuPiece& from, std::uint16_t from_device,
                            cuda::Stream stream) noexcept = 0;
  static constexpr std::uint16_t kHost = 0xffff;
  /// The same orders, which name the same memory each time, given to a device as one, which is
  /// meant to be cheaper. Throws std::runtime_error when the driver does not take them.
  virtual GpuOrders as_one(std::uint16_t device, const GpuOrders& orders) = 0;
};

/// What a cell is served with.
struct GpuCell {
  const Frame& frame;
  const PoolGraph& graph;
  std::uint32_t ring = 4;
  bool packets = false;  ///< samples are fetched from where they were received, not from arrays
};

class GpuCells final : public runtime::DeviceWork {
 public:
  /// Cells and place outlive it. Throws std::invalid_argument when a cell cannot be served so,
  /// std::runtime_error when a device has too little memory; both say what to do.
  GpuCells(const std::vector<GpuCell>& cells, std::uint16_t devices, GpuPlace& place);
  ~GpuCells() override;

  // The host's side of a frame, by its place in the ring. What is to be read on a device is written
  // before the Load is fed, and stays until the frame is over.
  /// Samples of an antenna in a P or U symbol, prefix first.
  std::int16_t* samples(runtime::FrameRef at, std::uint32_t symbol, std::uint32_t antenna) const;
  /// 1: they came to nothing.
  std::uint8_t& missing(runtime::FrameRef at, std::uint32_t symbol, std::uint32_t antenna) const;
  /// Of a cell with `packets`, instead of both: for each antenna where its samples are, prefix
  /// first, in memory that devices reach; null: nowhere.
  std::span<const std::int16_t*> packets(runtime::FrameRef at, std::uint32_t symbol) const;
  /// What the downlink carries, at TransportBlock::payload_offset.
  std::uint8_t* downlink_payload(runtime::FrameRef at) const;

  // What a device has brought, between the frame's end and its release: from the device that did
  // it (InstructionStatus::device of the symbol's Store).
  /// Whether a transport block is good, as far as its own checks can tell.
  bool good(runtime::FrameRef at, std::uint16_t device, std::uint32_t transport_block) const;
  const std::uint8_t* payload(runtime::FrameRef at, std::uint16_t device) const;
  /// Of a code block of a transport block that ends in the symbol.
  CodeBlockResult result(runtime::FrameRef at, std::uint16_t device,
                         std::uint32_t code_block) const;
  /// Samples of an antenna in a D symbol, prefix first.
  const std::int16_t* radiated(runtime::FrameRef at, std::uint16_t device, std::uint32_t symbol,
                               std::uint32_t antenna) const;

  // For the executor.
  Kind kind(std::uint16_t cell, std::uint16_t instruction) const noexcept override;
  cuda::Status launch(std::span<const runtime::InstanceId> run, std::uint16_t device,
                      cuda::Stream stream) noexcept override;
  cuda::Status copy(const runtime::InstanceId& what, std::uint16_t from, std::uint16_t to,
                    cuda::Stream stream) noexcept override;

 private:
  class Cell;
  std::vector<std::unique_ptr<Cell>> cells_;
  GpuPlace& place_;
};

}  // namespace carillon::frame
