#include "cuda/cell_format.hpp"

namespace carillon::bench {

frame::FrameFormat cell_format(std::uint32_t antennas, std::uint32_t users, char kind) {
  frame::FrameFormat f;
  f.antennas = antennas;
  f.users = users;
  f.numerology.fft_size = 2048;
  f.numerology.subcarriers = 1216;
  f.pilots = {.kind = frame::PilotKind::Comb, .comb = 16};
  const std::uint32_t pilots = (users + 15) / 16;
  f.schedule = std::string(pilots, 'P') + std::string(14 - pilots, kind);
  frame::Coding& coding = kind == 'U' ? f.uplink : f.downlink;
  coding.block = frame::BlockSpan::Symbol;
  coding.crc = false;
  coding.modulation = frame::ModulationChoice::Qam64;
  coding.base_graph = 1;
  coding.lifting = 104;
  if (kind == 'U')
    coding.iterations = 5;
  else
    f.deadlines.precoder_age = 1;
  return f;
}

std::string name_of(const frame::FrameFormat& format) {
  const bool up = format.schedule.find('U') != std::string::npos;
  return std::to_string(format.antennas) + "x" + std::to_string(format.users) +
         (up ? " uplink" : " downlink");
}

}  // namespace carillon::bench
