// From payload bits to a user's constellation symbols: the same for the base station's downlink and
// for the emulated users' uplink.
#pragma once

#include <cstddef>
#include <cstdint>

#include "frame/frame.hpp"
#include "phy/ldpc/ldpc.hpp"
#include "phy/modulate/modulate.hpp"

namespace carillon::frame {

/// Power of the loudest antenna's samples: -12 dBFS leaves an OFDM signal's peaks unclipped.
inline constexpr float kTransmitPower = 0.0631F;

/// Working memory for one thread: info and codeword as long as the largest code block's.
struct EncodeScratch {
  std::uint8_t* info;
  std::uint8_t* codeword;
  phy::LdpcScratch& ldpc;
};

/// Code block `index` of a direction: `bits` are those of its transport block, most significant
/// first; `coded` is a frame's coded memory laid out as the downlink's (coded_offset; for the
/// uplink use `coded` sized by FrameProgram::coded_bytes, whose places are larger than needed).
void encode_block(const FrameProgram& program, Direction direction, std::uint32_t index,
                  const phy::LdpcKernels& ldpc, const std::uint8_t* bits, std::uint8_t* coded,
                  EncodeScratch scratch) noexcept;

/// One user's tiles of one data symbol, symbols[t * stride] of `tiles`; those without allocation
/// become zero.
void modulate_user(const FrameProgram& program, std::uint32_t tiles, Direction direction,
                   std::uint32_t symbol, std::uint32_t user, const phy::ModulateKernels& kernels,
                   const std::uint8_t* coded, phy::Tile* symbols, std::size_t stride) noexcept;

}  // namespace carillon::frame
