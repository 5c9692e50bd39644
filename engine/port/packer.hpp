// IP packets in a user's transport blocks, in order: several in one, or one over several. A block
// that is lost takes its packets along, and nothing else.
//
//   byte 0     0: padding, nothing follows; else 1
//   byte 1     0
//   2, 3       number of the block among those of this user and direction that carry something
//   4, 5       where in what follows the first packet begins; 0xffff: none does
//   6 …        packets, each after its length in two bytes; a length of 0, or a last byte alone: no
//   more
//
// Numbers are little endian. A packet that does not end with its block goes on in the next one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

namespace carillon::port {

/// A block has to have more bytes than its header to carry anything.
inline constexpr std::size_t kPackHeader = 6;
/// Bytes that say how long a packet is, before it.
inline constexpr std::size_t kPackLength = 2;

/// Packs what a user sends. One thread.
class Packer {
 public:
  /// Room for so many bytes of packets that wait.
  explicit Packer(std::size_t room) : room_(room) {}

  /// False: there is no room, and it is lost.
  bool push(std::span<const std::uint8_t> packet);
  bool empty() const { return next_ == packets_.size(); }
  std::size_t waiting() const { return waiting_; }
  /// Bytes of all of it with lengths, but for blocks' headers; 0: nothing waits.
  std::size_t needed() const { return waiting_ + kPackLength * packets_.size() - place_; }

  /// Fills a block from the oldest packets on; false: none waits, or the block is too short. After
  /// it either sent() or unsent().
  bool fill(std::span<std::uint8_t> block);
  /// Returns how many packets ended in it.
  std::size_t sent();
  /// The block did not go out: its packets are the next ones again.
  void unsent();

 private:
  std::size_t room_;
  std::size_t waiting_ = 0;                        // bytes
  std::deque<std::vector<std::uint8_t>> packets_;  // each with its length in front
  std::size_t next_ = 0, place_ = 0;               // where the next block goes on
  std::size_t before_ = 0;                         // … and the last one began, in packets_[0]
  std::uint16_t number_ = 0;
};

/// Unpacks what a user's blocks carried. One thread.
class Unpacker {
 public:
  using Deliver = std::function<void(std::span<const std::uint8_t> packet)>;

  /// The next block that was received, in the order in which they were sent. Whatever its bytes
  /// are, none beyond it is read.
  void push(std::span<const std::uint8_t> block, const Deliver& deliver);
  /// Packets of which the end was lost, or whose length could not be.
  std::uint64_t broken() const { return broken_; }

 private:
  void abandon();

  std::vector<std::uint8_t> begun_;  // a packet without its end, its length in front
  bool follows_ = false;             // it is known how the next block goes on
  std::uint16_t next_ = 0;           // … whose number this is
  std::uint64_t broken_ = 0;
};

}  // namespace carillon::port
