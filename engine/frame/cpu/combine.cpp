// Combiners and precoders: zero-forcing of the frame's channel estimates, for each pairing of
// users.
#include <algorithm>
#include <bit>
#include <cmath>
#include <ranges>
#include <span>

#include "frame/cpu/kernels.hpp"
#include "frame/cpu/uplink_call.hpp"
#include "frame/transmit.hpp"
#include "phy/estimate/held.hpp"

namespace carillon::frame {

using phy::Complex;
using phy::kTileLanes;
using phy::Tile;
using runtime::Task;

struct CombineKernels : UplinkCall {
  using UplinkCall::UplinkCall;
  static constexpr float kUnitPower = phy::kInt16Norm * phy::kInt16Norm;

  void zero_force() {
    const std::uint32_t number = task.instruction - p.graph_.zero_force.front();
    const std::uint32_t pairing = number - frame.first_combiner(occasion());
    const bool sends = pairing == 0 && frame.sends(occasion());
    const bool whole = choose_antennas() == p.antennas_;
    const float received = mean_noise();
    measure_residuals(received);
    PairCombiner& c = slot.combiners->of[number];
    for (std::uint32_t g = task.first; g < task.first + task.count; ++g) {
      const Target to = target(g, c);
      const auto paired = program.pairings(occasion())[pairing].at(g);
      const float noise =
          combining_noise(received, paired | std::views::transform(&PairedUser::user));
      const std::uint32_t flagged = slot.prepared->all_together
                                        ? combine_all(g, noise, whole, to)
                                        : combine_paired(g, noise, whole, paired, to);
      // Past the outermost pilots of combs, channels are held.
      if (frame.comb() > 1 && frame.format().combiner.kind != phy::Detector::Conjugate)
        phy::add_held({frame.ofdm().shape().subcarriers, frame.comb(), p.group()}, g, p.users_,
                      worker.held.data(), noise, to.noise);
      add_residual(to.noise, 1);
      if (!task.rehearsal)
        slot.combiners->ill_conditioned.fetch_add(flagged, std::memory_order_relaxed);
      keep(g, to.w, c, sends);
    }
    if (task.rehearsal) return;
    const auto done = c.chunks_done.fetch_add(task.count, std::memory_order_acq_rel) + task.count;
    if (done != p.csi_tiles_) return;
    if (sends) c.transmit_gain = transmit_gain(c);
    if (pairing == 0 && occasion() + 1 == frame.occasions())
      slot.combiners->frame.store(slot.frame, std::memory_order_release);
  }

  /// Where a CSI tile's combiner and its noise go: their own place, or to be spread from there.
  struct Target {
    Tile* w;
    float* noise;
  };
  Target target(std::uint32_t g, PairCombiner& c) const {
    const std::size_t block = std::size_t{p.users_} * p.tile_stride();
    return {p.group() < 16 && p.single_ ? &c.tiles[g * block] : worker.combiner.data(),
            p.group() == 1 ? &c.post_noise[std::size_t{g} * p.users_ * kTileLanes]
                           : worker.group_noise.data()};
  }

  /// Returns how many groups are ill-conditioned.
  std::uint32_t combine_all(std::uint32_t g, float noise, bool whole, const Target& to) {
    Tile* const csi = &channels()[std::size_t{g} * p.users_ * p.tile_stride()];
    if (!whole) leave_out(csi);
    const auto flagged = p.zero_force_.combine(frame.format().combiner.kind, frame.array(), noise,
                                               csi, to.w, to.noise, worker.zero_force);
    // Lanes past the band's end have no channel and are flagged too.
    return flagged - std::min(flagged, empty_lanes(g));
  }

  std::uint32_t empty_lanes(std::uint32_t g) const {
    return kTileLanes - std::min(kTileLanes, csi_lanes() - g * kTileLanes);
  }

  /// Of those users alone that are paired in a CSI tile: the others have no channel where they
  /// do not take part, and get no row. Other combiners have the estimates too, so that these are
  /// copied.
  std::uint32_t combine_paired(std::uint32_t g, float noise, bool whole,
                               std::span<const PairedUser> users, const Target& to) {
    const std::size_t stride = p.tile_stride(), row = kTileLanes;
    std::uint32_t shared = 0xffff;
    for (std::size_t i = 0; i < users.size(); ++i) {
      const std::size_t from = (std::size_t{g} * p.users_ + users[i].user) * stride;
      copy_lanes(&channels()[from], users[i].lanes, whole, &worker.paired_csi[i * stride]);
      shared &= users[i].lanes;
    }
    const phy::ArrayShape shape{p.antennas_, static_cast<std::uint32_t>(users.size()),
                                frame.array().antenna_stride};
    std::uint32_t flagged = 0;
    if (!users.empty())
      flagged = p.zero_force_.combine(frame.format().combiner.kind, shape, noise,
                                      worker.paired_csi.data(), worker.paired.data(),
                                      worker.paired_noise.data(), worker.zero_force);
    std::fill_n(to.w, std::size_t{p.users_} * stride, Tile{});
    std::fill_n(to.noise, p.users_ * row, phy::kPostNoiseCeiling);
    for (std::size_t i = 0; i < users.size(); ++i) {
      std::copy_n(&worker.paired[i * stride], p.antennas_, to.w + users[i].user * stride);
      std::copy_n(&worker.paired_noise[i * row], row, to.noise + users[i].user * row);
    }
    // So are lanes in which one of them has no part.
    const auto apart = kTileLanes - static_cast<std::uint32_t>(std::popcount(shared));
    return flagged - std::min(flagged, apart);
  }

  /// An antenna row of a user, without antennas that are left out.
  void copy_lanes(const Tile* from, std::uint32_t lanes, bool whole, Tile* to) const {
    if (whole && lanes == 0xffff) {
      std::copy_n(from, p.antennas_, to);
      return;
    }
    for (std::uint32_t a = 0; a < p.antennas_; ++a)
      for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
        const bool in = worker.left_out[a] == 0 && (lanes >> lane & 1) != 0;
        to[a].re[lane] = in ? from[a].re[lane] : 0;
        to[a].im[lane] = in ? from[a].im[lane] : 0;
      }
  }

  std::uint32_t csi_lanes() const {
    return (frame.ofdm().shape().subcarriers + p.group() - 1) / p.group();
  }

  void leave_out(Tile* csi) const {
    for (std::uint32_t a = 0; a < p.antennas_; ++a)
      for (std::uint32_t u = 0; worker.left_out[a] != 0 && u < p.users_; ++u)
        csi[std::size_t{u} * p.tile_stride() + a] = {};
  }

  // Stores a CSI tile's combiners in the layout in which its tiles use them.
  void keep(std::uint32_t csi_tile, const Tile* w, PairCombiner& c, bool sends) {
    const std::uint32_t group = p.group(), first = csi_tile * group;
    const std::uint32_t count = std::min(group, frame.tiles() - first);
    if (group == 16) {
      expand_shared(first, count, c, sends);
    } else {
      if (group > 1) spread_noise(first, count, c);
      round(csi_tile, w, c, sends);
    }
    if (!sends) return;
    float* power = &c.antenna_power[std::size_t{csi_tile} * p.antennas_];
    std::fill(power, power + p.antennas_, 0.0F);
    if (group == 16)
      add_shared_power(first, count, c, power);
    else
      add_power(csi_tile, c, power);
  }

  void spread_noise(std::uint32_t first, std::uint32_t count, PairCombiner& c) {
    for (std::uint32_t tile = first; tile < first + count; ++tile)
      p.zero_force_.spread_groups(p.groups_of(tile), p.users_, worker.group_noise.data(),
                                  &c.post_noise[std::size_t{tile} * p.users_ * kTileLanes]);
  }

  void round(std::uint32_t csi_tile, const Tile* w, PairCombiner& c, bool sends) {
    const std::size_t at = std::size_t{csi_tile} * p.users_ * p.tile_stride();
    const std::size_t user = std::size_t{csi_tile} * p.users_;
    const std::size_t antenna = std::size_t{csi_tile} * p.antennas_;
    if (p.uplink_ == Precision::Fp16)
      p.zero_force_.halve(frame.array(), w, &c.half_tiles[at], &c.half_scale[user]);
    if (p.uplink_ == Precision::Int16)
      p.zero_force_.quantize_rows(frame.array(), w, &c.integers.tiles[at],
                                  &c.integers.scale[user * kTileLanes]);
    if (sends && p.downlink_ == Precision::Int16)
      p.zero_force_.quantize_columns(frame.array(), w, &c.precoder.tiles[at],
                                     &c.precoder.scale[antenna * kTileLanes]);
  }

  // Up to 16 tiles with one combiner each, the lanes of what was computed.
  void expand_shared(std::uint32_t first, std::uint32_t count, PairCombiner& c, bool sends) {
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
    if (sends && p.downlink_ == Precision::Int16)
      round(kernels.quantize_columns, p.antennas_, c.precoder);
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
  void add_shared_power(std::uint32_t first, std::uint32_t count, const PairCombiner& c,
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

  void add_power(std::uint32_t csi_tile, const PairCombiner& c, float* power) {
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

  // One gain for the whole band and all antennas keeps the precoder's nulls where they are.
  float transmit_gain(const PairCombiner& c) const {
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
};

namespace kernels {

void zero_force(void* context, const Task& task) noexcept {
  CombineKernels(context, task).zero_force();
}

}  // namespace kernels
}  // namespace carillon::frame
