// A cell from the users' bits to the base station's: emulated samples, no runtime, no time.
#pragma once

#include <cstring>
#include <functional>

#include "emulator/uplink_generator.hpp"
#include "frame/cpu/pipeline.hpp"
#include "frame/cpu/serial.hpp"
#include "support/test.hpp"

namespace carillon::test {

inline frame::FrameFormat small_format() {
  frame::FrameFormat format;
  format.antennas = 6;
  format.users = 2;
  format.numerology.fft_size = 128;
  format.numerology.subcarriers = 72;
  format.schedule = "PPUUUU";
  return format;
}

/// Many users for the antennas, in integers.
inline void crowd(frame::FrameFormat& format) {
  format.antennas = 48;
  format.users = 32;
  format.pilots.kind = frame::PilotKind::Comb;
  format.pilots.comb = 16;
  format.combiner.group = 16;
  format.combiner.precision = frame::Precision::Int16;
}

/// The small format, but for what `change` makes of it.
template <typename Change>
frame::FrameFormat changed(Change&& change) {
  frame::FrameFormat format = small_format();
  change(format);
  return format;
}

inline emulator::RadioPlan clear_air(double snr_db = 30) {
  emulator::RadioPlan plan;
  plan.snr_db = {snr_db};
  plan.delay_spread_ns = 0;
  return plan;
}

struct Cell {
  explicit Cell(const frame::FrameFormat& format, const emulator::RadioPlan& plan = clear_air(),
                Isa isa = active_isa(), std::uint32_t workers = 1)
      : frame(format),
        pipeline(frame, {.workers = workers, .isa = isa}),
        generator(frame, plan),
        samples(std::size_t{frame.samples()} * 2 * format.antennas),
        stride(2 * std::size_t{frame.most_samples()}),
        radiated(pipeline.ring() * downlink_symbols() * format.antennas * stride) {
    for (std::uint32_t slot = 0; slot < pipeline.ring(); ++slot)
      for (std::uint32_t d = 0; d < downlink_symbols(); ++d)
        for (std::uint32_t a = 0; a < format.antennas; ++a)
          pipeline.set_transmit(slot, d, a, samples_of(slot, d, a));
    for (std::uint32_t slot = 0; slot < pipeline.ring(); ++slot) {
      downlink.emplace_back(frame.room(frame::Direction::Downlink).payload_bytes);
      pipeline.set_downlink(slot, downlink.back().data());
    }
  }

  std::size_t downlink_symbols() const {
    return frame.symbols_of(frame::SymbolKind::Downlink).size();
  }
  /// What an antenna radiates in a D symbol, prefix first.
  std::int16_t* samples_of(std::uint64_t slot, std::uint32_t ordinal, std::uint32_t antenna) {
    const std::uint32_t antennas = frame.format().antennas;
    return &radiated[((slot * downlink_symbols() + ordinal) * antennas + antenna) * stride];
  }

  using Lost = std::function<bool(std::uint32_t symbol, std::uint32_t antenna)>;

  using Spoil = std::function<void(std::vector<std::int16_t>& samples)>;

  /// Sends frame `index` through the air and the pipeline.
  void run(std::uint64_t index, const Lost& lost = {}, const Spoil& spoil = {}) {
    fill(index, lost, spoil);
    frame::run_serially(pipeline, index);
  }

  /// Sends it through the air: the frame has begun, and its samples are there.
  void fill(std::uint64_t index, const Lost& lost = {}, const Spoil& spoil = {}) {
    const auto place = [&](std::uint32_t symbol, std::uint32_t antenna) {
      return &samples[2 *
                      (std::size_t{antenna} * frame.samples() + frame.symbol(symbol).first_sample)];
    };
    generator.generate(index, place);
    if (spoil) spoil(samples);
    pipeline.begin(index);
    for (std::uint32_t s = 0; s < frame.symbols().size(); ++s)
      for (std::uint32_t a = 0; a < frame.format().antennas; ++a)
        if (!lost || !lost(s, a)) pipeline.set_samples(index, s, a, place(s, a));
  }

  const frame::FrameProgram& program(std::uint64_t index) { return *pipeline.slot(index).program; }
  /// Uplink blocks of the frame last run that are called good.
  std::size_t good_blocks(std::uint64_t index) {
    std::size_t good = 0;
    for (const auto flag : pipeline.slot(index).good) good += flag;
    return good;
  }
  /// Those that are not good, or differ from what was sent.
  std::size_t wrong_blocks(std::uint64_t index) {
    std::size_t wrong = 0;
    const auto blocks = program(index).transport_blocks(frame::Direction::Uplink);
    for (std::size_t b = 0; b < blocks.size(); ++b)
      wrong += pipeline.slot(index).good[b] == 0 || !same_bits(index, blocks[b]);
    return wrong;
  }
  bool same_bits(std::uint64_t index, const frame::TransportBlock& block) {
    return std::memcmp(pipeline.slot(index).payload.data() + block.payload_offset,
                       generator.payload().data() + block.payload_offset,
                       (program(index).plan(block).A() + 7) / 8) == 0;
  }

  frame::Frame frame;
  frame::Pipeline pipeline;
  emulator::UplinkGenerator generator;
  std::vector<std::int16_t> samples;
  std::size_t stride;
  std::vector<std::int16_t> radiated;
  std::vector<AlignedArray<std::uint8_t>> downlink;  // [slot] payload memory, zeros
};

}  // namespace carillon::test
