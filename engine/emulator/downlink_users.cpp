#include "emulator/downlink_users.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "emulator/payload.hpp"
#include "frame/receive.hpp"
#include "frame/transmit.hpp"

namespace carillon::emulator {
namespace {

using frame::Direction;
using frame::SymbolKind;
using phy::kTileLanes;

constexpr std::size_t kNoiseTiles = 4096;
constexpr std::uint64_t kNoiseStream = 1ULL << 62;
// References on either side that a gain estimate averages over.
constexpr std::int64_t kReach = 8;

constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

}  // namespace

DownlinkUsers::DownlinkUsers(const frame::Frame& frame, const RadioPlan& plan)
    : frame_(frame),
      plan_(plan),
      channel_(frame, plan),
      ofdm_(frame.ofdm()),
      grid_(std::size_t{frame.tiles()} * frame.array().antenna_stride),
      received_(std::size_t{frame.format().users} * frame.tiles()),
      gains_(std::size_t{frame.format().users} * frame.tiles()),
      variances_(frame.format().users),
      noise_(kNoiseTiles),
      recovered_(phy::LdpcCode{1, phy::kMaxLifting}.length()),
      info_(frame.info_bytes(Direction::Downlink)),
      payload_(frame.payload_bytes(Direction::Downlink)),
      expected_(frame.payload_bytes(Direction::Downlink)),
      code_block_good_(frame.code_blocks(Direction::Downlink).size()),
      results_(frame.format().users),
      random_(plan.seed, kNoiseStream) {
  const auto& f = frame.format();
  // A user hears noise as strong as it would be if its share of the power that the antennas may
  // radiate reached it through a single one of them at its signal-to-noise ratio; the channel's own
  // power is that ratio, so that noise has the same power for all.
  const double bins = frame.ofdm().shape().fft_size;
  const double radiated = frame::kTransmitPower * bins / frame.ofdm().shape().subcarriers;
  noise_amplitude_.assign(f.users,
                          static_cast<float>(std::sqrt(radiated * f.antennas / f.users / 2)));
  std::size_t offset = 0;
  for (const auto& place : frame.code_blocks(Direction::Downlink)) {
    soft_offsets_.push_back(offset);
    const auto& tb = frame.transport_blocks(Direction::Downlink)[place.transport_block];
    offset += aligned(frame.plan(tb).soft_bytes());
  }
  soft_ = AlignedArray<std::int8_t>(offset);
  for (auto& tile : noise_)
    for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
      const auto normal = random_.normal_pair();
      tile.re[lane] = normal[0];
      tile.im[lane] = normal[1];
    }
}

void DownlinkUsers::start(std::uint64_t replay, std::uint64_t slot, Samples samples) {
  channel_.select(replay);
  fill_payload(frame_, plan_.seed, Direction::Downlink, slot, expected_.span());
  samples_ = std::move(samples);
  std::fill(results_.begin(), results_.end(), DownlinkResult{});
  ordinal_ = antenna_ = user_ = code_block_ = 0;
  phase_ = Phase::Receive;
}

bool DownlinkUsers::step() {
  switch (phase_) {
    case Phase::Idle: return false;
    case Phase::Receive: receive_antenna(); break;
    case Phase::Propagate: propagate(); break;
    case Phase::Decode: decode_block(); break;
  }
  return phase_ != Phase::Idle;
}

// What the antenna radiates, in the frequency domain.
void DownlinkUsers::receive_antenna() {
  const std::uint32_t symbol = frame_.symbols_of(SymbolKind::Downlink)[ordinal_];
  const auto* samples = samples_(symbol, antenna_) + 2 * frame_.symbol(symbol).prefix;
  phy::ofdm_kernels().receive(frame_.ofdm(), samples, &grid_[antenna_],
                              frame_.array().antenna_stride, ofdm_);
  if (++antenna_ < frame_.format().antennas) return;
  antenna_ = 0;
  phase_ = Phase::Propagate;
}

// By reciprocity the channel acts like a combiner: user u hears Σ h(u, a)·x(a).
void DownlinkUsers::propagate() {
  const auto& equalize = phy::equalize_kernels();
  const std::uint32_t users = frame_.format().users;
  std::array<phy::Tile, 128> heard;
  for (std::uint32_t t = 0; t < frame_.tiles(); ++t) {
    const phy::Tile* radiated = &grid_[std::size_t{t} * frame_.array().antenna_stride];
    if (channel_.flat())
      equalize.per_tile(frame_.array(), channel_.flat_response(), radiated, heard.data());
    else
      equalize.per_subcarrier(frame_.array(), channel_.response(t), radiated, heard.data());
    for (std::uint32_t u = 0; u < users; ++u) {
      add_noise(heard[u], u);
      received_[u * frame_.tiles() + t] = heard[u];
    }
  }
  if (ordinal_ == 0)
    estimate_gains();
  else
    for (std::uint32_t u = 0; u < users; ++u) demodulate(u);
  const bool more = ++ordinal_ < frame_.symbols_of(SymbolKind::Downlink).size();
  phase_ = more ? Phase::Receive : Phase::Decode;
  if (!more && code_block_good_.empty()) phase_ = Phase::Idle;
}

void DownlinkUsers::add_noise(phy::Tile& tile, std::uint32_t user) {
  const phy::Tile& noise = noise_[random_.next() % kNoiseTiles];
  for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
    tile.re[lane] += noise_amplitude_[user] * noise.re[lane];
    tile.im[lane] += noise_amplitude_[user] * noise.im[lane];
  }
}

// Each tile's gain is the mean of the references around it; what the references scatter about it is
// noise and interference.
void DownlinkUsers::estimate_gains() {
  const std::uint32_t users = frame_.format().users;
  const std::uint32_t subcarriers = frame_.format().numerology.subcarriers;
  std::vector<phy::Complex> values;
  for (std::uint32_t u = 0; u < users; ++u) {
    values.clear();
    for (std::uint32_t k = u; k < subcarriers; k += users) {
      const auto& y = received_[u * frame_.tiles() + k / kTileLanes];
      const auto& division = frame_.pilot_division()[k / kTileLanes];
      const std::uint32_t lane = k % kTileLanes;
      const phy::Complex p{division.re[lane], division.im[lane]};
      values.push_back(
          {y.re[lane] * p.re - y.im[lane] * p.im, y.re[lane] * p.im + y.im[lane] * p.re});
    }
    const auto count = static_cast<std::int64_t>(values.size());
    double scatter = 0;
    std::int64_t scattered = 0;
    for (std::uint32_t t = 0; t < frame_.tiles(); ++t) {
      const auto centre = std::min<std::int64_t>(count - 1, (t * kTileLanes + 8) / users);
      const std::int64_t first = std::max<std::int64_t>(0, centre - kReach);
      const std::int64_t last = std::min<std::int64_t>(count - 1, centre + kReach);
      double re = 0, im = 0;
      for (std::int64_t i = first; i <= last; ++i) {
        re += static_cast<double>(values[static_cast<std::size_t>(i)].re);
        im += static_cast<double>(values[static_cast<std::size_t>(i)].im);
      }
      const double n = static_cast<double>(last - first + 1);
      re /= n;
      im /= n;
      gains_[u * frame_.tiles() + t] = {static_cast<float>(re), static_cast<float>(im)};
      for (std::int64_t i = first; i <= last && n > 1; ++i) {
        const auto& v = values[static_cast<std::size_t>(i)];
        scatter += (std::pow(static_cast<double>(v.re) - re, 2) +
                    std::pow(static_cast<double>(v.im) - im, 2)) *
                   n / (n - 1);
        ++scattered;
      }
    }
    variances_[u] =
        scattered == 0 ? 0 : static_cast<float>(scatter / static_cast<double>(scattered));
  }
}

void DownlinkUsers::demodulate(std::uint32_t user) {
  const std::uint32_t symbol = frame_.symbols_of(SymbolKind::Downlink)[ordinal_];
  const auto& a = frame_.allocations(symbol)[user];
  if (a.count == 0) return;
  const auto& tb = frame_.transport_blocks(Direction::Downlink)[a.transport_block];
  const auto& plan = frame_.plan(tb);
  const std::uint32_t first_tile = a.first_subcarrier / kTileLanes;
  for (std::uint32_t t = first_tile; t < phy::tiles_for(a.first_subcarrier + a.count); ++t) {
    const phy::Complex g = gains_[user * frame_.tiles() + t];
    const float power = std::max(g.re * g.re + g.im * g.im, 1e-30F);
    const phy::Tile& y = received_[user * frame_.tiles() + t];
    phy::Tile s;
    alignas(64) float noise[kTileLanes];
    for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
      s.re[lane] = (y.re[lane] * g.re + y.im[lane] * g.im) / power;
      s.im[lane] = (y.im[lane] * g.re - y.re[lane] * g.im) / power;
      noise[lane] = std::max(variances_[user] / power, 1e-8F);
    }
    frame::demap_tile(frame_, Direction::Downlink, a, t, s, noise, phy::demap_kernels(),
                      [&](std::uint32_t block) { return &soft_[soft_offsets_[block]]; });
    const std::uint32_t begin = std::max(a.first_subcarrier, t * kTileLanes);
    const std::uint32_t end = std::min(a.first_subcarrier + a.count, (t + 1) * kTileLanes);
    const auto mask =
        static_cast<std::uint32_t>(((1ULL << (end - begin)) - 1) << begin % kTileLanes);
    results_[user].error_power += phy::demap_kernels().error_power(plan.modulation(), s, mask);
    results_[user].symbols += end - begin;
  }
}

void DownlinkUsers::decode_block() {
  const auto blocks = frame_.code_blocks(Direction::Downlink);
  const auto& place = blocks[code_block_];
  const auto& tb = frame_.transport_blocks(Direction::Downlink)[place.transport_block];
  code_block_good_[code_block_] =
      frame::decode_block(frame_, Direction::Downlink, code_block_,
                          &soft_[soft_offsets_[code_block_]], phy::demap_kernels(),
                          phy::ldpc_kernels(), {recovered_.data(), ldpc_},
                          info_.data() + place.info_offset)
          .good;
  const auto& plan = frame_.plan(tb);
  if (place.index + 1 == plan.C()) {
    bool good = frame::assemble(frame_, Direction::Downlink, place.transport_block, info_.data(),
                                payload_.data());
    for (std::uint32_t r = 0; r < plan.C(); ++r)
      good = good && code_block_good_[tb.first_code_block + r] != 0;
    auto& result = results_[tb.user];
    ++result.blocks;
    result.failed += !good || !payload_matches(place.transport_block);
  }
  if (++code_block_ == blocks.size()) phase_ = Phase::Idle;
}

bool DownlinkUsers::payload_matches(std::uint32_t transport_block) const {
  const auto& tb = frame_.transport_blocks(Direction::Downlink)[transport_block];
  return std::memcmp(payload_.data() + tb.payload_offset, expected_.data() + tb.payload_offset,
                     (frame_.plan(tb).A() + 7) / 8) == 0;
}

}  // namespace carillon::emulator
