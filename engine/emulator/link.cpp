#include "emulator/link.hpp"

#include <algorithm>
#include <bit>

#include "emulator/payload.hpp"
#include "frame/cpu/serial.hpp"
#include "frame/receive.hpp"
#include "frame/transmit.hpp"

namespace carillon::emulator {
namespace {

using frame::Direction;
using frame::SymbolKind;
using phy::kTileLanes;

// The first `bits` bits of both, most significant first.
std::uint64_t payload_errors(const std::uint8_t* a, const std::uint8_t* b, std::uint32_t bits) {
  std::uint64_t errors = 0;
  for (std::uint32_t i = 0; i < bits / 8; ++i)
    errors += static_cast<std::uint64_t>(std::popcount(static_cast<std::uint8_t>(a[i] ^ b[i])));
  if (bits % 8 != 0) {
    const auto last = static_cast<std::uint8_t>((a[bits / 8] ^ b[bits / 8]) >> (8 - bits % 8));
    errors += static_cast<std::uint64_t>(std::popcount(last));
  }
  return errors;
}

// One frame of one direction: what was sent, and what was made of it.
struct Exchange {
  const std::uint8_t* sent_payload;
  const std::uint8_t* sent_coded;
  const std::uint8_t* payload;
  std::span<const frame::CodeBlockResult> code_blocks;
  std::span<const std::uint8_t> good;
};

template <typename SoftOf>
void count_blocks(const frame::FrameProgram& program, Direction direction, const Exchange& x,
                  SoftOf&& soft_of, LinkSide& side) {
  const auto blocks = program.transport_blocks(direction);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const auto& tb = blocks[b];
    const phy::TransportPlan& plan = program.plan(tb);
    const std::uint32_t bits = plan.A();
    const auto errors =
        payload_errors(x.payload + tb.payload_offset, x.sent_payload + tb.payload_offset, bits);
    auto& counts = side.users[tb.user];
    ++counts.blocks;
    counts.block_errors += !frame::received(plan, x.good[b] != 0, errors == 0);
    counts.undetected += x.good[b] != 0 && errors > 0;
    counts.payload_bits += bits;
    counts.payload_errors += errors;
  }
  const auto places = program.code_blocks(direction);
  for (std::uint32_t c = 0; c < places.size(); ++c) {
    const auto& map = program.code_block(direction, places[c]).map;
    auto& counts = side.users[blocks[places[c].transport_block].user];
    ++counts.code_blocks;
    counts.code_block_errors += !x.code_blocks[c].good;
    counts.iterations += x.code_blocks[c].decode.iterations;
    counts.raw_bits += map.E;
    counts.raw_errors += frame::raw_errors(map, soft_of(c), x.sent_coded + places[c].coded_offset);
  }
}

}  // namespace

LinkCounts& LinkCounts::operator+=(const LinkCounts& other) {
  blocks += other.blocks;
  block_errors += other.block_errors;
  undetected += other.undetected;
  code_blocks += other.code_blocks;
  code_block_errors += other.code_block_errors;
  iterations += other.iterations;
  raw_bits += other.raw_bits;
  raw_errors += other.raw_errors;
  payload_bits += other.payload_bits;
  payload_errors += other.payload_errors;
  error_power += other.error_power;
  noise_power += other.noise_power;
  symbols += other.symbols;
  known_error += other.known_error;
  known_symbols += other.known_symbols;
  return *this;
}

LinkCounts LinkSide::total() const {
  LinkCounts sum;
  for (const auto& user : users) sum += user;
  return sum;
}

LinkSimulator::LinkSimulator(const frame::Frame& frame, const RadioPlan& plan, UplinkPath path)
    : frame_(frame),
      path_(path),
      pipeline_(frame, {.source = path == UplinkPath::Subcarriers ? this : nullptr}),
      ofdm_(frame.ofdm()),
      downlink_payload_(frame.room(Direction::Downlink).payload_bytes),
      samples_(std::size_t{frame.samples()} * 2 * frame.format().antennas),
      sent_(frame.tiles()),
      pilots_(std::size_t{frame.tiles()} * frame.array().antenna_stride),
      pilot_power_(frame.format().users) {
  set_radio(plan);
  const auto downlink = frame.symbols_of(SymbolKind::Downlink);
  for (std::uint32_t slot = 0; slot < pipeline_.ring(); ++slot)
    for (std::uint32_t d = 0; d < downlink.size(); ++d)
      for (std::uint32_t a = 0; a < frame.format().antennas; ++a)
        pipeline_.set_transmit(slot, d, a, samples(downlink[d], a));
}

void LinkSimulator::set_radio(const RadioPlan& plan) {
  plan_ = plan;
  generator_.emplace(frame_, plan);
  users_.emplace(frame_, plan);
  pipeline_.forget();
}

std::int16_t* LinkSimulator::samples(std::uint32_t symbol, std::uint32_t antenna) {
  const std::size_t sample =
      std::size_t{antenna} * frame_.samples() + frame_.symbol(symbol).first_sample;
  return &samples_[2 * sample];
}

LinkResult LinkSimulator::run(std::uint64_t first, std::uint64_t frames) {
  LinkResult result;
  result.frames = frames;
  result.uplink.users.resize(frame_.format().users);
  result.downlink.users.resize(frame_.format().users);
  result.signal_power.resize(frame_.format().users);
  for (std::uint64_t n = first; n < first + frames; ++n) {
    pipeline_.begin(n);
    fill_payload(frame_, plan_.seed, Direction::Downlink, n, downlink_payload_.span());
    pipeline_.set_downlink(n, downlink_payload_.data());
    run_uplink(n, result);
    measure_pilots(n, result);
    if (pipeline_.slot(n).precoder != nullptr) run_downlink(n, result);
  }
  const auto count = static_cast<double>(std::max<std::uint64_t>(1, frames));
  result.noise_estimate /= count;
  for (auto& power : result.signal_power) power /= count;
  return result;
}

// The pipeline's run includes making the downlink.
void LinkSimulator::run_uplink(std::uint64_t frame, LinkResult& result) {
  std::fill(pilot_power_.begin(), pilot_power_.end(), 0.0);
  if (path_ == UplinkPath::Subcarriers)
    generator_->begin(frame);
  else
    receive_samples(frame);
  frame::run_serially(pipeline_, frame);

  const auto& slot = pipeline_.slot(frame);
  const Exchange exchange{generator_->payload().data(), generator_->coded().data(),
                          slot.payload.data(), slot.results, slot.good};
  const auto soft_of = [&](std::uint32_t c) {
    return slot.soft.data() + slot.program->code_blocks(Direction::Uplink)[c].coded_offset;
  };
  count_blocks(*slot.program, Direction::Uplink, exchange, soft_of, result.uplink);
  const std::size_t users = frame_.format().users;
  for (std::size_t i = 0; i < slot.quality.size(); ++i) {
    auto& counts = result.uplink.users[i % users];
    counts.error_power += static_cast<double>(slot.quality[i].error_power);
    counts.noise_power += static_cast<double>(slot.quality[i].noise_power);
    counts.symbols += slot.quality[i].symbols;
  }
  compare_with_sent(frame, result.uplink);
  result.ill_conditioned += slot.combiners->ill_conditioned.load(std::memory_order_relaxed);
  result.clipped += generator_->clipped() + slot.saturated.load(std::memory_order_relaxed);
}

// The tile that the receiver kept of each symbol.
void LinkSimulator::compare_with_sent(std::uint64_t frame, LinkSide& uplink) {
  const std::uint32_t user = pipeline_.sampled_user(frame);
  LinkCounts& counts = uplink.users[user];
  for (const std::uint32_t symbol : frame_.symbols_of(SymbolKind::Uplink)) {
    const std::uint32_t tile = pipeline_.sampled_tile(frame, symbol);
    const phy::Tile& received = pipeline_.slot(frame).constellation[frame_.symbol(symbol).ordinal];
    const frame::FrameProgram& program = *pipeline_.slot(frame).program;
    frame::modulate_user(program, frame_.tiles(), Direction::Uplink, symbol, user,
                         phy::modulate_kernels(), generator_->coded().data(), sent_.data(), 1);
    std::uint32_t lanes = 0;
    for (const auto& a : program.allocations(symbol, user)) lanes |= frame::lanes_in(a, tile);
    counts.known_error += static_cast<double>(distance(received, sent_[tile], lanes));
    counts.known_symbols += static_cast<std::uint64_t>(std::popcount(lanes));
  }
}

float LinkSimulator::pilot_row(std::uint32_t symbol, std::uint32_t antenna,
                               phy::Tile* row) noexcept {
  if (antenna == 0) generator_->receive(symbol, pilots_.data());
  const std::size_t stride = frame_.array().antenna_stride;
  for (std::uint32_t t = 0; t < frame_.tiles(); ++t) {
    const phy::Tile& y = pilots_[t * stride + antenna];
    const phy::Tile& division = frame_.pilot_division()[t];
    for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
      row[t].re[lane] = y.re[lane] * division.re[lane] - y.im[lane] * division.im[lane];
      row[t].im[lane] = y.re[lane] * division.im[lane] + y.im[lane] * division.re[lane];
    }
  }
  add_pilot_power(symbol, &pilots_[antenna], stride);
  return generator_->noise_power();
}

void LinkSimulator::uplink_grid(std::uint32_t symbol, phy::Tile* grid) noexcept {
  generator_->receive(symbol, grid);
}

void LinkSimulator::receive_samples(std::uint64_t frame) {
  generator_->generate(
      frame, [&](std::uint32_t symbol, std::uint32_t antenna) { return samples(symbol, antenna); });
  for (const SymbolKind kind : {SymbolKind::Pilot, SymbolKind::Uplink})
    for (const std::uint32_t symbol : frame_.symbols_of(kind))
      for (std::uint32_t a = 0; a < frame_.format().antennas; ++a)
        pipeline_.set_samples(frame, symbol, a, samples(symbol, a));
  for (const std::uint32_t symbol : frame_.symbols_of(SymbolKind::Pilot))
    for (std::uint32_t a = 0; a < frame_.format().antennas; ++a) {
      phy::ofdm_kernels().receive(frame_.ofdm(),
                                  samples(symbol, a) + 2 * frame_.symbol(symbol).prefix,
                                  pilots_.data(), 1, ofdm_);
      add_pilot_power(symbol, pilots_.data(), 1);
    }
}

void LinkSimulator::run_downlink(std::uint64_t frame, LinkResult& result) {
  users_->seed_noise(frame);
  const auto& coded = pipeline_.slot(frame).downlink_coded;
  users_->start(
      frame, frame,
      [&](std::uint32_t symbol, std::uint32_t antenna) { return samples(symbol, antenna); },
      coded.data());
  while (users_->step()) {
  }
  const Exchange exchange{users_->expected().data(), coded.data(), users_->payload().data(),
                          users_->code_blocks(), users_->good()};
  count_blocks(
      *pipeline_.slot(frame).program, Direction::Downlink, exchange,
      [&](std::uint32_t c) { return users_->soft(c); }, result.downlink);
  for (std::size_t u = 0; u < users_->results().size(); ++u) {
    auto& counts = result.downlink.users[u];
    counts.error_power += static_cast<double>(users_->results()[u].error_power);
    counts.symbols += users_->results()[u].symbols;
    counts.known_error += static_cast<double>(users_->results()[u].known_error);
    counts.known_symbols += users_->results()[u].symbols;
  }
}

// Powers of the subcarriers that carry each user's pilots, noise included.
void LinkSimulator::add_pilot_power(std::uint32_t symbol, const phy::Tile* row,
                                    std::size_t stride) {
  const std::uint32_t comb = frame_.comb(), first = frame_.place_of_pilot(symbol) * comb;
  for (std::uint32_t k = 0, offset = 0; k < frame_.format().numerology.subcarriers; ++k) {
    const phy::Tile& y = row[k / kTileLanes * stride];
    const float re = y.re[k % kTileLanes], im = y.im[k % kTileLanes];
    if (first + offset < pilot_power_.size())
      pilot_power_[first + offset] += static_cast<double>(re * re + im * im);
    if (++offset == comb) offset = 0;
  }
}

void LinkSimulator::measure_pilots(std::uint64_t frame, LinkResult& result) {
  const double noise =
      path_ == UplinkPath::Subcarriers ? 1 : generator_->scale() * generator_->scale();
  const auto& estimates = pipeline_.slot(frame).noise;
  double sum = 0;
  for (const float estimate : estimates) sum += static_cast<double>(estimate);
  result.noise_estimate += sum / static_cast<double>(estimates.size()) / noise;
  const std::uint32_t subcarriers = frame_.format().numerology.subcarriers, comb = frame_.comb();
  for (std::uint32_t u = 0; u < frame_.format().users; ++u) {
    const std::uint32_t pilots =
        std::max(1U, (subcarriers + comb - 1 - u % comb) / comb) * frame_.occasions();
    result.signal_power[u] += pilot_power_[u] / (pilots * frame_.format().antennas) / noise - 1;
  }
}

}  // namespace carillon::emulator
