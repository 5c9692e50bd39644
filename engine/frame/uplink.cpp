// The uplink's kernels, one function for each opcode.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/prefetch.hpp"
#include "frame/kernels.hpp"
#include "frame/transmit.hpp"
#include "frame/worker.hpp"
#include "phy/equalize/leave_out.hpp"
#include "phy/estimate/held.hpp"

namespace carillon::frame {

using phy::Complex;
using phy::kTileLanes;
using phy::Tile;
using runtime::Task;

struct UplinkKernels : KernelCall {
  using KernelCall::KernelCall;
  static constexpr float kUnitPower = phy::kInt16Norm * phy::kInt16Norm;

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

  /// Whose packets a received symbol was without. [antenna]
  std::uint8_t* absent(std::uint32_t symbol) const {
    return &slot.absent[std::size_t{symbol} * p.antennas_];
  }

  void pilot_fft() {
    const std::uint32_t ordinal = frame.symbol(task.step).ordinal;
    const std::uint32_t first_user = ordinal * frame.comb();
    const std::uint32_t users = users_of_pilot(ordinal);
    const std::size_t stride = std::size_t{p.users_} * p.tile_stride();
    for_antennas([&](std::uint32_t antenna, const std::int16_t* samples) {
      Tile* const csi = slot.csi.data() + std::size_t{first_user} * p.tile_stride() + antenna;
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

  std::uint32_t users_of_pilot(std::uint32_t ordinal) const {
    return std::min(p.users_ - std::min(p.users_, ordinal * frame.comb()), frame.comb());
  }

  void uplink_fft() {
    if (p.source_ != nullptr)
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

  std::uint32_t csi_lanes() const {
    return (frame.ofdm().shape().subcarriers + p.group() - 1) / p.group();
  }

  float mean_noise() const {
    float sum = 0;
    std::uint32_t measured = 0;
    for (const float noise : slot.noise) {
      if (noise < 0) continue;
      sum += noise;
      ++measured;
    }
    return measured == 0 ? 0 : sum / static_cast<float>(measured);
  }

  // An antenna of which a pilot is missing has no part in the combiner: by its other pilots alone
  // it would bring the interference of the users whose pilot is missing. So at least where enough
  // are left to tell users apart. Returns how many have one.
  std::uint32_t choose_antennas() const {
    auto& out = worker.left_out;
    std::ranges::fill(out, std::uint8_t{0});
    for (const auto s : frame.symbols_of(SymbolKind::Pilot))
      for (std::uint32_t a = 0; a < p.antennas_; ++a) out[a] |= absent(s)[a];
    const auto left = static_cast<std::uint32_t>(std::ranges::count(out, 0));
    if (left >= p.users_) return left;
    std::ranges::fill(out, std::uint8_t{0});
    return p.antennas_;
  }

  void leave_out(Tile* csi) const {
    for (std::uint32_t a = 0; a < p.antennas_; ++a)
      for (std::uint32_t u = 0; worker.left_out[a] != 0 && u < p.users_; ++u)
        csi[std::size_t{u} * p.tile_stride() + a] = {};
  }

  /// What interpolation and sharing combiners leave on a user's symbol goes to worker.residual and
  /// worker.held; returns what they add to the noise of all.
  float residual_noise(float noise) {
    if (p.deviation_plans_.empty()) return 0;
    float spread = 0, doubt = 0;
    for (std::uint32_t u = 0; u < p.users_; ++u) {
      std::uint32_t antennas = 0;
      const phy::GroupDeviation sum = deviation_of(u, antennas);
      const phy::DeviationPlan& plan = p.deviation_plans_[u % frame.comb()];
      const phy::Residual left = phy::residual(plan, sum, antennas, noise);
      worker.residual[u] = left.common;
      worker.held[u] = phy::held_residual(plan, sum, antennas, noise);
      spread += left.spread;
      doubt += left.doubt;
    }
    return phy::shared_residual(spread, doubt);
  }

  phy::GroupDeviation deviation_of(std::uint32_t user, std::uint32_t& antennas) const {
    const std::uint32_t ordinal = user / frame.comb(), offset = user % frame.comb();
    const std::uint32_t users = users_of_pilot(ordinal);
    const std::size_t first = std::size_t{ordinal} * p.antennas_;
    phy::GroupDeviation sum;
    for (std::uint32_t a = offset; a < std::min(p.antennas_, phy::kDeviationAntennas * users);
         a += users) {
      if (slot.noise[first + a] < 0) continue;
      sum.add(slot.deviation[first + a]);
      ++antennas;
    }
    return sum;
  }

  /// Per antenna and subcarrier, as combiners are made with. The errors of all users' estimates
  /// come with their unit-energy symbols: noise like the other.
  float combining_noise() {
    const float received = mean_noise();
    return received * (1 + p.estimate_noise_) + residual_noise(received);
  }

  void zero_force() {
    const bool whole = choose_antennas() == p.antennas_;
    const std::size_t block = std::size_t{p.users_} * p.tile_stride();
    const float noise = combining_noise();
    Combiners& c = *slot.combiners;
    for (std::uint32_t g = task.first; g < task.first + task.count; ++g) {
      Tile* w = p.group() < 16 && p.single_ ? &c.tiles[g * block] : worker.combiner.data();
      float* post_noise = p.group() == 1 ? &c.post_noise[std::size_t{g} * p.users_ * kTileLanes]
                                         : worker.group_noise.data();
      if (!whole) leave_out(&slot.csi[g * block]);
      const auto flagged =
          p.zero_force_.combine(frame.format().combiner.kind, frame.array(), noise,
                                &slot.csi[g * block], w, post_noise, worker.zero_force);
      if (frame.comb() > 1 && frame.format().combiner.kind != phy::Detector::Conjugate)
        phy::add_held({frame.ofdm().shape().subcarriers, frame.comb(), p.group()}, g, p.users_,
                      worker.held.data(), noise, post_noise);
      add_residual(post_noise, 1);
      // Lanes past the band's end have no channel and are flagged too.
      const std::uint32_t empty = kTileLanes - std::min(kTileLanes, csi_lanes() - g * kTileLanes);
      if (flagged > empty && !task.rehearsal)
        c.ill_conditioned.fetch_add(flagged - empty, std::memory_order_relaxed);
      keep(g, w, c);
    }
    if (task.rehearsal) return;
    const auto done = c.chunks_done.fetch_add(task.count, std::memory_order_acq_rel) + task.count;
    if (done == p.csi_tiles_) complete(c);
  }

  void add_residual(float* post_noise, float times) const {
    if (p.deviation_plans_.empty()) return;
    for (std::uint32_t u = 0; u < p.users_; ++u)
      for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
        float& noise = post_noise[u * kTileLanes + lane];
        noise = std::clamp(noise + times * worker.residual[u], phy::kPostNoiseFloor,
                           phy::kPostNoiseCeiling);
      }
  }

  // Stores a CSI tile's combiners in the layout in which its tiles use them.
  void keep(std::uint32_t csi_tile, const Tile* w, Combiners& c) {
    const std::uint32_t group = p.group(), first = csi_tile * group;
    const std::uint32_t count = std::min(group, frame.tiles() - first);
    if (group == 16) {
      expand_shared(first, count, c);
    } else {
      if (group > 1) spread_noise(first, count, c);
      round(csi_tile, w, c);
    }
    if (!p.downlink_) return;
    float* power = &c.antenna_power[std::size_t{csi_tile} * p.antennas_];
    std::fill(power, power + p.antennas_, 0.0F);
    if (group == 16)
      add_shared_power(first, count, c, power);
    else
      add_power(csi_tile, c, power);
  }

  void spread_noise(std::uint32_t first, std::uint32_t count, Combiners& c) {
    for (std::uint32_t tile = first; tile < first + count; ++tile)
      p.zero_force_.spread_groups(p.groups_of(tile), p.users_, worker.group_noise.data(),
                                  &c.post_noise[std::size_t{tile} * p.users_ * kTileLanes]);
  }

  void round(std::uint32_t csi_tile, const Tile* w, Combiners& c) {
    const std::size_t at = std::size_t{csi_tile} * p.users_ * p.tile_stride();
    const std::size_t user = std::size_t{csi_tile} * p.users_;
    const std::size_t antenna = std::size_t{csi_tile} * p.antennas_;
    if (p.uplink_ == Precision::Fp16)
      p.zero_force_.halve(frame.array(), w, &c.half_tiles[at], &c.half_scale[user]);
    if (p.uplink_ == Precision::Int16)
      p.zero_force_.quantize_rows(frame.array(), w, &c.integers.tiles[at],
                                  &c.integers.scale[user * kTileLanes]);
    if (p.downlink_ == Precision::Int16)
      p.zero_force_.quantize_columns(frame.array(), w, &c.precoder.tiles[at],
                                     &c.precoder.scale[antenna * kTileLanes]);
  }

  // Up to 16 tiles with one combiner each, the lanes of what was computed.
  void expand_shared(std::uint32_t first, std::uint32_t count, Combiners& c) {
    const phy::ZeroForceKernels& kernels = p.zero_force_;
    const std::size_t block = std::size_t{p.users_} * p.tile_stride();
    phy::spread_lanes(p.users_, count, worker.group_noise.data(),
                      &c.post_noise[std::size_t{first} * p.users_ * kTileLanes], kTileLanes);
    const auto round = [&](auto&& quantize, std::uint32_t rows, Int16Matrix& to) {
      quantize(frame.array(), worker.combiner.data(), worker.integers.data(),
               worker.group_scale.data());
      kernels.expand_int16(frame.array(), count, worker.integers.data(), &to.scalars[first * block],
                           block);
      phy::spread_lanes(rows, count, worker.group_scale.data(),
                        &to.scale[std::size_t{first} * rows]);
    };
    if (p.uplink_ == Precision::Int16) round(kernels.quantize_rows, p.users_, c.integers);
    if (p.downlink_ == Precision::Int16) round(kernels.quantize_columns, p.antennas_, c.precoder);
    if (!p.single_ && p.uplink_ != Precision::Fp16) return;
    Complex* w = p.single_ ? &c.scalars[first * block] : worker.spread_scalars.data();
    kernels.expand_scalars(frame.array(), count, worker.combiner.data(), w, block);
    if (p.uplink_ != Precision::Fp16) return;
    for (std::uint32_t tile = first; tile < first + count; ++tile, w += block)
      kernels.halve_scalar(frame.array(), w, &c.half_scalars[tile * block],
                           &c.half_scale[std::size_t{tile} * p.users_]);
  }

  // What the precoders of a CSI tile's subcarriers give to each antenna. Columns of integers have a
  // known norm.
  void add_shared_power(std::uint32_t first, std::uint32_t count, const Combiners& c,
                        float* power) {
    const std::size_t block = std::size_t{p.users_} * p.tile_stride();
    for (std::uint32_t tile = first; tile < first + count; ++tile) {
      if (p.downlink_ != Precision::Int16) {
        p.zero_force_.antenna_power_scalar(frame.array(), &c.scalars[tile * block], lanes_of(tile),
                                           power);
        continue;
      }
      const float* scale = &c.precoder.scale[std::size_t{tile} * p.antennas_];
      for (std::uint32_t a = 0; a < p.antennas_; ++a)
        power[a] += static_cast<float>(lanes_of(tile)) * kUnitPower * (scale[a] * scale[a]);
    }
  }

  void add_power(std::uint32_t csi_tile, const Combiners& c, float* power) {
    float times[kTileLanes];  // each lane's subcarriers
    const std::uint32_t group = p.group(), subcarriers = frame.ofdm().shape().subcarriers;
    for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
      const std::uint32_t begin = (csi_tile * kTileLanes + lane) * group;
      times[lane] = static_cast<float>(std::min(group, subcarriers - std::min(subcarriers, begin)));
    }
    if (p.downlink_ != Precision::Int16) {
      const std::size_t at = std::size_t{csi_tile} * p.users_ * p.tile_stride();
      p.zero_force_.antenna_power(frame.array(), &c.tiles[at], times, power);
      return;
    }
    const float* scale = &c.precoder.scale[std::size_t{csi_tile} * p.antennas_ * kTileLanes];
    for (std::uint32_t a = 0; a < p.antennas_; ++a, scale += kTileLanes)
      for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
        power[a] += kUnitPower * times[lane] * (scale[lane] * scale[lane]);
  }

  /// Used subcarriers.
  std::uint32_t lanes_of(std::uint32_t tile) const {
    return std::min(kTileLanes, frame.ofdm().shape().subcarriers - tile * kTileLanes);
  }

  void complete(Combiners& c) {
    if (p.downlink_) c.transmit_gain = transmit_gain(c);
    c.frame.store(slot.frame, std::memory_order_release);
  }

  // One gain for the whole band and all antennas keeps the precoder's nulls where they are.
  float transmit_gain(const Combiners& c) const {
    float most = 0;
    for (std::uint32_t a = 0; a < p.antennas_; ++a) {
      float power = 0;
      for (std::uint32_t g = 0; g < p.csi_tiles_; ++g)
        power += c.antenna_power[std::size_t{g} * p.antennas_ + a];
      most = std::max(most, power);
    }
    const auto bins = static_cast<float>(frame.ofdm().shape().fft_size);
    return most > 0 ? std::sqrt(kTransmitPower * bins / most) : 0;
  }

  void equalize_demodulate() {
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

  // Where the soft bits go of the i-th share of users, beside the equalization of the i-th tile.
  void fetch_soft(std::uint32_t first, std::uint32_t count, std::uint32_t i) {
    const auto allocations = frame.allocations(task.step);
    for (std::uint32_t u = p.users_ * i / count; u < p.users_ * (i + 1) / count; ++u)
      for_soft_runs(
          frame, Direction::Uplink, allocations[u], tiles_of_user(first, count, u),
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
    worker.lost = found > phy::kMostLeftOut || left < p.users_;
    worker.missing_count = worker.lost ? 0 : found;
    worker.combining_noise = combining_noise();
  }

  // A tile's symbols, the i-th at once, as the combiner of the antennas that are there yields them.
  // A column of a combiner, whatever it is kept in, is what it makes of an impulse.
  void make_do_without(std::uint32_t tile, std::uint32_t i) {
    Tile* const s = &worker.equalized[std::size_t{i} * p.users_];
    const std::size_t row = std::size_t{p.users_} * kTileLanes;
    float* const noise = &worker.changed_noise[i * row];
    if (worker.lost) return phy::erase(p.users_, s, noise);
    std::copy_n(&slot.combiners->post_noise[tile * row], row, noise);
    for (std::uint32_t m = 0; m < worker.missing_count; ++m) {
      const std::size_t at = std::size_t{m} * p.users_;
      set_impulse(worker.missing[m], true);
      equalize(tile, {worker.impulse.data(), worker.half_impulse.data()}, &worker.columns[at]);
      set_impulse(worker.missing[m], false);
      channel_of(tile, worker.missing[m], &worker.channels[at]);
    }
    add_residual(noise, -1);  // it is no antenna's
    phy::leave_out(frame.format().combiner.kind, p.users_, worker.missing_count,
                   worker.combining_noise, worker.channels.data(), worker.columns.data(), s, noise);
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
    for (std::uint32_t u = 0; u < p.users_; ++u) {
      const std::size_t row = std::size_t{tile / group} * p.users_ + u;
      const Tile& from = slot.csi[row * p.tile_stride() + antenna];
      for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
        const std::uint32_t of = (kTileLanes * (tile % group) + lane) / group;
        h[u].re[lane] = from.re[of];
        h[u].im[lane] = from.im[of];
      }
    }
  }

  /// The variance of a tile's symbols and those after it. [tile][user][16]
  const float* noise_from(std::uint32_t tile) const {
    if (worker.lost || worker.missing_count > 0) return worker.changed_noise.data();
    return &slot.combiners->post_noise[std::size_t{tile} * p.users_ * kTileLanes];
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
    const Combiners& c = *slot.combiners;
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
    const auto allocations = frame.allocations(task.step);
    for (std::uint32_t u = 0; u < p.users_; ++u)
      demap_tiles(frame, Direction::Uplink, allocations[u], tiles_of_user(first, count, u),
                  p.demap_, [&](std::uint32_t block) { return soft_of(block); });
    const std::uint32_t sampled = p.sampled_tile(slot.frame, task.step);
    if (sampled < first || sampled >= first + count) return;
    for (std::uint32_t u = 0; u < p.users_; ++u) {
      const UserTiles tiles = tiles_of_user(first, count, u);
      const std::uint32_t i = sampled - first;
      sample(u, sampled, tiles.s[i * tiles.stride], tiles.noise + i * tiles.noise_stride);
    }
  }

  void sample(std::uint32_t user, std::uint32_t tile, const Tile& s, const float* noise) {
    const Allocation& a = frame.allocations(task.step)[user];
    const std::uint32_t lanes = lanes_in(a, tile);
    if (lanes == 0) return;
    const std::uint32_t ordinal = frame.symbol(task.step).ordinal;
    const auto& plan = frame.plan(frame.transport_blocks(Direction::Uplink)[a.transport_block]);
    const bool kept = user == p.sampled_user(slot.frame);
    float variance = 0;
    for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
      if ((lanes >> lane & 1) == 0) continue;
      variance += noise[lane];
      if (!kept) continue;
      slot.constellation[ordinal].re[lane] = s.re[lane];
      slot.constellation[ordinal].im[lane] = s.im[lane];
    }
    slot.quality[std::size_t{ordinal} * p.users_ + user] = {
        p.demap_.error_power(plan.modulation(), s, lanes), variance,
        static_cast<std::uint32_t>(std::popcount(lanes))};
  }

  void decode() {
    const Packs& packs = p.graph_.packs[task.step];
    for (std::uint32_t i = task.first; i < task.first + task.count; ++i) decode(packs[i]);
  }

  void decode(std::span<const std::uint32_t> pack) {
    std::array<ReceivedBlock, phy::kMaxPack> blocks;
    for (std::size_t i = 0; i < pack.size(); ++i) blocks[i] = {pack[i], soft_of(pack[i])};
    decode_blocks(frame, Direction::Uplink, {blocks.data(), pack.size()}, p.demap_, p.ldpc_,
                  {worker.soft.data(), worker.ldpc}, slot.info.data(), slot.results.data());
    for (const std::uint32_t index : pack) {
      const std::uint32_t tb = frame.code_blocks(Direction::Uplink)[index].transport_block;
      if (frame.plan(frame.transport_blocks(Direction::Uplink)[tb]).C() > 1) continue;
      assemble(frame, Direction::Uplink, tb, slot.info.data(), slot.payload.data());
      slot.good[tb] = slot.results[index].good;
    }
  }

  std::int8_t* soft_of(std::uint32_t code_block) {
    return slot.soft.data() + frame.code_blocks(Direction::Uplink)[code_block].coded_offset;
  }

  void store() {
    if (slot.elsewhere != nullptr) return slot.elsewhere->bring(task.step, slot);
    const auto blocks = frame.assemblies_at(task.step);
    for (std::uint32_t i = task.first; i < task.first + task.count; ++i) {
      const auto& tb = frame.transport_blocks(Direction::Uplink)[blocks[i]];
      bool good =
          assemble(frame, Direction::Uplink, blocks[i], slot.info.data(), slot.payload.data());
      for (std::uint32_t r = 0; r < frame.plan(tb).C(); ++r)
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
void zero_force(void* context, const Task& task) noexcept {
  UplinkKernels(context, task).zero_force();
}
void equalize_demodulate(void* context, const Task& task) noexcept {
  UplinkKernels(context, task).equalize_demodulate();
}
void decode(void* context, const Task& task) noexcept { UplinkKernels(context, task).decode(); }
void store(void* context, const Task& task) noexcept { UplinkKernels(context, task).store(); }

}  // namespace kernels
}  // namespace carillon::frame
