#include "emulator/sent_bits.hpp"

#include <algorithm>

#include "emulator/uplink_generator.hpp"

namespace carillon::emulator {

using frame::Direction;

SentBits::SentBits(const frame::Frame& frame, const RadioPlan& plan)
    : replay_(plan.frames),
      payload_bytes_(frame.room(Direction::Uplink).payload_bytes),
      payload_(replay_ * payload_bytes_) {
  const auto bytes = [](const frame::FrameProgram& program, const frame::CodeBlockPlace& place) {
    return (program.code_block(Direction::Uplink, place).E + 7) / 8;
  };
  for (const frame::FrameProgram& program : frame.programs()) {
    std::size_t end = 0;
    auto& offset = offset_.emplace_back();
    for (const auto& place : program.code_blocks(Direction::Uplink)) {
      offset.push_back(end);
      end += bytes(program, place);
    }
    frame_bytes_ = std::max(frame_bytes_, end);
  }
  bits_ = AlignedArray<std::uint8_t>(replay_ * frame_bytes_ + phy::kCodedPadding);
  UplinkGenerator generator(frame, plan);
  for (std::uint32_t n = 0; n < replay_; ++n) {
    generator.encode(n);
    std::copy_n(generator.payload().data(), payload_bytes_, &payload_[n * payload_bytes_]);
    const frame::FrameProgram& program = frame.program(n);
    const auto places = program.code_blocks(Direction::Uplink);
    for (std::size_t c = 0; c < places.size(); ++c)
      std::copy_n(generator.coded().data() + places[c].coded_offset, bytes(program, places[c]),
                  &bits_[n * frame_bytes_ + offset_[n % offset_.size()][c]]);
  }
}

}  // namespace carillon::emulator
