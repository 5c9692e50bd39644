// A network card's queue pair that is connected to itself: blocks leave the host's memory, go
// through the card, and are written where the card was allowed to, another device's memory
// included. One machine and one card are enough.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/aligned.hpp"
#include "fronthaul/gpu/card.hpp"

namespace carillon::fronthaul::gpu {

class Loopback {
 public:
  static constexpr std::uint32_t kEcho = 64;

  /// For so many blocks or flushes in flight, or as many as the card takes. why() says whether that
  /// went well. `card`, which is open, outlives this.
  Loopback(OpenCard& card, std::uint32_t blocks);
  Loopback(const Loopback&) = delete;
  Loopback& operator=(const Loopback&) = delete;

  /// Empty: all is well. Else what is missing or has failed, and what to do.
  const std::string& why() const { return why_; }
  /// Blocks in flight at most.
  std::uint32_t depth() const { return depth_; }
  /// Bytes of a block at most.
  std::uint32_t most_bytes() const { return card_.state().message_bytes; }

  /// Where blocks go, which the card may write and read from afar, and where they come from. Before
  /// write(); flush() needs the first alone.
  void land_in(const verbs::Region& region) { landing_key_ = region.remote_key; }
  void send_from(const verbs::Region& region) { sent_key_ = region.local_key; }

  // Each of these: empty when it went well, else what did not and why.

  /// Posts a block, a multiple of kEcho bytes, while fewer than depth() are in flight.
  std::string write(std::uint64_t id, const void* from, void* to, std::uint32_t bytes);
  /// Posts a read of kEcho bytes from where blocks go, in place of a block: when it has arrived, so
  /// has all that the card had written into that device's memory before.
  std::string flush(std::uint64_t id, const void* at);
  /// How many blocks have arrived since it was last asked, in the order in which they were posted.
  /// One that has is in the memory where it ends, for whoever looks from now on.
  std::string arrived(std::uint32_t& blocks);

 private:
  bool find_gid();
  bool make_pair(std::uint32_t blocks);
  bool connect();
  bool modify(const char* to, verbs::QueuePairState& state, int mask);
  bool fail(std::string why);
  verbs::Request echo(std::uint64_t id, std::uint64_t from, verbs::Piece& back) const;
  std::string post(verbs::Request& request);

  OpenCard& card_;
  std::string why_;
  int gid_ = -1;  // its index; -1: the LID is enough
  verbs::Gid gid_bytes_ = {};
  std::uint32_t depth_ = 0, landing_key_ = 0, sent_key_ = 0;
  int reads_ = 1;
  AlignedArray<std::byte> echo_{kEcho};
  // The queue pair goes first: then the card touches no memory any more.
  Owned<verbs::Region> echoes_{nullptr, nullptr};
  Owned<verbs::CompletionQueue> completions_{nullptr, nullptr};
  Owned<verbs::QueuePair> pair_{nullptr, nullptr};
};

}  // namespace carillon::fronthaul::gpu
