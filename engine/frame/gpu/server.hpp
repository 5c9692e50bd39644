// A pool of GPUs that serves cells' frames: the cells' graphs, scoreboard, scheduler, policy and
// executor, put together. One thread drives it; nothing of it is simulated.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cuda/driver.hpp"
#include "frame/gpu/cells.hpp"
#include "runtime/scheduler.hpp"

namespace carillon::frame {

/// The devices, all alike, and how they are had once it is known what they need.
struct GpuPool {
  std::string name;
  std::uint16_t devices = 1;
  std::uint32_t sms = 1;  ///< of each
  std::function<std::unique_ptr<cuda::Driver>(const cuda::DriverOptions&)> driver;
  std::function<std::unique_ptr<GpuPlace>(cuda::Driver&)> place;
  Tick patience = 50 * kMillisecond;  ///< for one that has something to do and tells nothing
};

/// Devices of this machine, of which there is one at least.
GpuPool whole_devices(const std::vector<cuda::Device>& devices);
/// As many devices as partitions of a card, for one server. Throws std::runtime_error saying why it
/// cannot be divided so.
GpuPool partitions_of(const cuda::Device& card, std::uint32_t partitions);
/// At most so many of this machine's devices, or its first one's partitions when there are more
/// than one. Throws std::runtime_error saying why it cannot be.
GpuPool this_machines(std::uint32_t partitions, std::size_t most);

class GpuServer {
 public:
  struct Cell {
    const Frame& frame;
    Tick deadline;  ///< of everything, from the frame's start on air
    /// In which packets lie from which devices fetch samples, and which outlives this; empty: they
    /// are put into arrays.
    std::span<std::byte> packets = {};
  };
  /// The frames outlive it. Throws std::invalid_argument naming the policy or key that is
  /// impossible, std::runtime_error when a device fails or has too little memory.
  GpuServer(const GpuPool& pool, const std::vector<Cell>& cells, std::string_view policy);
  /// Waits for devices at most 2 s; what one that hangs still uses is never freed.
  ~GpuServer();
  GpuServer(const GpuServer&) = delete;
  GpuServer& operator=(const GpuServer&) = delete;

  const PoolGraph& graph(std::uint16_t cell) const { return graphs_[cell]; }
  const runtime::SourceBoard& board(std::uint16_t cell) const { return board_[cell]; }
  const GpuCells& cells() const { return *cells_; }
  const runtime::CudaExecutor& executor() const { return *executor_; }
  bool any_device() const;
  /// Instructions that wait for a received symbol, in order.
  const std::vector<std::uint16_t>& received(std::uint16_t cell) const { return received_[cell]; }
  /// Which device brought what a symbol yielded, of a frame that is not released.
  std::uint16_t brought_by(runtime::FrameRef at, std::uint32_t symbol) const {
    return board_[at.source].status(at.slot, stores_[at.source][symbol]).device;
  }

  /// Begins a frame in its empty place; false when it is refused.
  bool admit(runtime::FrameId id, Tick air_start, Tick now);
  /// A symbol's samples lie in cells(): the instruction of received() may begin.
  void feed(runtime::FrameRef at, std::uint16_t instruction, Tick now);
  void abandon(runtime::FrameRef at, Tick now) { scheduler_->abandon(at, now); }
  void release(runtime::FrameRef at) { scheduler_->release(at); }
  void step(Tick now);
  std::size_t poll(std::uint16_t cell, std::span<runtime::FrameEvent> out) noexcept {
    return scheduler_->poll(cell, out);
  }
  /// Asks devices that have failed whether they answer; now and then.
  void recover() noexcept { executor_->recover(); }
  /// How often devices failed, and why first; empty: never.
  std::string trouble() const;
  /// At the end: whether devices have ended what they had, for which it waits 2 s, once. What one
  /// that has not still uses must not be freed: to do so might wait for it for ever.
  bool at_rest();

 private:
  std::vector<PoolGraph> graphs_;  // [cell]
  std::vector<runtime::Arrivals> arrivals_;
  std::unique_ptr<runtime::Policy> policy_;
  runtime::ScoreboardWriter board_;
  std::unique_ptr<GpuPlace> place_;  // outlives the driver, which ends what copies there
  std::unique_ptr<cuda::Driver> driver_;
  std::unique_ptr<GpuCells> cells_;
  std::unique_ptr<runtime::CudaExecutor> executor_;
  std::unique_ptr<runtime::Scheduler> scheduler_;
  std::vector<std::vector<std::uint16_t>> received_, stores_;  // [cell]; of a symbol its Store
  std::vector<std::uint32_t> ones_;
  std::optional<bool> at_rest_;
};

}  // namespace carillon::frame
