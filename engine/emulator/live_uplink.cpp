#include "emulator/live_uplink.hpp"

#include <algorithm>
#include <span>

namespace carillon::emulator {

using frame::Direction;
using frame::SymbolKind;

LiveUplink::LiveUplink(const frame::Frame& frame, const RadioPlan& plan, RadioUnit& unit,
                       std::uint32_t replay, const frame::DataPort& port)
    : frame_(frame),
      unit_(unit),
      replay_(replay),
      port_(port),
      generator_(frame, plan),
      first_end_(frame.duration()),
      place_([this](std::uint32_t symbol, std::uint32_t antenna) {
        return unit_.uplink_samples(static_cast<std::uint32_t>(next_ % replay_), symbol, antenna);
      }),
      bits_(frame.room(Direction::Uplink).transport_blocks) {
  for (const auto& symbol : frame.symbols())
    if (symbol.kind == SymbolKind::Pilot || symbol.kind == SymbolKind::Uplink)
      first_end_ = std::min(first_end_, symbol.end);
}

std::uint32_t LiveUplink::replay_for(const frame::Frame& frame) {
  constexpr std::uint32_t kSpare = 6;
  const Tick frames = (frame.last_deadline(true) + frame.duration() - 1) / frame.duration();
  const auto read =
      std::max(frame.format().ring, static_cast<std::uint32_t>(std::max<Tick>(frames, 0)));
  return read + kHeadStart + kSpare;
}

void LiveUplink::prepare() {
  generator_.generate_silence([this](std::uint32_t symbol, std::uint32_t antenna) {
    return unit_.uplink_samples(replay_, symbol, antenna);
  });
}

bool LiveUplink::step(Tick now) noexcept {
  if (!making_) return begin(now);
  const bool more = generator_.step(place_);
  if (holding_ && !generator_.reads_bits()) {
    port_.source->release({static_cast<std::uint32_t>(next_), 0});
    holding_ = false;
  }
  if (more) return true;
  if (port_.work != nullptr) port_.work->release(static_cast<std::uint32_t>(next_));
  unit_.made(next_++);
  making_ = false;
  return true;
}

// What the next frame does is settled, up and down: it is kept for who receives the downlink.
void LiveUplink::pass() noexcept {
  if (port_.work != nullptr && !frame_.symbols_of(SymbolKind::Downlink).empty())
    port_.work->hold(static_cast<std::uint32_t>(next_));
}

// Frames that cannot be in time any more are left out: the radio unit sends silence for them.
bool LiveUplink::begin(Tick now) noexcept {
  if (unit_.finished()) return false;
  while (now >= unit_.air_start(next_) + first_end_) {
    pass();
    ++next_;
  }
  const bool at_rest = next_ < replay_ || unit_.passed() > next_ - replay_;
  if (now < unit_.air_start(next_) - kHeadStart * frame_.duration() || !at_rest) return false;
  const auto number = static_cast<std::uint32_t>(next_);
  pass();
  if (port_.work != nullptr) port_.work->hold(number);  // while it is made
  const frame::FrameProgram& program = port_.program(frame_, number);
  const std::span bits(bits_.data(), program.transport_blocks(Direction::Uplink).size());
  port_.source->take({number, 0}, unit_.air_start(next_), bits);
  generator_.begin(number, program, bits);
  making_ = holding_ = true;
  return true;
}

}  // namespace carillon::emulator
