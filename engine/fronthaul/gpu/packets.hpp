// A receiver of datagrams whose samples a network card writes straight into a GPU's memory, and
// their headers into the host's. UDP sockets on the same ports stay open beside it: they keep the
// ports, send, and receive whatever the card does not take; when the card or the GPU fails, all of
// it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fronthaul/gpu/direct.hpp"
#include "fronthaul/gpu/headers.hpp"
#include "fronthaul/transport.hpp"

namespace carillon::fronthaul::gpu {

/// Memory that a card may be let write into.
struct SampleRoom {
  std::byte* memory = nullptr;
  std::size_t bytes = 0;
  Descriptor dma_buf;           ///< of the memory; none: the card finds it by its address
  std::shared_ptr<void> owner;  ///< keeps it
};

struct PacketPlan {
  Card card;
  std::uint8_t port = 0;                  ///< of the card, from 1; 0: the first that is active
  std::vector<Destination> destinations;  ///< of the sockets' receivers, in order
  std::uint32_t places = 0;               ///< datagrams that can be held
  std::uint32_t sample_bytes = 0;         ///< of a place, a multiple of 64
};

/// What the card wrote, good or not; to be asked for while no thread receives.
struct CardCounts {
  std::uint64_t received = 0;                     // by the card
  std::array<std::uint64_t, kMisfits> misfits{};  // of those, by Misfit, told of with no length
  std::uint64_t damaged = 0;                      // the same, with a wrong checksum of UDP
  // Times that we found that the card had all places. What it drops while we are late is not seen.
  std::uint64_t dry = 0;

  std::uint64_t operator[](Misfit why) const { return misfits[static_cast<std::size_t>(why)]; }
};

class CardTransport : public Transport {
 public:
  /// Takes `socket` when all goes well; else it is left, null is returned and `why` says which step
  /// failed. Misfits are received as datagrams of no length, which nobody believes. A checksum of
  /// UDP is the card's to verify, where it can, since we do not see samples; that of IPv4 is ours.
  static std::unique_ptr<CardTransport> open(std::unique_ptr<Transport>& socket,
                                             const PacketPlan& plan, SampleRoom room,
                                             std::string& why);

  virtual CardCounts counts() const = 0;
};

}  // namespace carillon::fronthaul::gpu
