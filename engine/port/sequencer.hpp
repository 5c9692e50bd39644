// Received blocks of each user in the order in which they were sent: they come as they are decoded.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "frame/frame.hpp"
#include "port/message.hpp"

namespace carillon::port {

/// A frame's blocks of each user, as they follow one another on air. [user]
std::vector<std::vector<std::uint32_t>> blocks_by_user(const frame::FrameProgram& program,
                                                       frame::Direction direction,
                                                       std::uint32_t users);

class Sequencer {
 public:
  /// Of a direction's blocks. The frame outlives this.
  Sequencer(const frame::Frame& frame, frame::Direction direction);

  /// Of a cell whose frames are scheduled while they come: what this one does, before any of its
  /// blocks come. One of which nothing is said has none.
  void expect(std::uint32_t frame, const frame::FrameProgram& program);

  /// A good block's bits, the user's next ones.
  using Next = std::function<void(std::uint32_t user, std::span<const std::uint8_t> bits)>;
  /// A Block as it came, with its bits: hands on what is then next. Each block of each frame should
  /// come once, whatever its verdict; one that does not is waited for until blocks of the eighth
  /// frame after its own come.
  void push(const Message& block, std::span<const std::uint8_t> bits, const Next& next);

 private:
  static constexpr std::int32_t kPatience = 8;  // frames
  static constexpr std::size_t kFrames = 16;

  struct Held {
    bool known = false, good = false;
    std::vector<std::uint8_t> bits;
  };
  struct Frame {
    bool any = false;
    std::uint32_t number = 0;
    std::vector<Held> blocks;
  };
  // Where a user is: its k-th block of a frame is the next one. `newest`: of the frames of which
  // some block has come.
  struct Place {
    bool any = false;
    std::uint32_t newest = 0, frame = 0;
    std::size_t k = 0;
  };

  // Blocks of a frame that was scheduled.
  struct Expected {
    bool any = false;
    std::uint32_t number = 0;
    std::vector<std::vector<std::uint32_t>> of_user;  // [user] in order
  };

  const std::vector<std::uint32_t>& blocks_of(std::uint32_t user, std::uint32_t frame) const;
  void begin(const Message& block);
  void hold(const Message& block, std::span<const std::uint8_t> bits);
  const Held* held(std::uint32_t frame, std::uint32_t block) const;

  std::array<Frame, kFrames> frames_;  // [number mod kFrames]
  // [program][user] its blocks in a frame, in order
  std::vector<std::vector<std::vector<std::uint32_t>>> of_user_;
  std::vector<Expected> expected_;  // [number mod their number], where frames are scheduled
  const frame::Direction direction_;
  std::vector<Place> places_;  // [user]
};

}  // namespace carillon::port
