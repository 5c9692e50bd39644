// A card's queue of Ethernet frames: those that a rule sends there are written where receive
// requests say, each in two pieces, what is before the samples and the samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "fronthaul/gpu/card.hpp"
#include "fronthaul/gpu/headers.hpp"

namespace carillon::fronthaul::gpu {

/// Memory of so many places for datagrams, each with its piece for headers and its piece for
/// samples.
struct Places {
  std::byte* headers = nullptr;  ///< kHeaderRoom bytes apart
  std::byte* samples = nullptr;
  std::uint32_t sample_bytes = 0;  ///< of each place, a multiple of 64
  std::uint32_t count = 0;
  std::uint32_t headers_key = 0, samples_key = 0;

  static constexpr std::uint32_t kHeaderRoom = 128;
  std::byte* header(std::uint32_t place) const {
    return headers + std::size_t{place} * kHeaderRoom;
  }
  std::byte* sample(std::uint32_t place) const {
    return samples + std::size_t{place} * sample_bytes;
  }
};

class PacketQueue {
 public:
  static constexpr std::size_t kBatch = 32;

  /// For so many requests, or as many as the card takes. why() says whether that went well. `card`,
  /// which is open, and the places' memory outlive this.
  PacketQueue(OpenCard& card, const Places& places, std::uint32_t requests);
  PacketQueue(const PacketQueue&) = delete;
  PacketQueue& operator=(const PacketQueue&) = delete;

  /// Empty: all is well. Else what is missing or has failed, and what to do.
  const std::string& why() const { return why_; }
  /// Requests that may wait for frames.
  std::uint32_t depth() const { return depth_; }
  /// Whether the card tells of checksums.
  bool looks_at_checksums() const { return looks_; }

  // Each of these: empty when it went well, else what did not and why.

  /// From now on frames for this destination come here, and no longer to the system.
  std::string steer(const Destination& to);
  /// Has the card receive into at most kBatch places more, depth() in all.
  std::string post(std::span<const std::uint32_t> places) noexcept;
  /// What has been received since, in the order of its requests; a completion's id is the place. At
  /// most found.size(), kBatch.
  std::string poll(std::span<verbs::Completion> found, std::size_t& count) noexcept;

 private:
  bool make_pair(std::uint32_t requests);
  bool begin();

  OpenCard& card_;
  const Places places_;
  std::string why_;
  std::uint32_t depth_ = 0;
  bool looks_ = false;
  // The rule goes first, then the queue pair: then the card touches no memory any more.
  Owned<verbs::CompletionQueue> completions_{nullptr, nullptr};
  Owned<verbs::QueuePair> pair_{nullptr, nullptr};
  Owned<verbs::Flow> rule_{nullptr, nullptr};
};

}  // namespace carillon::fronthaul::gpu
