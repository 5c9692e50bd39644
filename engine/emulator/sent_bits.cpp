#include "emulator/sent_bits.hpp"

#include <algorithm>

#include "emulator/uplink_generator.hpp"

namespace carillon::emulator {

using frame::Direction;

SentBits::SentBits(const frame::Frame& frame, const RadioPlan& plan)
    : replay_(plan.frames),
      payload_bytes_(frame.payload_bytes(Direction::Uplink)),
      payload_(replay_ * payload_bytes_) {
  const auto places = frame.code_blocks(Direction::Uplink);
  const auto bytes = [&](std::size_t c) {
    return (frame.code_block(Direction::Uplink, places[c]).E + 7) / 8;
  };
  for (std::size_t c = 0; c < places.size(); ++c) {
    offset_.push_back(frame_bytes_);
    frame_bytes_ += bytes(c);
  }
  bits_ = AlignedArray<std::uint8_t>(replay_ * frame_bytes_ + phy::kCodedPadding);
  UplinkGenerator generator(frame, plan);
  for (std::uint32_t n = 0; n < replay_; ++n) {
    generator.encode(n);
    std::copy_n(generator.payload().data(), payload_bytes_, &payload_[n * payload_bytes_]);
    for (std::size_t c = 0; c < places.size(); ++c)
      std::copy_n(generator.coded().data() + places[c].coded_offset, bytes(c),
                  &bits_[n * frame_bytes_ + offset_[c]]);
  }
}

}  // namespace carillon::emulator
