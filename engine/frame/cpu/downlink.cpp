// The downlink's kernels, one function for each opcode.
#include <algorithm>

#include "frame/cpu/kernels.hpp"
#include "frame/cpu/worker.hpp"
#include "frame/transmit.hpp"

namespace carillon::frame {

using phy::Tile;
using runtime::Task;

struct DownlinkKernels : KernelCall {
  using KernelCall::KernelCall;

  std::uint32_t ordinal() const { return frame.symbol(task.step).ordinal; }
  Tile* symbols() { return &slot.symbols[std::size_t{ordinal()} * frame.tiles() * p.users_]; }
  Tile* grid() {
    return &slot.downlink_grid[std::size_t{ordinal()} * frame.tiles() * p.tile_stride()];
  }

  void encode() {
    const auto blocks = program.code_blocks_at(task.step);
    for (std::uint32_t i = task.first; i < task.first + task.count; ++i) {
      const auto tb = program.code_blocks(Direction::Downlink)[blocks[i]].transport_block;
      encode_block(program, Direction::Downlink, blocks[i], p.ldpc_, slot.downlink_bits[tb],
                   slot.downlink_coded.data(),
                   {worker.info.data(), worker.codeword.data(), worker.ldpc});
    }
  }

  void modulate() {
    for (std::uint32_t u = task.first; u < task.first + task.count; ++u)
      modulate_user(program, frame.tiles(), Direction::Downlink, task.step, u, p.modulate_,
                    slot.downlink_coded.data(), symbols() + u, p.users_);
  }

  // Of a tile, all users'.
  const Tile* symbols_of(std::uint32_t tile) {
    const Symbol& symbol = frame.symbol(task.step);
    if (!symbol.references) return symbols() + std::size_t{tile} * p.users_;
    if (slot.program == &frame.program())
      return &frame.downlink_reference(symbol.occasion)[std::size_t{tile} * p.users_];
    frame.downlink_reference(program.pairing(task.step), tile, worker.reference.data());
    return worker.reference.data();
  }

  const PairCombiner& precoder() const {
    return slot.precoder->of[frame.first_combiner(frame.symbol(task.step).occasion)];
  }

  void precode() {
    const PairCombiner& c = precoder();
    const std::size_t block = std::size_t{p.users_} * p.tile_stride();
    const bool integers = p.downlink_ == Precision::Int16, shared = p.group() == 16;
    for (std::uint32_t t = task.first; t < task.first + task.count; ++t) {
      Tile* x = grid() + std::size_t{t} * p.tile_stride();
      const Tile* from = symbols_of(t);
      const std::size_t at = shared ? t : t / p.group(), row = at * p.antennas_;
      if (integers && shared)
        p.precode_.per_tile_int16(frame.array(), &c.precoder.scalars[at * block],
                                  &c.precoder.scale[row], from, x);
      else if (integers)
        p.precode_.per_group_int16(frame.array(), p.groups_of(t), &c.precoder.tiles[at * block],
                                   &c.precoder.scale[row * phy::kTileLanes], from, x);
      else if (shared)
        p.precode_.per_tile(frame.array(), &c.scalars[at * block], from, x);
      else
        p.precode_.per_group(frame.array(), p.groups_of(t), &c.tiles[at * block], from, x);
    }
  }

  std::int16_t* samples(std::uint32_t antenna) const {
    return slot.transmit[std::size_t{ordinal()} * p.antennas_ + antenna];
  }

  void ifft() {
    const Symbol& symbol = frame.symbol(task.step);
    const bool empty = carries_data(symbol, Direction::Downlink)
                           ? !program.anyone_in(task.step)
                           : program.pairing(task.step).is_empty();
    if (empty) {
      for (std::uint32_t a = task.first; a < task.first + task.count; ++a)
        std::fill_n(samples(a), 2 * symbol.samples, std::int16_t{0});
      return;
    }
    const float gain = precoder().transmit_gain;
    std::uint32_t saturated = 0;
    for (std::uint32_t a = task.first; a < task.first + task.count; ++a)
      saturated += p.ofdm_.transmit(frame.ofdm(), grid() + a, p.tile_stride(), gain, symbol.prefix,
                                    samples(a), worker.ofdm);
    if (saturated > 0 && !task.rehearsal)
      slot.saturated.fetch_add(saturated, std::memory_order_relaxed);
  }
};

namespace kernels {

void encode(void* context, const Task& task) noexcept { DownlinkKernels(context, task).encode(); }
void modulate(void* context, const Task& task) noexcept {
  DownlinkKernels(context, task).modulate();
}
void precode(void* context, const Task& task) noexcept { DownlinkKernels(context, task).precode(); }
void ifft(void* context, const Task& task) noexcept { DownlinkKernels(context, task).ifft(); }

}  // namespace kernels
}  // namespace carillon::frame
