// Frames of a run's cells that GPUs work on. A baseband unit asks of each frame whether it can be
// had: a pool with GPUs and CPU cores gives each frame to the GPUs if they have room for it, else
// to the cores. What cannot be finished there, since no device is left or they have too much to do,
// is handed back to the cores with all that has come of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "frame/cpu/pipeline.hpp"
#include "frame/gpu/server.hpp"
#include "runtime/runtime.hpp"

namespace carillon::app {

class Accelerator {
 public:
  /// One cell's frames, by their places in its ring.
  class Cell final : public frame::Elsewhere {
   public:
    Cell(Accelerator& owner, std::uint16_t number, const frame::Pipeline& pipeline);
    ~Cell();

    // The baseband unit.
    /// Before the frame begins in the runtime. False: the cores have to do it. `bits`: what the
    /// downlink carries, as of frame::TransportSource.
    bool reserve(std::uint64_t frame, Tick air_start,
                 std::span<const std::uint8_t* const> bits) noexcept;
    /// It has begun there.
    void go(std::uint64_t frame) noexcept;
    /// Samples of a frame that has begun, prefix first, in the memory of the cell's packets, or in
    /// the only device's, until the frame is over. Any thread that keeps the frame's place, once
    /// for each symbol and antenna.
    void arrive(std::uint64_t frame, std::uint32_t symbol, std::uint32_t antenna,
                const std::int16_t* samples) noexcept;
    /// Of a frame that the runtime has dropped: since it was handed back.
    bool handed_back(std::uint64_t frame) const noexcept;
    /// Nobody needs anything of the frame any more. A device that is still at it may fetch samples
    /// of a later frame from where this one's were: nobody looks at what it makes of them.
    void release(std::uint64_t frame) noexcept;
    /// Whether any device is there that may work.
    bool any_device() const noexcept { return owner_.any_device_.load(std::memory_order_relaxed); }
    /// Whether any frame is there, finished or not.
    bool idle() const noexcept;

    void bring(std::uint16_t symbol, frame::FrameSlot& to) noexcept override;
    std::uint32_t missing(std::uint16_t symbol, const frame::FrameSlot& of) const noexcept override;

   private:
    friend class Accelerator;
    struct Place;

    runtime::FrameRef at(std::uint64_t frame) const noexcept;
    Place& place(std::uint64_t frame) const noexcept;
    bool yields_nothing(std::uint32_t symbol) const noexcept;
    bool work(std::uint16_t slot, Tick now) noexcept;
    bool feed(std::uint16_t slot, Tick now) noexcept;
    bool ready(Place& place, std::uint32_t symbol, Tick now) noexcept;
    void hand_back(Place& place) noexcept;
    void take(const runtime::FrameEvent& event) noexcept;
    void bring_block(std::uint32_t transport_block, runtime::FrameRef at, std::uint16_t device,
                     frame::FrameSlot& to) const noexcept;

    Accelerator& owner_;
    const std::uint16_t number_;
    const frame::Frame& frame_;
    const frame::FrameGraph& graph_;
    std::unique_ptr<runtime::Runtime::Source> runtime_;
    std::vector<std::unique_ptr<Place>> places_;  // [slot]
  };

  /// A pipeline that may send frames away, and the host's memory that its packets are received in.
  struct Served {
    const frame::Pipeline& pipeline;
    std::span<std::byte> packets;
  };
  /// By the numbers of their cells in the runtime; pipelines and memory outlive it. Throws what
  /// frame::GpuServer throws.
  Accelerator(const frame::GpuPool& pool, const std::vector<Served>& cells,
              std::string_view policy);

  /// Before the first frame: where results are fed.
  void join(std::uint16_t cell, runtime::Runtime::Source runtime);
  Cell& cell(std::uint16_t number) { return *cells_[number]; }

  /// One thread: a round of what there is to do; whether there was any.
  bool step() noexcept;
  /// Whether there may be something to do now.
  bool busy() const noexcept;
  /// How often devices failed, and why first; empty: never. When no thread is at it.
  std::string trouble() const { return server_.trouble(); }
  /// Likewise: false when what devices use must not be freed.
  bool devices_at_rest() { return server_.at_rest(); }

 private:
  frame::GpuServer server_;
  std::vector<std::unique_ptr<Cell>> cells_;
  std::atomic<bool> any_device_{true};
  Tick asked_ = 0;  // when devices that failed were last asked whether they answer
};

}  // namespace carillon::app
