// The uplink's kernels, one function for each opcode.
#include <algorithm>
#include <array>
#include <bit>
#include <ranges>
#include <span>

#include "base/prefetch.hpp"
#include "frame/cpu/kernels.hpp"
#include "frame/cpu/uplink_call.hpp"
#include "phy/equalize/leave_out.hpp"

namespace carillon::frame {

using phy::Complex;
using phy::kTileLanes;
using phy::Tile;
using runtime::Task;

struct UplinkKernels : UplinkCall {
  using UplinkCall::UplinkCall;

  const PairCombiner* combiner = nullptr;  // of the symbol that is equalized

  /// An item's samples past the prefix; null when its packet is missing.
  const std::int16_t* samples_of(std::uint16_t item) const {
    if ((item & runtime::kMissing) != 0) return nullptr;
    return slot.samples[std::size_t{task.step} * p.antennas_ + item] +
           2 * frame.symbol(task.step).prefix;
  }

  template <typename Chunk>
  void for_antennas(Chunk&& chunk) {
    const std::uint32_t end = task.first + task.count;
    for (std::uint32_t i = task.first; i < end; ++i) {
      worker.ofdm.next = i + 1 < end ? samples_of(task.arrived[i + 1]) : nullptr;
      const std::uint32_t antenna = task.arrived[i] & ~runtime::kMissing;
      absent(task.step)[antenna] = samples_of(task.arrived[i]) == nullptr && p.source_ == nullptr;
      chunk(antenna, samples_of(task.arrived[i]));
    }
  }

  void pilot_fft() {
    const std::uint32_t ordinal = frame.symbol(task.step).ordinal;
    const std::uint32_t place = frame.place_of_pilot(task.step);
    const std::uint32_t users = users_of_pilot(place);
    const std::size_t stride = std::size_t{p.users_} * p.tile_stride();
    Tile* const of_first_user = channels() + std::size_t{place} * frame.comb() * p.tile_stride();
    for_antennas([&](std::uint32_t antenna, const std::int16_t* samples) {
      Tile* const csi = of_first_user + antenna;
      for (std::uint32_t t = 0; t < p.csi_tiles_; ++t)
        for (std::uint32_t u = 0; u < users; ++u)
          fetch_to_store(csi + t * stride + std::size_t{u} * p.tile_stride(), sizeof(Tile));
      float noise = -1;
      if (p.source_ != nullptr)
        noise = p.source_->pilot_row(task.step, antenna, worker.row.data());
      else if (samples == nullptr)
        std::fill(worker.row.begin(), worker.row.end(), Tile{});
      else
        noise = p.ofdm_.receive_pilot(frame.ofdm(), samples, frame.pilot_division().data(),
                                      worker.row.data(), worker.ofdm);
      slot.noise[std::size_t{ordinal} * p.antennas_ + antenna] = noise;
      if (users == 0) return;
      p.estimate_.estimate_all(p.comb_plan_, worker.row.data(), users, csi, p.tile_stride(),
                               stride);
      if (p.deviation_plans_.empty() || antenna >= phy::kDeviationAntennas * users) return;
      const std::uint32_t user = antenna % users;
      slot.deviation[std::size_t{ordinal} * p.antennas_ + antenna] =
          deviation(p.comb_plan_.plan(user), csi + std::size_t{user} * p.tile_stride(), stride);
    });
  }

  /// Of the pilots in worker.row.
  phy::GroupDeviation deviation(const phy::EstimatePlan& plan, const Tile* csi,
                                std::size_t stride) const {
    phy::GroupDeviation sum;
    if (plan.comb() > 1) sum = p.estimate_.change(plan, worker.row.data());
    if (plan.group() > 1) sum.add(p.estimate_.deviation(plan, worker.row.data(), csi, stride));
    return sum;
  }

  void uplink_fft() {
    if (!program.anyone_in(task.step))
      for_antennas([](std::uint32_t, const std::int16_t*) {});
    else if (p.source_ != nullptr)
      p.source_->uplink_grid(task.step, grid_of(slot.grid));
    else if (p.uplink_ == Precision::Fp16)
      receive(p.ofdm_.receive_half, grid_of(slot.half_grid));
    else
      receive(p.ofdm_.receive, grid_of(slot.grid));
  }

  template <typename Receive, typename T>
  void receive(Receive kernel, T* grid) {
    for_antennas([&](std::uint32_t antenna, const std::int16_t* samples) {
      if (samples != nullptr)
        kernel(frame.ofdm(), samples, grid + antenna, p.tile_stride(), worker.ofdm);
      else
        for (std::uint32_t t = 0; t < frame.tiles(); ++t)
          grid[std::size_t{t} * p.tile_stride() + antenna] = T{};
    });
  }

  /// The task's symbol among a slot's grids.
  template <typename T>
  T* grid_of(AlignedArray<T>& grids) const {
    const std::size_t place = frame.symbol(task.step).ordinal % kReceivedGrids;
    return &grids[place * frame.tiles() * p.tile_stride()];
  }

  void equalize_demodulate() {
    combiner = &slot.combiners->of[frame.combiner_of(program, task.step)];
    find_missing();
    for (std::uint32_t t = task.first; t < task.first + task.count; t += kTilesAtOnce) {
      const std::uint32_t count = std::min(kTilesAtOnce, task.first + task.count - t);
      for (std::uint32_t i = 0; i < count; ++i) {
        fetch_soft(t, count, i);
        equalize(t + i, received(t + i), &worker.equalized[std::size_t{i} * p.users_]);
        if (worker.lost || worker.missing_count > 0) make_do_without(t + i, i);
      }
      demodulate(t, count);
    }
  }

  UserTiles tiles_of_user(std::uint32_t first, std::uint32_t count, std::uint32_t user) const {
    const std::size_t noise_stride = std::size_t{p.users_} * kTileLanes;
    return {.first = first,
            .count = count,
            .s = &worker.equalized[user],
            .stride = p.users_,
            .noise = noise_from(first) + user * kTileLanes,
            .noise_stride = noise_stride};
  }

  // Where the soft bits go of the i-th share of allocations, beside the equalization of the i-th
  // tile.
  void fetch_soft(std::uint32_t first, std::uint32_t count, std::uint32_t i) {
    const auto all = program.allocations(task.step);
    const std::size_t begin = all.size() * i / count, end = all.size() * (i + 1) / count;
    for (const Allocation& a : all.subspan(begin, end - begin))
      for_soft_runs(
          program, Direction::Uplink, a, tiles_of_user(first, count, a.user),
          [&](std::uint32_t block) { return soft_of(block); },
          [&](phy::Modulation, const phy::SoftRun& run) { p.demap_.fetch(run); });
  }

  // The antennas that the symbol's packets are missing of, but for those that the combiner does
  // without anyway.
  void find_missing() {
    worker.missing_count = 0;
    worker.lost = false;
    const std::uint8_t* const here = absent(task.step);
    if (std::count(here, here + p.antennas_, 0) == static_cast<std::ptrdiff_t>(p.antennas_)) return;
    std::uint32_t left = choose_antennas(), found = 0;
    for (std::uint32_t a = 0; a < p.antennas_; ++a) {
      if (here[a] == 0 || worker.left_out[a] != 0) continue;
      if (found < phy::kMostLeftOut) worker.missing[found] = a;
      ++found;
    }
    left -= found;
    worker.lost = found > phy::kMostLeftOut || left < p.together_;
    worker.missing_count = worker.lost ? 0 : found;
    const float received = mean_noise();
    measure_residuals(received);
    worker.received_noise = received;
  }

  // A tile's symbols, the i-th at once, as the combiner of the antennas that are there yields them.
  // A column of a combiner, whatever it is kept in, is what it makes of an impulse.
  void make_do_without(std::uint32_t tile, std::uint32_t i) {
    Tile* const s = &worker.equalized[std::size_t{i} * p.users_];
    const std::size_t row = std::size_t{p.users_} * kTileLanes;
    float* const noise = &worker.changed_noise[i * row];
    if (worker.lost) return phy::erase(p.users_, s, noise);
    std::copy_n(&combiner->post_noise[tile * row], row, noise);
    for (std::uint32_t m = 0; m < worker.missing_count; ++m) {
      const std::size_t at = std::size_t{m} * p.users_;
      set_impulse(worker.missing[m], true);
      equalize(tile, {worker.impulse.data(), worker.half_impulse.data()}, &worker.columns[at]);
      set_impulse(worker.missing[m], false);
      channel_of(tile, worker.missing[m], &worker.channels[at]);
    }
    add_residual(noise, -1);  // it is no antenna's
    const auto there =
        program.pairing(task.step).at(tile / p.group()) | std::views::transform(&PairedUser::user);
    phy::leave_out(frame.format().combiner.kind, p.users_, worker.missing_count,
                   combining_noise(worker.received_noise, there), worker.channels.data(),
                   worker.columns.data(), s, noise);
    add_residual(noise, 1);
  }

  void set_impulse(std::uint32_t antenna, bool on) {
    constexpr std::uint16_t kHalfOne = 0x4c00;  // as received tiles have it
    static_assert(phy::kHalfScale == 16);
    if (p.uplink_ == Precision::Fp16)
      std::ranges::fill(worker.half_impulse[antenna].at,
                        phy::HalfComplex{on ? kHalfOne : std::uint16_t{0}, 0});
    else
      std::ranges::fill(worker.impulse[antenna].re, on ? 1.0F : 0.0F);
  }

  // An antenna's channel to all users in a tile: of its subcarriers' groups.
  void channel_of(std::uint32_t tile, std::uint32_t antenna, Tile* h) {
    const std::uint32_t group = p.group();
    const Pairing& pairing = program.pairing(task.step);
    for (std::uint32_t u = 0; u < p.users_; ++u) {
      const std::size_t row = std::size_t{tile / group} * p.users_ + u;
      const Tile& from = channels()[row * p.tile_stride() + antenna];
      const std::uint32_t in = pairing.lanes_of(tile / group, u);
      for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
        const std::uint32_t of = (kTileLanes * (tile % group) + lane) / group;
        h[u].re[lane] = (in >> of & 1) != 0 ? from.re[of] : 0;
        h[u].im[lane] = (in >> of & 1) != 0 ? from.im[of] : 0;
      }
    }
  }

  /// The variance of a tile's symbols and those after it. [tile][user][16]
  const float* noise_from(std::uint32_t tile) const {
    if (worker.lost || worker.missing_count > 0) return worker.changed_noise.data();
    return &combiner->post_noise[std::size_t{tile} * p.users_ * kTileLanes];
  }

  /// A tile of all antennas; one of the two.
  struct Row {
    const Tile* single;
    const phy::HalfTile* half;
  };
  Row received(std::uint32_t tile) const {
    const std::size_t row = tile * p.tile_stride();
    if (p.uplink_ == Precision::Fp16) return {nullptr, grid_of(slot.half_grid) + row};
    return {grid_of(slot.grid) + row, nullptr};
  }

  void equalize(std::uint32_t tile, const Row& from, Tile* s) {
    const PairCombiner& c = *combiner;
    const bool shared = p.group() == 16;
    const std::size_t block = shared ? tile : tile / p.group();
    const std::size_t w = block * p.users_ * p.tile_stride(), user = block * p.users_;
    if (p.uplink_ == Precision::Fp16) {
      const phy::HalfTile* y = from.half;
      const float* scale = &c.half_scale[user];
      if (shared)
        p.equalize_.per_tile_half(frame.array(), &c.half_scalars[w], scale, y, s);
      else
        p.equalize_.per_group_half(frame.array(), p.groups_of(tile), &c.half_tiles[w], scale, y, s);
      return;
    }
    const Tile* y = from.single;
    const bool integers = p.uplink_ == Precision::Int16;
    if (integers && shared)
      p.equalize_.per_tile_int16(frame.array(), &c.integers.scalars[w], &c.integers.scale[user], y,
                                 s);
    else if (integers)
      p.equalize_.per_group_int16(frame.array(), p.groups_of(tile), &c.integers.tiles[w],
                                  &c.integers.scale[user * kTileLanes], y, s);
    else if (shared)
      p.equalize_.per_tile(frame.array(), &c.scalars[w], y, s);
    else
      p.equalize_.per_group(frame.array(), p.groups_of(tile), &c.tiles[w], y, s);
  }

  void demodulate(std::uint32_t first, std::uint32_t count) {
    const auto allocations = program.allocations(task.step);
    for (const Allocation& a : allocations)
      demap_tiles(program, Direction::Uplink, a, tiles_of_user(first, count, a.user), p.demap_,
                  [&](std::uint32_t block) { return soft_of(block); });
    const std::uint32_t sampled = p.sampled_tile(slot.frame, task.step);
    if (sampled < first || sampled >= first + count) return;
    std::fill_n(&slot.quality[std::size_t{frame.symbol(task.step).ordinal} * p.users_], p.users_,
                SymbolQuality{});
    for (const Allocation& a : allocations) {
      const UserTiles tiles = tiles_of_user(first, count, a.user);
      const std::uint32_t i = sampled - first;
      sample(a, sampled, tiles.s[i * tiles.stride], tiles.noise + i * tiles.noise_stride);
    }
  }

  void sample(const Allocation& a, std::uint32_t tile, const Tile& s, const float* noise) {
    const std::uint32_t user = a.user, lanes = lanes_in(a, tile);
    if (lanes == 0) return;
    const std::uint32_t ordinal = frame.symbol(task.step).ordinal;
    const auto& plan = program.plan(program.transport_blocks(Direction::Uplink)[a.transport_block]);
    const bool kept = user == p.sampled_user(slot.frame);
    float variance = 0;
    for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
      if ((lanes >> lane & 1) == 0) continue;
      variance += noise[lane];
      if (!kept) continue;
      slot.constellation[ordinal].re[lane] = s.re[lane];
      slot.constellation[ordinal].im[lane] = s.im[lane];
    }
    SymbolQuality& quality = slot.quality[std::size_t{ordinal} * p.users_ + user];
    quality.error_power += p.demap_.error_power(plan.modulation(), s, lanes);
    quality.noise_power += variance;
    quality.symbols += static_cast<std::uint32_t>(std::popcount(lanes));
  }

  void decode() {
    const Packs& packs = slot.prepared->work.packs[task.step];
    for (std::uint32_t i = task.first; i < task.first + task.count; ++i) decode(packs[i]);
  }

  void decode(std::span<const std::uint32_t> pack) {
    std::array<ReceivedBlock, phy::kMaxPack> blocks;
    for (std::size_t i = 0; i < pack.size(); ++i) {
      blocks[i] = {pack[i], soft_of(pack[i])};
      if (frame.varies()) clear_unsent(map_of(pack[i]), soft_of(pack[i]));
    }
    decode_blocks(program, Direction::Uplink, frame.coding(Direction::Uplink),
                  {blocks.data(), pack.size()}, p.demap_, p.ldpc_,
                  {worker.soft.data(), worker.ldpc}, slot.info.data(), slot.results.data(),
                  &p.soft_store_);
    for (const std::uint32_t index : pack) {
      const std::uint32_t tb = program.code_blocks(Direction::Uplink)[index].transport_block;
      if (program.plan(program.transport_blocks(Direction::Uplink)[tb]).C() > 1) continue;
      assemble(program, Direction::Uplink, tb, slot.info.data(), slot.payload.data());
      slot.good[tb] = slot.results[index].good;
    }
  }

  std::int8_t* soft_of(std::uint32_t code_block) {
    return slot.soft.data() + program.code_blocks(Direction::Uplink)[code_block].coded_offset;
  }
  const phy::SoftMap& map_of(std::uint32_t code_block) const {
    const auto places = program.code_blocks(Direction::Uplink);
    return program.code_block(Direction::Uplink, places[code_block]).map;
  }

  void store() {
    if (slot.elsewhere != nullptr) return slot.elsewhere->bring(task.step, slot);
    const auto blocks = program.assemblies_at(task.step);
    for (std::uint32_t i = task.first; i < task.first + task.count; ++i) {
      const auto& tb = program.transport_blocks(Direction::Uplink)[blocks[i]];
      bool good =
          assemble(program, Direction::Uplink, blocks[i], slot.info.data(), slot.payload.data());
      for (std::uint32_t r = 0; r < program.plan(tb).C(); ++r)
        good = good && slot.results[tb.first_code_block + r].good;
      slot.good[blocks[i]] = good;
    }
  }
};

namespace kernels {

void pilot_fft(void* context, const Task& task) noexcept {
  UplinkKernels(context, task).pilot_fft();
}
void uplink_fft(void* context, const Task& task) noexcept {
  UplinkKernels(context, task).uplink_fft();
}
void equalize_demodulate(void* context, const Task& task) noexcept {
  UplinkKernels(context, task).equalize_demodulate();
}
void decode(void* context, const Task& task) noexcept { UplinkKernels(context, task).decode(); }
void store(void* context, const Task& task) noexcept { UplinkKernels(context, task).store(); }

}  // namespace kernels
}  // namespace carillon::frame
