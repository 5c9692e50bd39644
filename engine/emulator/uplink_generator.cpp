#include "emulator/uplink_generator.hpp"

#include <algorithm>
#include <cmath>

#include "emulator/payload.hpp"

namespace carillon::emulator {
namespace {

using frame::Direction;
using frame::SymbolKind;

constexpr double kSampleRms = 0.125;
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
      plan_(plan),
      channel_(frame, plan),
      scale_(sample_scale(frame, plan)),
      ofdm_(frame.ofdm()),
      payload_(frame.payload_bytes(Direction::Uplink)),
      coded_(frame.coded_bytes(Direction::Uplink)),
      info_(phy::LdpcCode{1, phy::kMaxLifting}.info_bits() / 8),
      codeword_(phy::LdpcCode{1, phy::kMaxLifting}.length() / 8 + phy::kCodedPadding),
      symbols_(std::size_t{frame.tiles()} * frame.format().users),
      received_(std::size_t{frame.tiles()} * frame.array().antenna_stride) {}

void UplinkGenerator::generate(std::uint64_t index, const Place& place) {
  channel_.select(index);
  clipped_ = 0;
  encode(index);
  Noise noise(plan_.seed, kNoiseStream + index);
  for (std::uint32_t s = 0; s < frame_.symbols().size(); ++s) {
    const SymbolKind kind = frame_.symbol(s).kind;
    if (kind != SymbolKind::Pilot && kind != SymbolKind::Uplink) continue;
    user_symbols(s);
    antenna_samples(s, place, noise);
  }
}

void UplinkGenerator::encode(std::uint64_t index) {
  fill_payload(frame_, plan_.seed, Direction::Uplink, index, payload_.span());
  const auto blocks = frame_.code_blocks(Direction::Uplink);
  for (std::uint32_t b = 0; b < blocks.size(); ++b)
    frame::encode_block(frame_, Direction::Uplink, b, phy::ldpc_kernels(), payload_.data(),
                        coded_.data(), {info_.data(), codeword_.data(), ldpc_});
}

void UplinkGenerator::user_symbols(std::uint32_t symbol) {
  const auto& s = frame_.symbol(symbol);
  const std::uint32_t users = frame_.format().users;
  if (s.kind == SymbolKind::Uplink) {
    for (std::uint32_t u = 0; u < users; ++u)
      frame::modulate_user(frame_, Direction::Uplink, symbol, u, phy::modulate_kernels(),
                           coded_.data(), &symbols_[u], users);
    return;
  }
  std::fill(symbols_.begin(), symbols_.end(), phy::Tile{});
  for (std::uint32_t u = 0; u < users; ++u) {
    if (frame_.pilot_symbol_of(u) != s.ordinal) continue;
    const auto pilot = frame_.pilot_tiles(u);
    for (std::uint32_t t = 0; t < frame_.tiles(); ++t) symbols_[t * users + u] = pilot[t];
  }
}

// The prefix makes the channel circular, so that it is one product per subcarrier: the precoder's.
void UplinkGenerator::antenna_samples(std::uint32_t symbol, const Place& place, Noise& noise) {
  const std::size_t stride = frame_.array().antenna_stride;
  const std::uint32_t users = frame_.format().users;
  const auto& precode = phy::precode_kernels();
  for (std::uint32_t t = 0; t < frame_.tiles(); ++t) {
    const phy::Tile* from = &symbols_[std::size_t{t} * users];
    phy::Tile* to = &received_[t * stride];
    if (channel_.flat())
      precode.per_tile(frame_.array(), channel_.flat_response(), from, to);
    else
      precode.per_subcarrier(frame_.array(), channel_.response(t), from, to);
  }
  const auto& s = frame_.symbol(symbol);
  const auto amplitude = static_cast<float>(scale_ * 32768 * std::sqrt(0.5));
  for (std::uint32_t a = 0; a < frame_.format().antennas; ++a) {
    std::int16_t* samples = place(symbol, a);
    clipped_ += phy::ofdm_kernels().transmit(frame_.ofdm(), &received_[a], stride,
                                             static_cast<float>(scale_), s.prefix, samples, ofdm_);
    clipped_ += noise.add({samples, 2 * std::size_t{s.samples}}, amplitude);
  }
}

}  // namespace carillon::emulator
