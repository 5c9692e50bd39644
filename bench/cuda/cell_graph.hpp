// A frame on a device with the dependencies that a pool's instructions have: a stream for each
// symbol, one for copies each way.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "cuda/bench.hpp"
#include "frame/gpu/frame.hpp"
#include "frame/pool.hpp"

namespace carillon::bench {

class CellGraph {
 public:
  /// The frame outlives it. Samples are noise, so that a decoder never stops early. Ends the
  /// program when there is no memory.
  explicit CellGraph(const frame::Frame& frame);
  CellGraph(const CellGraph&) = delete;
  CellGraph& operator=(const CellGraph&) = delete;
  ~CellGraph();

  std::uint16_t size() const { return pool_.graph.size(); }
  frame::Op op(std::uint16_t id) const { return static_cast<frame::Op>(pool_.graph[id].opcode); }
  /// Of operands and result, each once; of a copy, what it moves.
  double bytes(std::uint16_t id) const;
  /// What it launches; nothing for Load, Store and Modulate.
  std::vector<frame::GpuTask> tasks(std::uint16_t id) const;
  /// The same for all symbols of its kind; nothing for ZeroForce, which has no symbol.
  std::vector<frame::GpuTask> tasks_of_all(std::uint16_t id) const;
  /// Its kernels, or its copy.
  cuda::Status enqueue(std::uint16_t id, cuda::Stream stream);
  /// All of them; `origin` is being captured.
  cuda::Status enqueue_frame(cuda::Stream origin);

 private:
  std::vector<frame::GpuTask> tasks(frame::Op op, std::uint32_t first, std::uint32_t count) const;
  cuda::Status copy(std::uint16_t id, cuda::Stream stream);
  cudaStream_t stream_of(std::uint16_t id) const;

  const frame::Frame& frame_;
  frame::PoolGraph pool_;
  frame::DeviceMemory memory_;
  frame::GpuFrame gpu_;
  OnDevice<std::byte> payload_;  // of a symbol, there and back
  std::byte *to_device_ = nullptr, *from_device_ = nullptr;
  std::vector<cudaStream_t> streams_;  // of the symbols, then for copies there and back
  std::vector<cudaEvent_t> done_;      // [instruction]
  cudaEvent_t begin_ = nullptr;
};

}  // namespace carillon::bench
