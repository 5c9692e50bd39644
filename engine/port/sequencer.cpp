#include "port/sequencer.hpp"

#include <algorithm>
#include <bit>

namespace carillon::port {
namespace {

// A frame is scheduled before it begins, is in flight, may be decoded after that, and waited for.
constexpr std::uint32_t kExpectedBeside = 64;  // frames beside those in flight

}  // namespace

std::vector<std::vector<std::uint32_t>> blocks_by_user(const frame::FrameProgram& program,
                                                       frame::Direction direction,
                                                       std::uint32_t users) {
  const auto blocks = program.transport_blocks(direction);
  std::vector<std::vector<std::uint32_t>> of_user(users);
  for (std::uint32_t b = 0; b < blocks.size(); ++b) of_user[blocks[b].user].push_back(b);
  for (auto& own : of_user)
    std::ranges::stable_sort(own, {}, [&](std::uint32_t b) { return blocks[b].first_symbol; });
  return of_user;
}

Sequencer::Sequencer(const frame::Frame& frame, frame::Direction direction)
    : direction_(direction), places_(frame.format().users) {
  for (const frame::FrameProgram& program : frame.programs())
    of_user_.push_back(blocks_by_user(program, direction, frame.format().users));
  for (Frame& each : frames_) each.blocks.resize(frame.room(direction).transport_blocks);
  if (frame.scheduled_by_port())
    expected_.resize(std::bit_ceil(frame.format().ring + kExpectedBeside));
}

void Sequencer::expect(std::uint32_t frame, const frame::FrameProgram& program) {
  Expected& expected = expected_[frame % expected_.size()];
  expected = {true, frame,
              blocks_by_user(program, direction_, static_cast<std::uint32_t>(places_.size()))};
  // Another radio unit's frame of this number is none any more.
  if (Frame& held = frames_[frame % kFrames]; held.number == frame) held.any = false;
}

const std::vector<std::uint32_t>& Sequencer::blocks_of(std::uint32_t user,
                                                       std::uint32_t frame) const {
  static const std::vector<std::uint32_t> none;
  if (expected_.empty()) return of_user_[frame % of_user_.size()][user];
  const Expected& expected = expected_[frame % expected_.size()];
  return expected.any && expected.number == frame ? expected.of_user[user] : none;
}

void Sequencer::push(const Message& block, std::span<const std::uint8_t> bits, const Next& next) {
  Place& place = places_[block.user];
  const auto ahead = static_cast<std::int32_t>(block.frame - place.frame);
  if (!place.any || ahead < -kPatience || ahead >= static_cast<std::int32_t>(kFrames))
    begin(block);
  else if (ahead < 0)
    return;  // it is not waited for any more
  hold(block, bits);
  if (static_cast<std::int32_t>(block.frame - place.newest) > 0) place.newest = block.frame;
  for (;;) {
    const auto& own = blocks_of(block.user, place.frame);
    if (place.k >= own.size()) {
      if (place.frame == place.newest) return;  // what comes next is of a later frame
      place.k = 0;
      ++place.frame;
      continue;
    }
    const Held* const here = held(place.frame, own[place.k]);
    if (here == nullptr && static_cast<std::int32_t>(place.newest - place.frame) < kPatience)
      return;
    if (here != nullptr && here->good) next(block.user, here->bits);
    ++place.k;
  }
}

// With a user's first block, or with those of a radio unit that has begun anew.
void Sequencer::begin(const Message& block) {
  for (Frame& each : frames_)
    for (const std::uint32_t b : blocks_of(block.user, each.number)) each.blocks[b].known = false;
  const auto& own = blocks_of(block.user, block.frame);
  // Of those before it a newcomer has missed some; who has only been idle, or was expected, will
  // have them all.
  const bool idle = !expected_.empty() ||
                    (places_[block.user].any &&
                     static_cast<std::int32_t>(block.frame - places_[block.user].frame) > 0);
  const auto k = static_cast<std::size_t>(std::ranges::find(own, block.block) - own.begin());
  places_[block.user] = {true, block.frame, block.frame, idle ? 0 : k};
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
