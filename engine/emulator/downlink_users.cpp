#include "emulator/downlink_users.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "emulator/payload.hpp"
#include "frame/transmit.hpp"

namespace carillon::emulator {
namespace {

using frame::Direction;
using frame::SymbolKind;
using phy::kTileLanes;

constexpr std::uint64_t kNoiseStream = 1ULL << 62;
// References on either side that a gain estimate averages over.
constexpr std::size_t kReach = 8;
constexpr float kLeastGain = 1e-30F;
// Products of a tile with a coefficient that a step may take.
constexpr std::uint32_t kProductsPerStep = 2048;

constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

}  // namespace

float distance(const phy::Tile& s, const phy::Tile& sent, std::uint32_t lanes) {
  float sum = 0;
  for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    const float re = s.re[lane] - sent.re[lane], im = s.im[lane] - sent.im[lane];
    sum += re * re + im * im;
  }
  return sum;
}

DownlinkUsers::DownlinkUsers(const frame::Frame& frame, const RadioPlan& plan, bool seeded)
    : frame_(frame),
      program_(&frame.program()),
      plan_(plan),
      seeded_(seeded),
      channel_(frame, plan),
      tiles_per_step_(
          std::max(1U, kProductsPerStep / (frame.format().antennas * frame.format().users))),
      ofdm_(frame.ofdm()),
      grid_(std::size_t{frame.tiles()} * frame.array().antenna_stride),
      received_(std::size_t{frame.format().users} * frame.tiles()),
      reference_users_(frame.occasions()),
      gains_(std::size_t{frame.format().users} * frame.tiles()),
      variances_(std::size_t{frame.format().users} * frame.tiles()),
      scatter_(frame.tiles() + 1),
      heard_(frame.tiles() + 1),
      equalized_(frame.tiles()),
      sent_(frame.tiles()),
      recovered_(phy::LdpcCode{1, phy::kMaxLifting}.length()),
      info_(frame.room(Direction::Downlink).info_bytes),
      payload_(frame.room(Direction::Downlink).payload_bytes),
      expected_(frame.room(Direction::Downlink).payload_bytes),
      code_blocks_(frame.room(Direction::Downlink).code_blocks),
      good_(frame.room(Direction::Downlink).transport_blocks),
      results_(frame.format().users),
      noise_(plan.seed, kNoiseStream) {
  const auto& f = frame.format();
  // A user hears noise as strong as it would be if its share of the power that the antennas may
  // radiate reached it through a single one of them at its signal-to-noise ratio; the channel's own
  // power is that ratio, so that noise has the same power for all.
  const double bins = frame.ofdm().shape().fft_size;
  const double radiated = frame::kTransmitPower * bins / frame.ofdm().shape().subcarriers;
  noise_amplitude_ = static_cast<float>(std::sqrt(radiated * f.antennas / f.users / 2));
  soft_ = AlignedArray<std::int8_t>(frame.room(Direction::Downlink).soft_bytes);
  if (!frame.symbols_of(SymbolKind::Downlink).empty()) take_program(frame.program());
}

void DownlinkUsers::take_program(const frame::FrameProgram& program) {
  program_ = &program;
  place_soft_bits();
  std::fill(soft_.begin(), soft_.end(), std::int8_t{0});
  for (const auto s : frame_.symbols_of(SymbolKind::Downlink)) {
    if (!frame_.symbol(s).references) continue;
    auto& users = reference_users_[frame_.symbol(s).occasion];
    users.clear();
    for (std::uint32_t k = 0; k < frame_.format().numerology.subcarriers; ++k)
      users.push_back(program.pairing(s).turn(k));
  }
}

void DownlinkUsers::place_soft_bits() {
  std::size_t offset = 0;
  soft_offsets_.clear();
  for (const auto& place : program_->code_blocks(Direction::Downlink)) {
    soft_offsets_.push_back(offset);
    const auto& tb = program_->transport_blocks(Direction::Downlink)[place.transport_block];
    offset += aligned(program_->plan(tb).soft_bytes());
  }
}

void DownlinkUsers::seed_noise(std::uint64_t number) {
  noise_ = Noise(plan_.seed, kNoiseStream + 1 + number);
}

void DownlinkUsers::start(std::uint64_t replay, std::uint64_t index,
                          const frame::FrameProgram& program, Samples samples,
                          const std::uint8_t* coded) {
  coded_ = coded;
  replay_ = replay;
  if (frame_.varies() && !frame_.symbols_of(SymbolKind::Downlink).empty()) take_program(program);
  if (seeded_) fill_payload(frame_, plan_.seed, Direction::Downlink, index, expected_.span());
  samples_ = std::move(samples);
  std::fill(results_.begin(), results_.end(), DownlinkResult{});
  std::fill(good_.begin(), good_.end(), std::uint8_t{0});
  ordinal_ = antenna_ = tile_ = user_ = code_block_ = 0;
  begin_symbol();
}

void DownlinkUsers::begin_symbol() {
  phase_ = Phase::Idle;
  if (frame_.symbols_of(SymbolKind::Downlink).empty()) return;
  channel_.begin(replay_, symbol());
  phase_ = Phase::Select;
}

bool DownlinkUsers::step() {
  switch (phase_) {
    case Phase::Idle: break;
    case Phase::Select: select_channel(); break;
    case Phase::Receive: receive_antenna(); break;
    case Phase::Propagate: propagate(); break;
    case Phase::Estimate:
      estimate_gains(user_);
      if (++user_ == frame_.format().users) next_symbol();
      break;
    case Phase::Demodulate:
      demodulate(user_);
      if (++user_ == frame_.format().users) next_symbol();
      break;
    case Phase::Decode: decode_block(); break;
  }
  return phase_ != Phase::Idle;
}

void DownlinkUsers::select_channel() {
  if (!channel_.step()) phase_ = Phase::Receive;
}

// What the antenna radiates, in the frequency domain.
void DownlinkUsers::receive_antenna() {
  const auto* samples = samples_(symbol(), antenna_) + 2 * frame_.symbol(symbol()).prefix;
  phy::ofdm_kernels().receive(frame_.ofdm(), samples, &grid_[antenna_],
                              frame_.array().antenna_stride, ofdm_);
  if (++antenna_ == frame_.format().antennas) phase_ = Phase::Propagate;
}

// By reciprocity the channel acts like a combiner: user u hears Σ h(u, a)·x(a).
void DownlinkUsers::propagate() {
  const auto& equalize = phy::equalize_kernels();
  const std::uint32_t users = frame_.format().users;
  std::array<phy::Tile, 128> heard;
  const std::uint32_t end = std::min(frame_.tiles(), tile_ + tiles_per_step_);
  for (; tile_ < end; ++tile_) {
    const phy::Tile* radiated = &grid_[std::size_t{tile_} * frame_.array().antenna_stride];
    if (channel_.flat())
      equalize.per_tile(frame_.array(), channel_.flat_response(), radiated, heard.data());
    else
      equalize.per_group(frame_.array(), {}, channel_.response(tile_), radiated, heard.data());
    noise_.add({heard[0].re, std::size_t{users} * 2 * kTileLanes}, noise_amplitude_);
    for (std::uint32_t u = 0; u < users; ++u)
      received_[std::size_t{u} * frame_.tiles() + tile_] = heard[u];
  }
  if (tile_ == frame_.tiles())
    phase_ = frame_.symbol(symbol()).references ? Phase::Estimate : Phase::Demodulate;
}

void DownlinkUsers::next_symbol() {
  antenna_ = tile_ = user_ = 0;
  if (++ordinal_ < frame_.symbols_of(SymbolKind::Downlink).size()) return begin_symbol();
  phase_ = program_->code_blocks(Direction::Downlink).empty() ? Phase::Idle : Phase::Decode;
}

// Each tile's gain is the mean of the references around it. Data comes with noise, which is how
// these scatter about their mean, and with the other users' signals.
void DownlinkUsers::estimate_gains(std::uint32_t user) {
  read_references(user);
  if (references_.empty()) {  // nothing is sent to this one
    std::fill_n(&variances_[std::size_t{user} * frame_.tiles()], frame_.tiles(),
                std::numeric_limits<float>::infinity());
    return;
  }
  for (std::uint32_t t = 0; t < frame_.tiles(); ++t) {
    const Value gain = mean_around(nearest(t * kTileLanes + kTileLanes / 2));
    gains_[std::size_t{user} * frame_.tiles() + t] = {static_cast<float>(gain.real()),
                                                      static_cast<float>(gain.imag())};
  }
  estimate_variances(user);
}

void DownlinkUsers::read_references(std::uint32_t user) {
  references_.clear();
  reference_at_.clear();
  const auto& users = reference_users_[frame_.symbol(symbol()).occasion];
  for (std::uint32_t k = 0; k < users.size(); ++k) {
    if (users[k] != user) continue;
    reference_at_.push_back(k);
    const std::uint32_t lane = k % kTileLanes;
    const auto& y = received_[std::size_t{user} * frame_.tiles() + k / kTileLanes];
    const auto& division = frame_.pilot_division()[k / kTileLanes];
    references_.push_back(
        Value(static_cast<double>(y.re[lane]), static_cast<double>(y.im[lane])) *
        Value(static_cast<double>(division.re[lane]), static_cast<double>(division.im[lane])));
  }
}

// The reference at a subcarrier or after it; the last one where there is none.
std::size_t DownlinkUsers::nearest(std::uint32_t subcarrier) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(reference_at_, subcarrier) -
                                  reference_at_.begin());
}

DownlinkUsers::Value DownlinkUsers::mean_around(std::size_t centre) const {
  centre = std::min(centre, references_.size() - 1);
  const std::size_t first = centre - std::min(centre, kReach);
  const std::size_t end = std::min(references_.size(), centre + kReach + 1);
  Value sum = 0;
  for (std::size_t i = first; i < end; ++i) sum += references_[i];
  return sum / static_cast<double>(end - first);
}

// A tile has the band's variance, or its own where that is more than chance explains: past the
// outermost pilots of combs precoders are worse than elsewhere.
void DownlinkUsers::estimate_variances(std::uint32_t user) {
  measure_scatter();
  measure_interference(user);
  const double amplitude = static_cast<double>(noise_amplitude_), noise = 2 * amplitude * amplitude;
  const auto variance = [&](const Powers& scatter, const Powers& heard, double others) {
    const double excess = heard.mean() - noise;
    const bool chance = heard.count == 0 || excess < 3 * noise / std::sqrt(heard.count);
    return scatter.mean() + (chance ? 0 : excess * others);
  };
  const auto of_tile = [](const Powers& own, const Powers& band) -> const Powers& {
    const bool chance = own.count == 0 || own.mean() < band.mean() * (1 + 3 / std::sqrt(own.count));
    return chance ? band : own;
  };
  for (std::uint32_t t = 0; t < frame_.tiles(); ++t) {
    const auto together = program_->pairing(symbol()).together(t * kTileLanes);
    variances_[std::size_t{user} * frame_.tiles() + t] =
        static_cast<float>(variance(of_tile(scatter_[t], scatter_.back()),
                                    of_tile(heard_[t], heard_.back()), std::max(together, 1U) - 1));
  }
}

// Variance about the mean around each reference, which itself is one of n in that mean.
void DownlinkUsers::measure_scatter() {
  std::fill(scatter_.begin(), scatter_.end(), Powers{});
  const std::size_t count = references_.size();
  for (std::size_t i = 0; i < count; ++i) {
    const auto n = static_cast<double>(std::min(count, i + kReach + 1) - (i - std::min(i, kReach)));
    const double power = n > 1 ? std::norm(references_[i] - mean_around(i)) * n / (n - 1) : 0;
    scatter_[reference_at_[i] / kTileLanes].add(power);
    scatter_.back().add(power);
  }
}

// Whether a user is one of those that are separated on a subcarrier.
bool DownlinkUsers::takes_part(std::uint32_t user, std::uint32_t subcarrier) const {
  const std::uint32_t group = subcarrier / frame_.format().combiner.group;
  const std::uint32_t lanes = program_->pairing(symbol()).lanes_of(group / kTileLanes, user);
  return (lanes >> group % kTileLanes & 1) != 0;
}

// Where another user's reference is sent, this one hears it with noise. Summed over the others that
// is the interference on data, unless noise alone explains it: a deviation of a few standard errors
// would be multiplied by their number. A user knows its own noise, from where nothing is sent; the
// scatter of its references would not do, as the precoder's errors are in it too.
void DownlinkUsers::measure_interference(std::uint32_t user) {
  const auto& f = frame_.format();
  const auto& users = reference_users_[frame_.symbol(symbol()).occasion];
  std::fill(heard_.begin(), heard_.end(), Powers{});
  for (std::uint32_t k = 0; k < f.numerology.subcarriers; ++k) {
    if (users[k] == user || !takes_part(user, k)) continue;
    const auto& y = received_[std::size_t{user} * frame_.tiles() + k / kTileLanes];
    const Value value(static_cast<double>(y.re[k % kTileLanes]),
                      static_cast<double>(y.im[k % kTileLanes]));
    heard_[k / kTileLanes].add(std::norm(value));
    heard_.back().add(std::norm(value));
  }
}

// Data also suffer from what the precoder's own errors let through of all users, which references,
// sent one at a time, show only a part of: the symbols' distance from the constellation tells.
void DownlinkUsers::demodulate(std::uint32_t user) {
  const auto own = program_->allocations(symbol(), user);
  if (own.empty()) return;
  if (coded_ != nullptr)
    frame::modulate_user(*program_, frame_.tiles(), Direction::Downlink, symbol(), user,
                         phy::modulate_kernels(), coded_, sent_.data(), 1);
  for (const frame::Allocation& a : own) demodulate(user, a);
}

void DownlinkUsers::demodulate(std::uint32_t user, const frame::Allocation& a) {
  const auto& tb = program_->transport_blocks(Direction::Downlink)[a.transport_block];
  const auto modulation = program_->plan(tb).modulation();
  const std::uint32_t first = a.first_subcarrier / kTileLanes;
  const std::uint32_t end = phy::tiles_for(a.first_subcarrier + a.count);
  float error = 0;
  for (std::uint32_t t = first; t < end; ++t) {
    equalize(user, t);
    const std::uint32_t lanes = frame::lanes_in(a, t);
    error += phy::demap_kernels().error_power(modulation, equalized_[t], lanes);
    if (coded_ != nullptr) results_[user].known_error += distance(equalized_[t], sent_[t], lanes);
  }
  results_[user].error_power += error;
  results_[user].symbols += a.count;
  for (std::uint32_t t = first; t < end; ++t)
    demap(user, a, t, error / static_cast<float>(a.count));
}

void DownlinkUsers::equalize(std::uint32_t user, std::uint32_t tile) {
  const phy::Complex g = gains_[std::size_t{user} * frame_.tiles() + tile];
  const float power = std::max(g.re * g.re + g.im * g.im, kLeastGain);
  const phy::Tile& y = received_[std::size_t{user} * frame_.tiles() + tile];
  phy::Tile& s = equalized_[tile];
  for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
    s.re[lane] = (y.re[lane] * g.re + y.im[lane] * g.im) / power;
    s.im[lane] = (y.im[lane] * g.re - y.re[lane] * g.im) / power;
  }
}

void DownlinkUsers::demap(std::uint32_t user, const frame::Allocation& a, std::uint32_t tile,
                          float error) {
  const phy::Complex g = gains_[std::size_t{user} * frame_.tiles() + tile];
  const float power = std::max(g.re * g.re + g.im * g.im, kLeastGain);
  alignas(64) float noise[kTileLanes];
  std::fill(std::begin(noise), std::end(noise),
            std::max({variances_[std::size_t{user} * frame_.tiles() + tile] / power, error,
                      phy::kPostNoiseFloor}));
  frame::demap_tiles(*program_, Direction::Downlink, a,
                     {.first = tile,
                      .count = 1,
                      .s = &equalized_[tile],
                      .stride = 1,
                      .noise = noise,
                      .noise_stride = kTileLanes},
                     phy::demap_kernels(),
                     [&](std::uint32_t block) { return &soft_[soft_offsets_[block]]; });
}

void DownlinkUsers::decode_block() {
  const auto places = program_->code_blocks(Direction::Downlink);
  const auto& place = places[code_block_];
  const auto& tb = program_->transport_blocks(Direction::Downlink)[place.transport_block];
  const frame::ReceivedBlock block{code_block_, &soft_[soft_offsets_[code_block_]]};
  frame::decode_blocks(*program_, Direction::Downlink, frame_.coding(Direction::Downlink),
                       {&block, 1}, phy::demap_kernels(), phy::ldpc_kernels(),
                       {recovered_.data(), ldpc_}, info_.data(), code_blocks_.data());
  if (place.index + 1 == program_->plan(tb).C()) finish_block(place.transport_block);
  if (++code_block_ == places.size()) phase_ = Phase::Idle;
}

void DownlinkUsers::finish_block(std::uint32_t transport_block) {
  const auto& tb = program_->transport_blocks(Direction::Downlink)[transport_block];
  const auto& plan = program_->plan(tb);
  bool good = frame::assemble(*program_, Direction::Downlink, transport_block, info_.data(),
                              payload_.data());
  for (std::uint32_t r = 0; r < plan.C(); ++r)
    good = good && code_blocks_[tb.first_code_block + r].good;
  good_[transport_block] = good;
  const bool same = std::memcmp(payload_.data() + tb.payload_offset,
                                expected_.data() + tb.payload_offset, (plan.A() + 7) / 8) == 0;
  const bool failed = seeded_ ? !frame::received(plan, good, same) : !good;
  DownlinkResult& result = results_[tb.user];
  ++result.blocks;
  result.failed += failed;
  result.bits += failed ? 0 : plan.A();
}

}  // namespace carillon::emulator
