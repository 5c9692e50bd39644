#include "emulator/recorded_air.hpp"

#include "emulator/payload.hpp"
#include "emulator/uplink_generator.hpp"

namespace carillon::emulator {

using frame::Direction;

RecordedAir::RecordedAir(const frame::Frame& frame, const RadioPlan& radio)
    : frame_(frame),
      samples_(std::size_t{2} * frame.samples() * frame.format().antennas * frame.format().ring) {
  UplinkGenerator generator(frame, radio);
  for (std::uint32_t number = 0; number < frame.format().ring; ++number) {
    generator.generate(number, [&](std::uint32_t symbol, std::uint32_t antenna) {
      return &samples_[first(number, symbol, antenna)];
    });
    payloads_.emplace_back(generator.payload().begin(), generator.payload().end());
    std::vector<std::uint8_t>& down =
        downlinks_.emplace_back(frame.room(Direction::Downlink).payload_bytes);
    if (!down.empty()) fill_payload(frame, radio.seed, Direction::Downlink, number, down);
  }
}

std::span<const std::int16_t> RecordedAir::samples(std::uint32_t number, std::uint32_t symbol,
                                                   std::uint32_t antenna) const {
  return {&samples_[first(number, symbol, antenna)],
          std::size_t{2} * frame_.symbol(symbol).samples};
}

std::size_t RecordedAir::first(std::uint32_t number, std::uint32_t symbol,
                               std::uint32_t antenna) const {
  const std::size_t antennas = frame_.format().antennas;
  const auto& s = frame_.symbol(symbol);
  return 2 * (antennas * (std::size_t{number} * frame_.samples() + s.first_sample) +
              std::size_t{antenna} * s.samples);
}

}  // namespace carillon::emulator
