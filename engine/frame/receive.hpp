// From a user's equalized symbols to payload bits: the same for the base station's uplink and for
// the emulated users' downlink.
#pragma once

#include <algorithm>
#include <cstdint>

#include "frame/frame.hpp"
#include "phy/demap/demap.hpp"
#include "phy/ldpc/ldpc.hpp"

namespace carillon::frame {

/// What decoding found out about one code block.
struct CodeBlockResult {
  phy::DecodeResult decode;
  bool good = false;  // its CRC (without one: every parity check) holds, on what was received
};

struct DecodeScratch {
  std::int8_t* soft;  // as long as the largest code block
  phy::LdpcScratch& ldpc;
};

/// Index of the code block that holds resource element `re` of a transport block.
std::uint32_t code_block_of(const phy::TransportPlan& plan, std::uint32_t re) noexcept;

/// Soft bits of one tile of a user's symbol, whose variance is noise[lane], to the decoders'
/// buffers: soft_of(code block of the direction) → its buffer.
template <typename SoftOf>
void demap_tile(const Frame& frame, Direction direction, const Allocation& a, std::uint32_t tile,
                const phy::Tile& s, const float* noise, const phy::DemapKernels& kernels,
                SoftOf&& soft_of) noexcept {
  const auto& tb = frame.transport_blocks(direction)[a.transport_block];
  const auto& plan = frame.plan(tb);
  std::int8_t planes[phy::kMaxBitsPerSymbol][16];
  kernels.demap(plan.modulation(), s, noise, planes);
  const std::uint32_t begin = std::max(a.first_subcarrier, tile * phy::kTileLanes);
  const std::uint32_t end = std::min(a.first_subcarrier + a.count, (tile + 1) * phy::kTileLanes);
  const std::uint16_t* signs =
      &frame.signs()[a.signs + (tile - a.first_subcarrier / phy::kTileLanes) * plan.Qm()];
  std::uint32_t lane = begin % phy::kTileLanes;
  std::uint32_t re = a.first_re + begin - a.first_subcarrier;
  const std::uint32_t re_end = re + end - begin;
  for (std::uint32_t r = code_block_of(plan, re); re < re_end; ++r) {
    const auto& cb = plan.blocks()[r];
    const std::uint32_t count = std::min(re_end, cb.first_re + cb.re_count) - re;
    kernels.store(cb.map, re - cb.first_re, lane, count, planes, signs,
                  soft_of(tb.first_code_block + r));
    re += count;
    lane += count;
  }
}

/// Decodes code block `index` of a direction from its soft bits into `info` (K bits).
CodeBlockResult decode_block(const Frame& frame, Direction direction, std::uint32_t index,
                             const std::int8_t* soft, const phy::DemapKernels& demap,
                             const phy::LdpcKernels& ldpc, DecodeScratch scratch,
                             std::uint8_t* info) noexcept;

/// Coded bits of a code block (`coded`: E of them, least significant bit first, and
/// phy::kCodedPadding bytes) that the signs of its soft bits give wrong.
std::uint64_t raw_errors(const phy::SoftMap& map, const std::int8_t* soft,
                         const std::uint8_t* coded) noexcept;

/// A transport block's payload from its decoded code blocks (`infos` at info_offset), at its
/// payload_offset. Returns whether the transport block's CRC holds.
bool assemble(const Frame& frame, Direction direction, std::uint32_t transport_block,
              const std::uint8_t* infos, std::uint8_t* payload) noexcept;

}  // namespace carillon::frame
