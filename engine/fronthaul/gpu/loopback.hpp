// A network card's queue pair that is connected to itself: blocks leave the host's memory, go
// through the card, and are written where the card was allowed to, another device's memory
// included. One machine and one card are enough.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/aligned.hpp"
#include "fronthaul/gpu/verbs.hpp"

namespace carillon::fronthaul::gpu {

class Loopback {
 public:
  /// On the card's first active port, for so many blocks in flight or as many as it can. why()
  /// says whether that went well.
  Loopback(const Card& card, std::uint32_t blocks);
  Loopback(const Loopback&) = delete;
  Loopback& operator=(const Loopback&) = delete;

  /// Empty: blocks can be written. Else what is missing or has failed, and what to do.
  const std::string& why() const { return why_; }
  /// Blocks in flight at most.
  std::uint32_t depth() const { return depth_; }
  /// Bytes of a block at most.
  std::uint32_t most_bytes() const { return most_bytes_; }

  // Each of these: empty when it went well, else what did not and why.

  /// Lets the card write to memory. `dma_buf` is its file descriptor, -1: by its address, which for
  /// a GPU's memory needs the module nvidia-peermem.
  std::string land_in(void* memory, std::size_t bytes, int dma_buf);
  /// Lets the card read what is sent.
  std::string send_from(const void* memory, std::size_t bytes);
  /// Posts a block, a multiple of kEcho bytes, while fewer than depth() are in flight.
  std::string write(std::uint64_t id, const void* from, void* to, std::uint32_t bytes);
  /// How many blocks have arrived since it was last asked, in the order in which they were posted.
  /// One that has is in the memory where it ends, for whoever looks from now on.
  std::string arrived(std::uint32_t& blocks);

 private:
  static constexpr std::uint32_t kEcho = 64;

  // Given back by a function of the library.
  template <typename T>
  using Owned = std::unique_ptr<T, int (*)(T*)>;
  struct Port {
    std::uint8_t number = 0;
    verbs::PortState state = {};
    int gid = -1;  // its index; -1: the LID is enough
    verbs::Gid gid_bytes = {};
  };

  void open(const Card& card);
  bool find_port();
  bool find_gid();
  bool make_pair(std::uint32_t blocks);
  bool connect();
  bool modify(const char* to, verbs::QueuePairState& state, int mask);
  bool fail(std::string why);
  verbs::Region* register_host(void* memory, std::size_t bytes, int access);

  VerbsLibrary library_;
  std::string name_, why_;
  verbs::Limits limits_ = {};
  Port port_;
  std::uint32_t depth_ = 0, most_bytes_ = 0;
  int reads_ = 1;
  AlignedArray<std::byte> echo_{kEcho};
  // The queue pair goes first: then the card touches no memory any more.
  Owned<verbs::Context> context_{nullptr, nullptr};
  Owned<verbs::Domain> domain_{nullptr, nullptr};
  Owned<verbs::Region> echoes_{nullptr, nullptr}, sent_{nullptr, nullptr},
      landing_{nullptr, nullptr};
  Owned<verbs::CompletionQueue> completions_{nullptr, nullptr};
  Owned<verbs::QueuePair> pair_{nullptr, nullptr};
};

}  // namespace carillon::fronthaul::gpu
