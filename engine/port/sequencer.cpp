#include "port/sequencer.hpp"

#include <algorithm>

namespace carillon::port {

Sequencer::Sequencer(const frame::Frame& frame, frame::Direction direction)
    : of_user_(frame.format().users), places_(frame.format().users) {
  const auto blocks = frame.transport_blocks(direction);
  for (std::uint32_t b = 0; b < blocks.size(); ++b) of_user_[blocks[b].user].push_back(b);
  for (auto& own : of_user_)
    std::ranges::sort(own, {}, [&](std::uint32_t b) { return blocks[b].first_symbol; });
  for (Frame& each : frames_) each.blocks.resize(blocks.size());
}

void Sequencer::push(const Message& block, std::span<const std::uint8_t> bits, const Next& next) {
  const auto& own = of_user_[block.user];
  Place& place = places_[block.user];
  const auto ahead = static_cast<std::int32_t>(block.frame - place.frame);
  if (!place.any || ahead < -kPatience || ahead >= static_cast<std::int32_t>(kFrames))
    begin(block);
  else if (ahead < 0)
    return;  // it is not waited for any more
  hold(block, bits);
  if (static_cast<std::int32_t>(block.frame - place.newest) > 0) place.newest = block.frame;
  for (;;) {
    const Held* const here = held(place.frame, own[place.k]);
    if (here == nullptr && static_cast<std::int32_t>(place.newest - place.frame) < kPatience)
      return;
    if (here != nullptr && here->good) next(block.user, here->bits);
    if (++place.k < own.size()) continue;
    place.k = 0;
    ++place.frame;
  }
}

// With a user's first block, or with those of a radio unit that has begun anew.
void Sequencer::begin(const Message& block) {
  const auto& own = of_user_[block.user];
  for (Frame& each : frames_)
    for (const std::uint32_t b : own) each.blocks[b].known = false;
  places_[block.user] = {
      true, block.frame, block.frame,
      static_cast<std::size_t>(std::ranges::find(own, block.block) - own.begin())};
}

void Sequencer::hold(const Message& block, std::span<const std::uint8_t> bits) {
  Frame& frame = frames_[block.frame % kFrames];
  if (!frame.any || frame.number != block.frame) {
    for (Held& each : frame.blocks) each.known = false;
    frame.any = true;
    frame.number = block.frame;
  }
  Held& held = frame.blocks[block.block];
  held.known = true;
  held.good = block.verdict == 0;
  held.bits.assign(bits.begin(), bits.end());
}

const Sequencer::Held* Sequencer::held(std::uint32_t frame, std::uint32_t block) const {
  const Frame& of = frames_[frame % kFrames];
  const bool here = of.any && of.number == frame && of.blocks[block].known;
  return here ? &of.blocks[block] : nullptr;
}

}  // namespace carillon::port
