#include "emulator/payload.hpp"

#include "base/random.hpp"

namespace carillon::emulator {

void fill_payload(const frame::Frame& frame, std::uint64_t seed, frame::Direction direction,
                  std::uint64_t index, std::span<std::uint8_t> payload) {
  Random random(seed, 4 * index + static_cast<std::uint64_t>(direction));
  const frame::FrameProgram& program = frame.program(index);
  for (const auto& block : program.transport_blocks(direction)) {
    const std::uint32_t bits = program.plan(block).A();
    std::uint8_t* bytes = payload.data() + block.payload_offset;
    for (std::uint32_t i = 0; i < (bits + 7) / 8; ++i)
      bytes[i] = static_cast<std::uint8_t>(random.next() >> 56);
    if (bits % 8 != 0) bytes[bits / 8] &= static_cast<std::uint8_t>(0xff << (8 - bits % 8));
  }
}

std::uint64_t downlink_payloads(const frame::Frame& frame) {
  const std::uint64_t programs = frame.programs().size();
  return (frame.format().ring + programs - 1) / programs * programs;
}

}  // namespace carillon::emulator
