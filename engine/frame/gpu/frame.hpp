// What a frame's opcodes are on a GPU: its arrays in a device's memory, and the kernels that each
// opcode launches, for one symbol or for many. The CPU's counterpart is cpu/pipeline.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "base/cuda/device.hpp"
#include "frame/frame.hpp"
#include "frame/opcodes.hpp"
#include "phy/demap/cuda.hpp"
#include "phy/equalize/cuda.hpp"
#include "phy/estimate/cuda.hpp"
#include "phy/ldpc/cuda.hpp"
#include "phy/ofdm/cuda.hpp"
#include "phy/precode/cuda.hpp"
#include "phy/transport/cuda.hpp"
#include "phy/zeroforce/cuda.hpp"

namespace carillon::frame {

/// Whether every uplink code block begins and ends in the same symbol.
bool blocks_within_symbols(const Frame& frame);

/// Into how many parts a frame's zero-forcing can be cut: tiles of 16 combiners.
std::uint32_t most_zero_force_parts(const Frame& frame);

/// Where a frame's arrays lie: on a device, or in tests on the host.
class GpuMemory {
 public:
  virtual ~GpuMemory() = default;
  /// Zeros, kept as long as this. Throws std::runtime_error when there are not so many bytes.
  virtual void* room(std::size_t bytes) = 0;
  /// From the host's memory. Throws std::runtime_error when the device fails.
  virtual void write(void* to, const void* from, std::size_t bytes) = 0;
};

/// Of the current device.
class DeviceMemory final : public GpuMemory {
 public:
  void* room(std::size_t bytes) override;
  void write(void* to, const void* from, std::size_t bytes) override;

 private:
  std::vector<cuda::Memory> pieces_;
};

/// A kernel and all that it is launched with.
using GpuTask =
    std::variant<phy::cuda::GatherTask, phy::cuda::ReceiveTask, phy::cuda::EstimateTask,
                 phy::cuda::DeviationTask, phy::cuda::SurveyTask, phy::cuda::GramTask,
                 phy::cuda::FactorTask, phy::cuda::WeighTask, phy::cuda::ExpandTask,
                 phy::cuda::AntennaPowerTask, phy::cuda::GainTask, phy::cuda::LeaveOutTask,
                 phy::cuda::EqualizeTask, phy::cuda::RecoverTask, phy::cuda::DecodeTask,
                 phy::cuda::DesegmentTask, phy::cuda::EncodeTask, phy::cuda::PrecodeTask,
                 phy::cuda::TransmitTask>;

/// In order on the stream, on the device that the task's arrays are on.
cuda::Status launch(const GpuTask& task, cuda::Stream stream);

/// Memory that tasks leave for others.
using GpuPiece = cuda::Rows;

/// One frame in flight. Tasks only name its arrays: they may be asked for once and launched for
/// every frame.
class GpuFrame {
 public:
  /// Both outlive this. `zero_force_parts`: at most most_zero_force_parts(). Throws what `memory`
  /// throws, and std::invalid_argument for a frame that is not for devices.
  GpuFrame(const Frame& frame, GpuMemory& memory, std::uint32_t zero_force_parts = 1);
  ~GpuFrame();

  /// What an opcode does for `count` symbols of its kind (P: PilotFft, U: UplinkFft,
  /// EqualizeDemodulate, Decode, Store, D: Encode, Precode, Ifft) from the first-th on, in this
  /// order; of blocks that are coded alike, for all of them in as few launches as for one. Of
  /// ZeroForce they are its parts. Modulate is part of Precode, and Load is whoever copies samples.
  /// A transport block is encoded where it begins, whole.
  std::vector<GpuTask> tasks(Op op, std::uint32_t first, std::uint32_t count) const;

  /// Load of a received symbol whose packets [antenna] the device reaches where they lie (prefix
  /// first; null: it did not come), and which are not to be copied. It writes all that results()
  /// has of it, but for prefixes.
  GpuTask gather(SymbolKind kind, std::uint32_t ordinal, const std::int16_t* const* packets) const;

  /// What an opcode leaves of one symbol (its ordinal) or part for those that follow it: as many
  /// and as large pieces in every GpuFrame of the frame. Load: what it brings of a symbol of that
  /// kind; Store: what it takes to the host. Soft bits are pieces by code block, which others must
  /// not add to at the same time elsewhere: see blocks_within_symbols().
  std::vector<GpuPiece> results(Op op, SymbolKind kind, std::uint32_t ordinal) const;

  /// Samples of an antenna in a symbol (P, U or D), prefix first; those that came to nothing are
  /// marked in `missing` [symbol ordinal][antenna] of their kind.
  std::int16_t* samples(std::uint32_t symbol, std::uint32_t antenna) const;
  std::uint8_t* missing(SymbolKind kind) const;
  /// Payloads at TransportBlock::payload_offset.
  std::uint8_t* payload(Direction direction) const;
  /// [uplink transport block] 1: its own CRC holds, or it is a single code block.
  const std::uint8_t* good() const;
  /// For each uplink code block, at result_place(block): what its decoder says, and 1 if it is what
  /// was sent as far as its own checks can tell. A transport block is good when all of these are.
  const phy::DecodeResult* results() const;
  const std::uint8_t* judged() const;
  std::uint32_t result_place(std::uint32_t code_block) const;

 private:
  struct Uplink;
  struct Downlink;
  struct Arrays;

  std::unique_ptr<Arrays> arrays_;
};

}  // namespace carillon::frame
