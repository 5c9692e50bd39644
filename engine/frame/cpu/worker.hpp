// Working memory of one worker: what its kernels need between loading and storing.
#pragma once

#include <algorithm>
#include <array>

#include "frame/cpu/pipeline.hpp"
#include "phy/equalize/leave_out.hpp"

namespace carillon::frame {

/// Tiles that are equalized before they are demapped: users' soft bits go to memory in longer runs.
/// docs/performance.md has the sweep.
inline constexpr std::uint32_t kTilesAtOnce = 16;

struct Pipeline::Worker {
  /// spreads: combiners are not kept in single precision. pairs: they are not all of all users.
  Worker(const Frame& frame, std::optional<Precision> uplink, std::optional<Precision> downlink,
         bool spreads, bool pairs)
      : ofdm(frame.ofdm()),
        zero_force(frame.format().users),
        row(frame.tiles()),
        combiner(std::size_t{frame.format().users} * frame.array().antenna_stride),
        spread_scalars(spreads && shared(frame) && uplink == Precision::Fp16
                           ? combiner.size() * phy::kTileLanes
                           : 0),
        integers(shared(frame) && (uplink == Precision::Int16 || downlink == Precision::Int16)
                     ? combiner.size()
                     : 0),
        group_scale(std::size_t{std::max(frame.format().antennas, frame.format().users)} *
                    phy::kTileLanes),
        group_noise(std::size_t{frame.format().users} * phy::kTileLanes),
        paired_csi(pairs ? combiner.size() : 0),
        paired(pairs ? combiner.size() : 0),
        paired_noise(pairs ? group_noise.size() : 0),
        left_out(frame.format().antennas),
        residuals(frame.format().users),
        held(frame.format().users),
        equalized(std::size_t{kTilesAtOnce} * frame.format().users),
        reference(frame.format().users),
        impulse(uplink == Precision::Fp16 ? 0 : frame.array().antenna_stride),
        half_impulse(uplink == Precision::Fp16 ? frame.array().antenna_stride : 0),
        columns(std::size_t{phy::kMostLeftOut} * frame.format().users),
        channels(columns.size()),
        changed_noise(std::size_t{kTilesAtOnce} * frame.format().users * phy::kTileLanes),
        soft(phy::LdpcCode{1, 1}.length() * phy::kMaxLanes),
        codeword(phy::LdpcCode{1, phy::kMaxLifting}.length() / 8 + phy::kCodedPadding),
        info(phy::LdpcCode{1, phy::kMaxLifting}.info_bits() / 8) {}

  static bool shared(const Frame& frame) { return frame.format().combiner.group == 16; }

  phy::OfdmScratch ofdm;
  phy::ZeroForceScratch zero_force;
  phy::LdpcScratch ldpc;
  AlignedArray<phy::Tile> row;                 // one antenna's pilot symbol
  AlignedArray<phy::Tile> combiner;            // of one CSI tile, lanes are groups
  AlignedArray<phy::Complex> spread_scalars;   // of its sixteen tiles, before they are rounded
  AlignedArray<phy::Int16Tile> integers;       // of one CSI tile, before they are spread
  AlignedArray<float> group_scale;             // of its rows: users or antennas
  AlignedArray<float> group_noise;             // its post-equalization noise
  AlignedArray<phy::Tile> paired_csi, paired;  // of the users paired in a CSI tile
  AlignedArray<float> paired_noise;
  std::vector<std::uint8_t> left_out;    // [antenna]: has no part in the frame's combiner
  std::vector<phy::Residual> residuals;  // [user] of the frame
  std::vector<phy::HeldResidual> held;   // [user] of the frame
  AlignedArray<phy::Tile> equalized;     // [tile][user]
  AlignedArray<phy::Tile> reference;     // [user] of a tile of the downlink
  // Where packets of the symbol are missing:
  std::array<std::uint32_t, phy::kMostLeftOut> missing;  // antennas, which the combiner counts on
  std::uint32_t missing_count = 0;
  bool lost = false;                // too many for a combiner
  float received_noise = 0;         // … which was made with it
  AlignedArray<phy::Tile> impulse;  // [antenna] a received tile, zeros
  AlignedArray<phy::HalfTile> half_impulse;
  AlignedArray<phy::Tile> columns, channels;  // [missing antenna][user]
  AlignedArray<float> changed_noise;          // [tile][user][16]
  AlignedArray<std::int8_t> soft;             // code blocks whose bits repeat
  AlignedArray<std::uint8_t> codeword;
  AlignedArray<std::uint8_t> info;
};

/// What a kernel works on: the pipeline that is its context, the task's worker and slot.
struct KernelCall {
  Pipeline& p;
  const Frame& frame;
  Pipeline::Worker& worker;
  FrameSlot& slot;
  const FrameProgram& program;
  const runtime::Task& task;

  KernelCall(void* context, const runtime::Task& t)
      : p(*static_cast<Pipeline*>(context)),
        frame(p.frame_),
        worker(*p.workers_[t.worker]),
        slot(p.slots_[t.slot]),
        program(*slot.program),
        task(t) {}
};

}  // namespace carillon::frame
