// The memory of the frames in flight and the kernels that work on it: what a frame's task graph
// means on a CPU. combine.cpp, uplink.cpp and downlink.cpp hold one function for each opcode.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/aligned.hpp"
#include "frame/frame.hpp"
#include "frame/graph.hpp"
#include "frame/opcodes.hpp"
#include "frame/receive.hpp"
#include "frame/soft_store.hpp"
#include "phy/demap/demap.hpp"
#include "phy/equalize/equalize.hpp"
#include "phy/estimate/estimate.hpp"
#include "phy/ldpc/ldpc.hpp"
#include "phy/modulate/modulate.hpp"
#include "phy/ofdm/ofdm.hpp"
#include "phy/precode/precode.hpp"
#include "phy/zeroforce/zeroforce.hpp"
#include "runtime/opcode.hpp"

namespace carillon::frame {

/// Measured on the one tile of a symbol that is sampled. [user]
struct SymbolQuality {
  float error_power = 0;  // Σ|s - nearest constellation point|²
  float noise_power = 0;  // Σ predicted variance
  std::uint32_t symbols = 0;
};

/// A combiner or precoder in 16-bit integers.
struct Int16Matrix {
  AlignedArray<phy::Int16Tile> tiles;       // [CSI tile][user][antenna], group < 16
  AlignedArray<phy::Int16Complex> scalars;  // [tile][user][antenna], group 16
  AlignedArray<float> scale;                // [tile][row]; of tiles [CSI tile][row][16]
};

/// The combiner of one pairing of a frame, and as its transpose the precoder.
struct PairCombiner {
  // In single precision for the directions that have no other.
  AlignedArray<phy::Tile> tiles;       // [CSI tile][user][antenna], group < 16
  AlignedArray<phy::Complex> scalars;  // [tile][user][antenna], group 16
  AlignedArray<phy::HalfTile> half_tiles;
  AlignedArray<phy::HalfComplex> half_scalars;
  AlignedArray<float> half_scale;     // [tile][user]; of tiles [CSI tile][user]
  Int16Matrix integers;               // rows are users
  Int16Matrix precoder;               // rows are antennas; of a pairing that sends
  AlignedArray<float> post_noise;     // [tile][user][16]
  AlignedArray<float> antenna_power;  // likewise; [CSI tile][antenna]: Σ|w|²
  float transmit_gain = 0;            // likewise
  std::atomic<std::uint32_t> chunks_done{0};
};

/// All combiners of one frame; kept longer than it when the downlink uses older channels. Not
/// written anew while a slot names them.
struct Combiners {
  static constexpr std::uint64_t kIncomplete = ~0ULL;

  std::vector<PairCombiner> of;  // [combiner] see Frame::combiner_of
  /// Whose they are, once the first of the last pilot occasion, which later frames precode with, is
  /// complete.
  std::atomic<std::uint64_t> frame{kIncomplete};
  /// Groups of subcarriers whose combiner was regularised, or which have a user without a channel.
  std::atomic<std::uint32_t> ill_conditioned{0};
};

class Elsewhere;

/// What the kernels make of a program, before any frame has it.
struct Prepared {
  const FrameProgram* program = nullptr;
  ProgramWork work;
  std::vector<std::uint32_t> uplink_only;  // [instruction] chunks without the downlink
  bool all_together = false;               // all users have one combiner
};

/// One frame in flight. Every array is written by the tasks of one opcode only.
struct FrameSlot {
  std::vector<const std::int16_t*> samples;  // [symbol][antenna], prefix included; see set_samples
  AlignedArray<phy::Tile> grid;              // [uplink ordinal % kReceivedGrids][tile][antenna]
  AlignedArray<phy::HalfTile> half_grid;     // instead, in half precision
  AlignedArray<phy::Tile> csi;               // [occasion][CSI tile][user][antenna]
  AlignedArray<float> noise;                 // [pilot ordinal][antenna]; negative: not measured
  std::vector<std::uint8_t> absent;          // [symbol][antenna]: received without its packet
  std::vector<phy::GroupDeviation> deviation;  // [pilot ordinal][antenna]: of user antenna % users
  AlignedArray<std::int8_t> soft;              // code blocks at CodeBlockPlace::coded_offset
  AlignedArray<std::uint8_t> info;             // code blocks at CodeBlockPlace::info_offset
  AlignedArray<std::uint8_t> payload;          // transport blocks at TransportBlock::payload_offset
  std::vector<CodeBlockResult> results;        // [uplink code block]
  std::vector<std::uint8_t> good;              // [uplink transport block]
  std::vector<SymbolQuality> quality;          // [uplink ordinal][user]
  std::vector<phy::Tile> constellation;  // [uplink ordinal]: the sampled tile of sampled_user()

  std::vector<const std::uint8_t*> downlink_bits;  // [transport block], see TransportSource::take
  AlignedArray<std::uint8_t> downlink_coded;       // code blocks at CodeBlockPlace::coded_offset
  AlignedArray<phy::Tile> symbols;                 // [downlink ordinal][tile][user]
  AlignedArray<phy::Tile> downlink_grid;           // [downlink ordinal][tile][antenna]
  std::vector<std::int16_t*> transmit;             // [downlink ordinal][antenna], prefix included
  std::atomic<std::uint64_t> saturated{0};

  std::uint64_t frame = 0;
  const FrameProgram* program = nullptr;  // what it does
  const Prepared* prepared = nullptr;     // … and how
  Combiners* combiners = nullptr;         // written by this frame
  const Combiners* precoder = nullptr;    // read by this frame's downlink; null: none is ready
  Elsewhere* elsewhere = nullptr;         // who works on this frame; null: these kernels
};

/// Works on whole frames by itself and hands over what their symbols yield.
class Elsewhere {
 public:
  /// Of an uplink symbol, payloads, `good` and `results` of the blocks that end there; of a
  /// downlink symbol, samples to `transmit`. Any worker, once FrameGraph::bring of the symbol was
  /// fed.
  virtual void bring(std::uint16_t symbol, FrameSlot& to) noexcept = 0;
  /// Packets of a received symbol that a frame which is over was done without.
  virtual std::uint32_t missing(std::uint16_t symbol, const FrameSlot& of) const noexcept = 0;

 protected:
  ~Elsewhere() = default;
};

/// Stands in for the uplink's samples and OFDM stages where received subcarriers are known without
/// them.
class SubcarrierSource {
 public:
  /// A P symbol's subcarriers at an antenna, divided by the pilots (frame.pilot_division()), as
  /// phy::OfdmKernels::receive_pilot does; returns the noise's variance.
  virtual float pilot_row(std::uint32_t symbol, std::uint32_t antenna, phy::Tile* row) noexcept = 0;
  /// A U symbol at all antennas → grid[tile * antenna_stride + antenna].
  virtual void uplink_grid(std::uint32_t symbol, phy::Tile* grid) noexcept = 0;

 protected:
  ~SubcarrierSource() = default;
};

class Pipeline {
 public:
  struct Options {
    std::uint32_t workers = 1;
    Isa isa = active_isa();
    /// Null: samples are set. Else it outlives this, for frames that are run serially.
    SubcarrierSource* source = nullptr;
    /// Frames may be sent away.
    bool elsewhere = false;
  };

  Pipeline(const Frame& frame, Options options);
  ~Pipeline();

  const Frame& frame() const { return frame_; }
  const FrameGraph& graph() const { return graph_; }
  /// For runtime::Runtime, with context().
  std::span<const runtime::Opcode> opcodes() const;
  void* context() { return this; }

  std::uint32_t ring() const { return frame_.format().ring; }
  FrameSlot& slot(std::uint64_t frame) { return slots_[frame % ring()]; }

  /// A program of the frame, or one that it has room for; it outlives the result. Any thread.
  Prepared prepare(const FrameProgram& program) const;
  /// That of a frame of this number, see Frame::program.
  const Prepared& prepared(std::uint64_t number) const {
    return prepared_[number % prepared_.size()];
  }

  /// Before a frame's first task, when nothing of its slot's previous frame runs any more: forgets
  /// that one, chooses a precoder. What it does stays until the frame is released. One thread at a
  /// time, whatever the slots.
  void begin(std::uint64_t frame, const Prepared& prepared);
  void begin(std::uint64_t frame) { begin(frame, prepared(frame)); }
  /// After begin(): the frame is worked on elsewhere; its only tasks here bring what comes of it.
  void send_away(std::uint64_t frame, Elsewhere& to) { slot(frame).elsewhere = &to; }
  /// Before a frame that does not follow on what came before: no precoder is known. No frame may be
  /// in flight.
  void forget();
  /// Chunk counts for runtime::Runtime::begin: all that is done here, without the downlink where no
  /// precoder is ready, or of a frame that was sent away what brings its results.
  std::span<const std::uint32_t> chunks(std::uint64_t frame);
  /// Where a packet's samples (prefix first) lie; they must stay until the frame is released.
  void set_samples(std::uint64_t frame, std::uint32_t symbol, std::uint32_t antenna,
                   const std::int16_t* samples) {
    slot(frame).samples[std::size_t{symbol} * antennas_ + antenna] = samples;
  }
  /// What the downlink of a frame carries, and of those that come into its slot after it: a payload
  /// memory (TransportBlock::payload_offset) that stays. Zeros before that.
  void set_downlink(std::uint64_t frame, const std::uint8_t* payload);
  /// Where a downlink symbol's samples go, prefix first. Before the first frame.
  void set_transmit(std::uint32_t slot, std::uint32_t ordinal, std::uint32_t antenna,
                    std::int16_t* samples) {
    slots_[slot].transmit[std::size_t{ordinal} * antennas_ + antenna] = samples;
  }
  /// Where the downlink's bits lie, see TransportSource::take. [transport block]
  std::span<const std::uint8_t*> downlink_bits(std::uint64_t frame);
  /// The user whose constellation a frame samples, and the tile that is sampled in a symbol.
  std::uint32_t sampled_user(std::uint64_t frame) const;
  std::uint32_t sampled_tile(std::uint64_t frame, std::uint32_t symbol) const;

  /// What a direction's combiners or precoders are kept and applied in; received grids are in half
  /// precision with them and else in single. The fastest is the first that suffices (phy::suffices)
  /// of half precision where the processor multiplies in it, integers for many users, and single.
  /// Half precision is for received int16 `samples`, whose range suits it.
  /// None of a direction without symbols.
  static std::optional<Precision> precision(const Frame& frame, Direction direction, Isa isa,
                                            bool samples = true);
  /// Bytes that all frames in flight take: the arrays of their slots and combiners, and one packet
  /// for each symbol and antenna.
  static std::uint64_t footprint(const Frame& frame, Isa isa = active_isa());

 private:
  struct Sizes;
  struct Worker;
  friend struct KernelCall;
  friend struct UplinkCall;
  friend struct UplinkKernels;
  friend struct CombineKernels;
  friend struct DownlinkKernels;

  std::uint32_t tile_stride() const { return frame_.array().antenna_stride; }
  std::size_t csi_size() const { return std::size_t{csi_tiles_} * users_ * tile_stride(); }
  std::uint32_t group() const { return frame_.format().combiner.group; }
  /// Of a tile's subcarriers, where groups are smaller than tiles: CSI tile n is for the tiles
  /// n·group … n·group + group - 1.
  phy::LaneGroups groups_of(std::uint32_t tile) const {
    return {static_cast<std::uint8_t>(group()), static_cast<std::uint8_t>(tile % group())};
  }
  void allocate(FrameSlot& slot, const Sizes& sizes) const;
  void allocate(PairCombiner& combiner, const Sizes& sizes, bool sends) const;
  Combiners& free_combiners();
  const Combiners* find_precoder(std::uint64_t frame) const;

  const Frame& frame_;
  FrameGraph graph_;
  std::uint32_t antennas_, users_;
  std::uint32_t together_;  // users that share a combiner, where most do
  std::uint32_t csi_tiles_;
  SubcarrierSource* source_;
  std::optional<Precision> uplink_, downlink_;
  bool single_;  // combiners are kept in single precision
  const phy::OfdmKernels& ofdm_;
  const phy::EstimateKernels& estimate_;
  const phy::ZeroForceKernels& zero_force_;
  const phy::EqualizeKernels& equalize_;
  const phy::PrecodeKernels& precode_;
  const phy::DemapKernels& demap_;
  const phy::ModulateKernels& modulate_;
  const phy::LdpcKernels& ldpc_;
  phy::CombPlan comb_plan_;
  std::vector<float> estimate_noise_;  // [pilot offset] variance of estimates over the noise's
  std::vector<phy::DeviationPlan> deviation_plans_;  // [pilot offset]; none: no combs, no groups
  AlignedArray<std::uint8_t> zeros_;                 // as long as the longest block of the downlink
  SoftStore soft_store_;
  std::vector<FrameSlot> slots_;
  std::vector<Combiners> combiners_;
  std::vector<Prepared> prepared_;      // [program]
  std::vector<std::uint32_t> brought_;  // [instruction] chunks of frames sent away
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace carillon::frame
