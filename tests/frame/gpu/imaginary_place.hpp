// Devices that carry out the kernels' own text, with arrays on the host.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "frame/gpu/body.hpp"
#include "frame/gpu/cells.hpp"
#include "support/emulated_cta.hpp"
#include "support/imaginary_devices.hpp"

namespace carillon::test {

// Arrays of the host; every device's begin as garbage.
class ImaginaryPlace final : public frame::GpuPlace {
 public:
  ImaginaryPlace(ImaginaryDevices& gpus, std::uint16_t devices) : gpus_(gpus) {
    for (std::uint16_t d = 0; d < devices; ++d) memories_.push_back(std::make_unique<Memory>());
  }
  frame::GpuMemory& memory(std::uint16_t device) override { return *memories_[device]; }
  std::byte* host_room(std::size_t bytes) override { return host_.emplace_back(bytes).data(); }
  void reach(std::span<std::byte> memory) override { reached_.push_back(memory); }
  /// What was asked for so far.
  std::size_t host_bytes() const {
    std::size_t bytes = 0;
    for (const auto& each : host_) bytes += each.size();
    return bytes;
  }
  std::size_t device_bytes(std::uint16_t device) const { return memories_[device]->bytes(); }
  cuda::Status launch(const frame::GpuTask& task, cuda::Stream stream) noexcept override {
    return add(stream, [this, task] {
      check(task);
      std::visit(
          [](const auto& each) {
            emulate(launch_of(each), Order::Rising,
                    [&](EmulatedCta& cta) { KernelBody{}(cta, each); });
          },
          task);
    });
  }
  cuda::Status copy(const frame::GpuPiece& to, const frame::GpuPiece& from,
                    std::uint16_t from_device, cuda::Stream stream) noexcept override {
    const std::uint16_t reads = from_device == kHost ? ImaginaryDevices::kNobody : from_device;
    return add(
        stream,
        [to, from] {
          for (std::size_t row = 0; row < to.rows; ++row)
            std::memcpy(static_cast<std::byte*>(to.at) + row * to.pitch,
                        static_cast<const std::byte*>(from.at) + row * from.pitch, to.bytes);
        },
        reads);
  }
  /// Fixed now, as a CUDA graph is: whatever the orders would be later, and one order of a stream.
  frame::GpuOrders as_one(std::uint16_t, const frame::GpuOrders& orders) override {
    ++graphs_;
    Recording recording;
    recording_ = &recording;
    (void)orders(nullptr);
    recording_ = nullptr;
    return [this, recording](cuda::Stream stream) {
      return add(
          stream,
          [works = recording.works] {
            for (const auto& work : works) work();
          },
          recording.reads);
    };
  }
  std::uint32_t graphs() const { return graphs_; }
  /// What was in the arrays of a device that died. Tables, which no kernel writes, are put back
  /// when it is set up anew.
  void forget(std::uint16_t device) { memories_[device]->spoil(); }

 private:
  struct Recording {
    std::vector<std::function<void()>> works;
    std::uint16_t reads = ImaginaryDevices::kNobody;
  };
  cuda::Status add(cuda::Stream stream, std::function<void()> work,
                   std::uint16_t reads = ImaginaryDevices::kNobody) {
    if (recording_ == nullptr) return gpus_.add(stream, std::move(work), reads);
    recording_->works.push_back(std::move(work));
    recording_->reads = reads;
    return {};
  }

  // That of the host, only what it reaches is fetched from.
  void check(const frame::GpuTask& task) const {
    const auto* const gather = std::get_if<phy::cuda::GatherTask>(&task);
    for (std::uint32_t a = 0; gather != nullptr && a < gather->antennas; ++a)
      if (const auto* const packet = reinterpret_cast<const std::byte*>(gather->packets[a]);
          packet != nullptr && std::ranges::none_of(reached_, [&](std::span<std::byte> memory) {
            return packet >= memory.data() && packet < memory.data() + memory.size();
          })) {
        std::fputs("a device fetches what it does not reach\n", stderr);
        std::abort();
      }
  }

  class Memory final : public frame::GpuMemory {
   public:
    void* room(std::size_t bytes) override {
      return pieces_.emplace_back(Piece{AlignedArray<std::byte>(bytes), false}).bytes.data();
    }
    void write(void* to, const void* from, std::size_t bytes) override {
      for (Piece& piece : pieces_) piece.table |= piece.bytes.data() == to;
      std::memcpy(to, from, bytes);
    }
    std::size_t bytes() const {
      std::size_t bytes = 0;
      for (const Piece& piece : pieces_) bytes += piece.bytes.size();
      return bytes;
    }
    void spoil() {
      for (Piece& piece : pieces_)
        if (!piece.table) std::memset(piece.bytes.data(), 0x5a, piece.bytes.size());
    }

   private:
    struct Piece {
      AlignedArray<std::byte> bytes;
      bool table;
    };
    std::list<Piece> pieces_;
  };
  ImaginaryDevices& gpus_;
  Recording* recording_ = nullptr;
  std::uint32_t graphs_ = 0;
  std::vector<std::unique_ptr<Memory>> memories_;
  std::list<AlignedArray<std::byte>> host_;
  std::vector<std::span<std::byte>> reached_;
};

}  // namespace carillon::test
