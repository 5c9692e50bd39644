#include "frame/pipeline.hpp"

#include <cstring>

#include "emulator/uplink_generator.hpp"
#include "frame/serial.hpp"
#include "support/test.hpp"

using namespace carillon;
using frame::Direction;

namespace {

// A cell, its emulated users and its pipeline, with memory for one frame's samples.
struct Cell {
  explicit Cell(const frame::FrameFormat& format, const emulator::RadioPlan& plan = {})
      : frame(format),
        pipeline(frame, {}),
        generator(frame, plan),
        samples(std::size_t{frame.samples()} * 2 * format.antennas) {}

  // Sends frame `index` through the uplink.
  void run(std::uint64_t index) {
    const auto place = [&](std::uint32_t symbol, std::uint32_t antenna) {
      return &samples[2 *
                      (std::size_t{antenna} * frame.samples() + frame.symbol(symbol).first_sample)];
    };
    generator.generate(index, place);
    pipeline.begin(index);
    for (std::uint32_t s = 0; s < frame.symbols().size(); ++s)
      for (std::uint32_t a = 0; a < frame.format().antennas; ++a)
        pipeline.set_samples(index, s, a, place(s, a));
    frame::run_serially(pipeline, index);
  }

  std::size_t wrong_blocks(std::uint64_t index) {
    std::size_t wrong = 0;
    const auto& slot = pipeline.slot(index);
    const auto blocks = frame.transport_blocks(Direction::Uplink);
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const std::size_t bytes = (frame.plan(blocks[b]).A() + 7) / 8;
      const bool same =
          std::memcmp(slot.payload.data() + blocks[b].payload_offset,
                      generator.payload().data() + blocks[b].payload_offset, bytes) == 0;
      wrong += !same || slot.good[b] == 0;
    }
    return wrong;
  }

  frame::Frame frame;
  frame::Pipeline pipeline;
  emulator::UplinkGenerator generator;
  std::vector<std::int16_t> samples;
};

frame::FrameFormat small_cell() {
  frame::FrameFormat format;
  format.antennas = 8;
  format.users = 2;
  format.schedule = "PPUUUUUUUUUUUU";
  return format;
}

}  // namespace

TEST(Pipeline, UplinkBlocksAreDecodedAtHighSignalToNoiseRatio) {
  Cell cell(small_cell());
  for (std::uint64_t i = 0; i < 5; ++i) {
    cell.run(i);
    EXPECT_EQ(cell.wrong_blocks(i), 0U);
  }
}
