#include "frame/transmit.hpp"

#include <algorithm>

namespace carillon::frame {

using phy::kTileLanes;

void encode_block(const FrameProgram& program, Direction direction, std::uint32_t index,
                  const phy::LdpcKernels& ldpc, const std::uint8_t* bits, std::uint8_t* coded,
                  EncodeScratch scratch) noexcept {
  const auto& place = program.code_blocks(direction)[index];
  const auto& tb = program.transport_blocks(direction)[place.transport_block];
  const auto& plan = program.plan(tb);
  phy::segment(plan, bits, phy::transport_parity(plan, bits), place.index, scratch.info);
  ldpc.encode(plan.code(), scratch.info, scratch.codeword, scratch.ldpc);
  phy::select_bits(plan.blocks()[place.index].map, scratch.codeword, coded + place.coded_offset);
}

namespace {

void modulate(const FrameProgram& program, Direction direction, const Allocation& a,
              const phy::ModulateKernels& kernels, const std::uint8_t* coded, phy::Tile* symbols,
              std::size_t stride) noexcept {
  const auto& tb = program.transport_blocks(direction)[a.transport_block];
  const auto& plan = program.plan(tb);
  const auto places = program.code_blocks(direction).subspan(tb.first_code_block, plan.C());
  const std::uint32_t first_tile = a.first_subcarrier / kTileLanes;
  for (std::uint32_t r = 0; r < plan.C(); ++r) {
    const auto& cb = plan.blocks()[r];
    std::uint32_t re = std::max(cb.first_re, a.first_re);
    const std::uint32_t end = std::min(cb.first_re + cb.re_count, a.first_re + a.count);
    while (re < end) {
      const std::uint32_t k = a.first_subcarrier + re - a.first_re;
      const std::uint32_t tile = k / kTileLanes;
      const std::uint32_t count = std::min(kTileLanes - k % kTileLanes, end - re);
      kernels.modulate(plan.modulation(), coded + places[r].coded_offset, cb.E, re - cb.first_re,
                       k % kTileLanes, count, &program.signs()[a.signs + tile - first_tile],
                       tiles_of(a), &symbols[tile * stride]);
      re += count;
    }
  }
}

}  // namespace

void modulate_user(const FrameProgram& program, std::uint32_t tiles, Direction direction,
                   std::uint32_t symbol, std::uint32_t user, const phy::ModulateKernels& kernels,
                   const std::uint8_t* coded, phy::Tile* symbols, std::size_t stride) noexcept {
  for (std::uint32_t t = 0; t < tiles; ++t) symbols[t * stride] = phy::Tile{};
  for (const Allocation& a : program.allocations(symbol, user))
    modulate(program, direction, a, kernels, coded, symbols, stride);
}

}  // namespace carillon::frame
