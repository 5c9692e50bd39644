#include "emulator/memory_air.hpp"

#include <algorithm>

#include "emulator/uplink_generator.hpp"

namespace carillon::emulator {
namespace {

using frame::SymbolKind;

constexpr std::size_t kSampleBytes = std::size_t{96} << 20;  // of all frames together

}  // namespace

MemoryAir::MemoryAir(const frame::Frame& frame, const RadioPlan& radio) : frame_(frame) {
  const std::size_t antennas = frame.format().antennas, bytes = antennas * frame.samples() * 4;
  frames_ = std::max<std::size_t>(2, kSampleBytes / bytes);
  sent_ = AlignedArray<std::int16_t>(frame.format().ring * bytes / 2);
  UplinkGenerator generator(frame, radio);
  // A few different frames are enough: what matters is that each lies in memory of its own. Where
  // frames are alike, an older frame's precoder has the channel that it was made for.
  const bool one = frame.format().deadlines.precoder_age > 0 || frame.programs().size() > 1;
  different_ = (one ? 1U : 2U) * frame.programs().size();
  frames_ = (frames_ + different_ - 1) / different_ * different_;
  samples_ = AlignedArray<std::int16_t>(frames_ * bytes / 2);
  for (std::size_t i = 0; i < different_; ++i)
    generator.generate(
        i, [&](auto symbol, auto antenna) { return place(samples_, i, symbol, antenna); });
  for (std::size_t i = different_; i < frames_; ++i)
    std::copy_n(&samples_[i % different_ * bytes / 2], bytes / 2, &samples_[i * bytes / 2]);
}

const std::int16_t* MemoryAir::sent(std::uint64_t frame, std::uint32_t symbol,
                                    std::uint32_t antenna) {
  return place(sent_, frame % frame_.format().ring, symbol, antenna);
}

void MemoryAir::prepare(frame::Pipeline& pipeline) {
  const auto symbols = frame_.symbols_of(SymbolKind::Downlink);
  for (std::uint32_t slot = 0; slot < frame_.format().ring; ++slot)
    for (std::uint32_t ordinal = 0; ordinal < symbols.size(); ++ordinal)
      for (std::uint32_t a = 0; a < frame_.format().antennas; ++a)
        pipeline.set_transmit(slot, ordinal, a, place(sent_, slot, symbols[ordinal], a));
}

void MemoryAir::bring(frame::Pipeline& pipeline, std::uint64_t frame) {
  pipeline.begin(frame);
  for (const SymbolKind kind : {SymbolKind::Pilot, SymbolKind::Uplink})
    for (const std::uint32_t symbol : frame_.symbols_of(kind))
      for (std::uint32_t a = 0; a < frame_.format().antennas; ++a)
        pipeline.set_samples(frame, symbol, a, place(samples_, frame % frames_, symbol, a));
}

// [frame][symbol][antenna][sample], prefixes included
std::int16_t* MemoryAir::place(AlignedArray<std::int16_t>& memory, std::size_t frame,
                               std::uint32_t symbol, std::uint32_t antenna) {
  const std::size_t antennas = frame_.format().antennas;
  const auto& s = frame_.symbol(symbol);
  return &memory[2 * (antennas * (frame * frame_.samples() + s.first_sample) +
                      std::size_t{antenna} * s.samples)];
}

}  // namespace carillon::emulator
