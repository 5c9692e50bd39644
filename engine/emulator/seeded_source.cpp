#include "emulator/seeded_source.hpp"

#include "emulator/payload.hpp"

namespace carillon::emulator {

using frame::Direction;

SeededSource::SeededSource(const frame::Frame& frame, std::uint64_t seed) : frame_(frame) {
  for (std::uint64_t n = 0; n < downlink_payloads(frame); ++n) {
    payloads_.emplace_back(frame.room(Direction::Downlink).payload_bytes);
    fill_payload(frame, seed, Direction::Downlink, n, payloads_.back().span());
  }
}

void SeededSource::take(frame::FramePlace frame, Tick,
                        std::span<const std::uint8_t*> bits) noexcept {
  const auto blocks = frame_.program(frame.radio_frame).transport_blocks(Direction::Downlink);
  const std::uint8_t* payload = payloads_[frame.radio_frame % payloads_.size()].data();
  for (std::size_t b = 0; b < blocks.size(); ++b) bits[b] = payload + blocks[b].payload_offset;
}

}  // namespace carillon::emulator
