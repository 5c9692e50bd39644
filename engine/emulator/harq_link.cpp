#include "emulator/harq_link.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "emulator/payload.hpp"
#include "frame/cpu/serial.hpp"
#include "frame/soft_store.hpp"

namespace carillon::emulator {
namespace {

using frame::Direction;
using frame::SymbolKind;

// The uplink alone.
frame::FrameFormat in_version(frame::FrameFormat format, std::uint32_t version) {
  std::ranges::replace(format.schedule, 'D', 'G');
  format.uplink.redundancy_version = version;
  const std::vector<std::uint32_t> grants = std::exchange(format.grants.list, {});
  for (std::size_t i = 0; i + frame::kGrantNumbers <= grants.size(); i += frame::kGrantNumbers) {
    if (grants[i + frame::kGrantDirection] != 0) continue;
    for (std::size_t k = 0; k < frame::kGrantNumbers; ++k)
      format.grants.list.push_back(k == frame::kGrantVersion ? version : grants[i + k]);
  }
  return format;
}

}  // namespace

// One of the transmissions: the same blocks in another version.
struct HarqLink::Attempt {
  Attempt(const frame::FrameFormat& format, std::uint32_t version)
      : frame(in_version(format, version)), pipeline(frame, {}) {}

  frame::Frame frame;
  frame::Pipeline pipeline;
  std::unique_ptr<UplinkGenerator> generator;
};

HarqLink::HarqLink(const frame::FrameFormat& format, const RadioPlan& plan) {
  for (const std::uint32_t version : kVersions)
    attempts_.push_back(std::make_unique<Attempt>(format, version));
  const frame::Frame& frame = attempts_.front()->frame;
  if (frame.programs().size() > 1)
    throw std::invalid_argument(
        "grants.frames is " + std::to_string(frame.programs().size()) +
        ", but retransmissions are of cells that do the same in every frame");
  samples_ = AlignedArray<std::int16_t>(std::size_t{frame.samples()} * 2 * format.antennas);
  sent_ = AlignedArray<std::uint8_t>(frame.room(Direction::Uplink).payload_bytes);
  payload_ = AlignedArray<std::uint8_t>(frame.room(Direction::Uplink).payload_bytes);
  info_ = AlignedArray<std::uint8_t>(frame.room(Direction::Uplink).info_bytes);
  recovered_ = AlignedArray<std::int8_t>(phy::LdpcCode{1, phy::kMaxLifting}.length());
  for (const auto& block : frame.program().transport_blocks(Direction::Uplink))
    bits_.push_back(&sent_[block.payload_offset]);
  good_.resize(bits_.size());
  std::size_t at = 0;
  for (const auto& place : frame.program().code_blocks(Direction::Uplink)) {
    const auto& block = frame.program().transport_blocks(Direction::Uplink)[place.transport_block];
    soft_at_.push_back(at);
    at += (frame.program().plan(block).N() + kCacheLine - 1) / kCacheLine * kCacheLine;
  }
  soft_ = AlignedArray<std::int8_t>(at);
  received_.resize(soft_at_.size());
  set_radio(plan);
}

HarqLink::~HarqLink() = default;

void HarqLink::set_radio(const RadioPlan& plan) {
  plan_ = plan;
  for (auto& attempt : attempts_) {
    attempt->generator = std::make_unique<UplinkGenerator>(attempt->frame, plan);
    attempt->pipeline.forget();
  }
}

HarqResult HarqLink::run(std::uint64_t first, std::uint64_t frames) {
  HarqResult result;
  result.blocks = frames * bits_.size();
  for (std::uint64_t n = first; n < first + frames; ++n) {
    fill_payload(attempts_.front()->frame, plan_.seed, Direction::Uplink, n, sent_.span());
    for (std::size_t t = 0; t < attempts_.size(); ++t) {
      const std::uint64_t number = n * attempts_.size() + t;
      transmit(t, number);
      add(t, number);
      const frame::FrameSlot& alone = attempts_[t]->pipeline.slot(number);
      if (t == 0) {
        result.errors[t] += wrong(alone.good, alone.payload.data());
        continue;
      }
      decode();
      result.errors[t] += wrong(good_, payload_.data());
    }
  }
  return result;
}

// Through the same pipeline as in a run.
void HarqLink::transmit(std::size_t attempt, std::uint64_t number) {
  Attempt& a = *attempts_[attempt];
  const auto at = [&](std::uint32_t symbol, std::uint32_t antenna) {
    const std::size_t sample =
        std::size_t{antenna} * a.frame.samples() + a.frame.symbol(symbol).first_sample;
    return &samples_[2 * sample];
  };
  a.generator->begin(number, a.frame.program(), bits_);
  while (a.generator->step(at)) {
  }
  a.pipeline.begin(number);
  for (const SymbolKind kind : {SymbolKind::Pilot, SymbolKind::Uplink})
    for (const std::uint32_t symbol : a.frame.symbols_of(kind))
      for (std::uint32_t antenna = 0; antenna < a.frame.format().antennas; ++antenna)
        a.pipeline.set_samples(number, symbol, antenna, at(symbol, antenna));
  frame::run_serially(a.pipeline, number);
}

// Its soft bits to those of the transmissions before.
void HarqLink::add(std::size_t attempt, std::uint64_t number) {
  const Attempt& a = *attempts_[attempt];
  const std::int8_t* soft = attempts_[attempt]->pipeline.slot(number).soft.data();
  const auto places = a.frame.program().code_blocks(Direction::Uplink);
  for (std::size_t c = 0; c < places.size(); ++c) {
    const auto& block = a.frame.program().code_block(Direction::Uplink, places[c]);
    const std::int8_t* from = soft + places[c].coded_offset;
    if (!block.map.direct) {
      phy::demap_kernels().recover(block.map, from, recovered_.data());
      from = recovered_.data();
    }
    std::int8_t* to = &soft_[soft_at_[c]];
    if (attempt == 0) {
      std::copy_n(from, block.map.N, to);
      received_[c] = block.last_position;
      continue;
    }
    frame::add_soft(to, from, block.map.N);
    received_[c] = std::max(received_[c], block.last_position);
  }
}

void HarqLink::decode() {
  const frame::Frame& frame = attempts_.front()->frame;
  const auto blocks = frame.program().transport_blocks(Direction::Uplink);
  const auto places = frame.program().code_blocks(Direction::Uplink);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const auto& plan = frame.program().plan(blocks[b]);
    bool good = true;
    for (std::uint32_t c = blocks[b].first_code_block; c < blocks[b].first_code_block + plan.C();
         ++c) {
      phy::DecodeBlock block{&soft_[soft_at_[c]], &info_[places[c].info_offset], {}};
      frame::CodeBlockResult found;
      frame::decode_soft(plan, frame.coding(Direction::Uplink), received_[c], {&block, 1},
                         phy::ldpc_kernels(), ldpc_, {&found, 1});
      good = good && found.good;
    }
    good_[b] = frame::assemble(frame.program(), Direction::Uplink, static_cast<std::uint32_t>(b),
                               info_.data(), payload_.data()) &&
               good;
  }
}

std::uint64_t HarqLink::wrong(std::span<const std::uint8_t> good,
                              const std::uint8_t* payload) const {
  const frame::Frame& frame = attempts_.front()->frame;
  const auto blocks = frame.program().transport_blocks(Direction::Uplink);
  std::uint64_t count = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const auto& plan = frame.program().plan(blocks[b]);
    const bool same =
        std::memcmp(payload + blocks[b].payload_offset, bits_[b], (plan.A() + 7) / 8) == 0;
    count += !frame::received(plan, good[b] != 0, same);
  }
  return count;
}

}  // namespace carillon::emulator
