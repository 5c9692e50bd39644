#include "emulator/uplink_generator.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "emulator/payload.hpp"

namespace carillon::emulator {
namespace {

using frame::Direction;
using frame::SymbolKind;
using phy::kTileLanes;

constexpr double kSampleRms = 0.125;
constexpr float kPerDimension = std::numbers::sqrt2_v<float> / 2;  // of noise of variance 1
constexpr std::uint64_t kNoiseStream = 1ULL << 61;

double sample_scale(const frame::Frame& frame, const RadioPlan& plan) {
  double power = 0;
  for (std::uint32_t u = 0; u < frame.format().users; ++u)
    power += std::pow(10, plan.snr_of(u) / 10);
  const auto& shape = frame.ofdm().shape();
  return kSampleRms / std::sqrt(power * shape.subcarriers / shape.fft_size + 1);
}

}  // namespace

UplinkGenerator::UplinkGenerator(const frame::Frame& frame, const RadioPlan& plan)
    : frame_(frame),
      program_(&frame.program()),
      plan_(plan),
      channel_(frame, plan),
      scale_(sample_scale(frame, plan)),
      noise_(plan.seed, kNoiseStream),
      ofdm_(frame.ofdm()),
      payload_(frame.room(Direction::Uplink).payload_bytes),
      coded_(frame.room(Direction::Uplink).coded_bytes),
      info_(phy::LdpcCode{1, phy::kMaxLifting}.info_bits() / 8),
      codeword_(phy::LdpcCode{1, phy::kMaxLifting}.length() / 8 + phy::kCodedPadding),
      symbols_(std::size_t{frame.tiles()} * frame.format().users),
      received_(std::size_t{frame.tiles()} * frame.array().antenna_stride),
      unused_(2 * std::size_t{frame.ofdm().noise_bins()}),
      bits_(frame.room(Direction::Uplink).transport_blocks) {
  for (const SymbolKind kind : {SymbolKind::Pilot, SymbolKind::Uplink})
    for (const std::uint32_t symbol : frame.symbols_of(kind)) sent_.push_back(symbol);
}

void UplinkGenerator::generate(std::uint64_t index, const Place& place) {
  begin(index);
  while (step(place)) {
  }
}

void UplinkGenerator::begin(std::uint64_t index) {
  encode(index);
  rewind(index);
  channel_.select(index, sent_.front());
}

void UplinkGenerator::begin(std::uint64_t index, const frame::FrameProgram& program,
                            std::span<const std::uint8_t* const> bits) {
  program_ = &program;
  std::ranges::copy(bits, bits_.begin());
  rewind(index);
  code_block_ = 0;
}

void UplinkGenerator::rewind(std::uint64_t index) {
  index_ = index;
  channel_.begin(index, sent_.front());
  noise_ = Noise(plan_.seed, kNoiseStream + index);
  clipped_ = 0;
  code_block_ = static_cast<std::uint32_t>(program_->code_blocks(Direction::Uplink).size());
  symbol_ = antenna_ = 0;
}

bool UplinkGenerator::step(const Place& place) {
  if (channel_.step()) return true;
  if (reads_bits()) {
    const auto& block = program_->code_blocks(Direction::Uplink)[code_block_];
    encode_block(code_block_++, bits_[block.transport_block]);
    return true;
  }
  if (symbol_ == sent_.size()) return false;
  const std::uint32_t symbol = sent_[symbol_];
  if (antenna_ == 0) propagate(symbol, received_.data());
  antenna_samples(symbol, static_cast<std::uint32_t>(antenna_), place);
  if (++antenna_ < frame_.format().antennas) return true;
  antenna_ = 0;
  if (++symbol_ == sent_.size()) return false;
  channel_.begin(index_, sent_[symbol_]);
  return true;
}

void UplinkGenerator::encode(std::uint64_t index) {
  fill_payload(frame_, plan_.seed, Direction::Uplink, index, payload_.span());
  program_ = &frame_.program(index);
  const auto blocks = program_->code_blocks(Direction::Uplink);
  for (std::uint32_t b = 0; b < blocks.size(); ++b) {
    const auto& tb = program_->transport_blocks(Direction::Uplink)[blocks[b].transport_block];
    encode_block(b, &payload_[tb.payload_offset]);
  }
}

void UplinkGenerator::encode_block(std::uint32_t code_block, const std::uint8_t* bits) {
  frame::encode_block(*program_, Direction::Uplink, code_block, phy::ldpc_kernels(), bits,
                      coded_.data(), {info_.data(), codeword_.data(), ldpc_});
}

void UplinkGenerator::user_symbols(std::uint32_t symbol) {
  const auto& s = frame_.symbol(symbol);
  const std::uint32_t users = frame_.format().users;
  if (s.kind == SymbolKind::Uplink) {
    for (std::uint32_t u = 0; u < users; ++u)
      frame::modulate_user(*program_, frame_.tiles(), Direction::Uplink, symbol, u,
                           phy::modulate_kernels(), coded_.data(), &symbols_[u], users);
    return;
  }
  std::fill(symbols_.begin(), symbols_.end(), phy::Tile{});
  for (std::uint32_t u = 0; u < users; ++u) {
    if (frame_.pilot_symbol_of(u) != frame_.place_of_pilot(symbol)) continue;
    const auto pilot = frame_.pilot_tiles(u);
    for (std::uint32_t t = 0; t < frame_.tiles(); ++t) symbols_[t * users + u] = pilot[t];
  }
}

// The prefix makes the channel circular, so that it is one product per subcarrier: the precoder's.
void UplinkGenerator::propagate(std::uint32_t symbol, phy::Tile* grid) {
  user_symbols(symbol);
  const auto& precode = phy::precode_kernels();
  for (std::uint32_t t = 0; t < frame_.tiles(); ++t) {
    const phy::Tile* from = &symbols_[std::size_t{t} * frame_.format().users];
    phy::Tile* to = &grid[std::size_t{t} * frame_.array().antenna_stride];
    if (channel_.flat())
      precode.per_tile(frame_.array(), channel_.flat_response(), from, to);
    else
      precode.per_group(frame_.array(), {}, channel_.response(t), from, to);
  }
}

void UplinkGenerator::antenna_samples(std::uint32_t symbol, std::uint32_t antenna,
                                      const Place& place) {
  const auto& s = frame_.symbol(symbol);
  std::int16_t* samples = place(symbol, antenna);
  clipped_ += phy::ofdm_kernels().transmit(frame_.ofdm(), &received_[antenna],
                                           frame_.array().antenna_stride,
                                           static_cast<float>(scale_), s.prefix, samples, ofdm_);
  clipped_ += noise_.add({samples, 2 * std::size_t{s.samples}},
                         static_cast<float>(scale_ * 32768) * kPerDimension);
}

void UplinkGenerator::generate_silence(const Place& place) {
  std::fill(received_.begin(), received_.end(), phy::Tile{});
  for (const std::uint32_t symbol : sent_)
    for (std::uint32_t a = 0; a < frame_.format().antennas; ++a) antenna_samples(symbol, a, place);
}

void UplinkGenerator::receive(std::uint32_t symbol, phy::Tile* grid) {
  channel_.select(index_, symbol);
  propagate(symbol, grid);
  const std::uint32_t antennas = frame_.format().antennas;
  const std::size_t stride = frame_.array().antenna_stride;
  for (std::uint32_t t = 0; t < frame_.tiles(); ++t)
    noise_.add({grid[t * stride].re, std::size_t{antennas} * 2 * kTileLanes}, kPerDimension);
  const std::uint32_t last = frame_.tiles() - 1;
  for (std::uint32_t a = 0; a < antennas; ++a)
    for (std::uint32_t k = frame_.format().numerology.subcarriers - last * kTileLanes;
         k < kTileLanes; ++k)
      grid[last * stride + a].re[k] = grid[last * stride + a].im[k] = 0;
}

float UplinkGenerator::noise_power() {
  if (unused_.size() == 0) return 0;
  std::fill(unused_.begin(), unused_.end(), 0.0F);
  noise_.add(unused_.span(), kPerDimension);
  double power = 0;
  for (const float x : unused_) power += static_cast<double>(x * x);
  return static_cast<float>(power / frame_.ofdm().noise_bins());
}

}  // namespace carillon::emulator
