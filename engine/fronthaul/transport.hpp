// One end of a fronthaul link. UDP and shared memory are of equal rank behind it.
//
// Samples are never copied by us: they are written once into a buffer of the transport and read
// where they lie until the buffer is given back. Nothing here blocks, locks or allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/tick.hpp"
#include "fronthaul/buffer_stock.hpp"
#include "fronthaul/packet.hpp"

namespace carillon::fronthaul {

/// A datagram as it came, not yet believed.
struct Received {
  PacketIds ids;
  std::uint32_t bytes = 0;           // of the whole datagram; more than a packet may have if longer
  std::uint32_t buffer = kNoBuffer;  // recycle() when done
  const std::int16_t* samples = nullptr;
};

/// A packet to send: `bytes` in all, its samples already in `buffer` behind room for the header.
struct Outgoing {
  PacketIds ids;
  std::uint32_t bytes = 0;
  std::uint32_t buffer = kNoBuffer;
  std::uint32_t receiver = 0;  // of the peer's, modulo how many it has
  bool resident = false;       // the samples never change: keep the buffer, it may be sent again
};

/// What the network itself costs: inside the system calls.
struct NetworkTime {
  Tick busy = 0;   // in calls that moved packets
  Tick empty = 0;  // in calls that found nothing
  std::uint64_t calls = 0, packets = 0, bytes = 0;
};

/// Where received samples lie. What is in `device` a card has written there: the GPU that has this
/// memory reads it as its own, cores must not.
struct ReceivedMemory {
  std::span<std::byte> host, device;  // device: none, mostly

  /// Whether cores may read what lies there.
  bool within_reach(const std::int16_t* samples) const noexcept {
    const auto* const at = reinterpret_cast<const std::byte*>(samples);
    return !(std::less_equal<>{}(static_cast<const std::byte*>(device.data()), at) &&
             std::less<>{}(at, static_cast<const std::byte*>(device.data() + device.size())));
  }
};

class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  virtual std::uint32_t receivers() const = 0;
  /// Of the other end, as far as it is known.
  virtual std::uint32_t peer_receivers() const = 0;
  /// Takes what waits, at most out.size(). One thread at a time per receiver.
  virtual std::size_t receive(std::uint32_t receiver, std::span<Received> out) noexcept = 0;
  /// Whether packets have come that receive() has still to hand on, however few it just did. By the
  /// receiver's thread.
  virtual bool pending(std::uint32_t) const noexcept { return false; }
  /// Gives received buffers back; kNoBuffer is ignored. Any thread.
  virtual void recycle(std::span<const std::uint32_t> buffers) noexcept = 0;

  /// In which all samples lie that are ever received.
  virtual ReceivedMemory received_memory() noexcept = 0;
  /// The device that has the other memory has failed: soon, and for good, samples are received in
  /// the host's. Any thread.
  virtual void receive_in_host() noexcept {}

  /// A buffer to write samples into and send; kNoBuffer when there is none. Any thread.
  virtual std::uint32_t acquire() noexcept = 0;
  /// Gives acquired buffers back unsent. Any thread.
  virtual void abandon(std::span<const std::uint32_t> buffers) noexcept = 0;
  /// Room of an acquired buffer: kHeaderBytes, then samples.
  virtual std::byte* memory(std::uint32_t buffer) noexcept = 0;
  std::int16_t* samples(std::uint32_t buffer) noexcept {
    return reinterpret_cast<std::int16_t*>(memory(buffer) + kHeaderBytes);
  }
  /// Sends packets in order and returns how many went; the rest may be tried again. Afterwards each
  /// `buffer` is the caller's to write again, though it may be another one, unless `resident`.
  /// Any thread.
  virtual std::size_t send(std::span<Outgoing> packets) noexcept = 0;

  /// Datagrams so far that were not heard, because they did not come from the other end.
  virtual std::uint64_t foreign() const noexcept { return 0; }
  /// And because they were not made with this end's key.
  virtual std::uint64_t unauthentic() const noexcept { return 0; }
  virtual NetworkTime receive_time(std::uint32_t receiver) const noexcept = 0;
  virtual NetworkTime send_time() const noexcept = 0;
  /// Buffers that nobody holds, apart from those that wait in a receiver for the next datagram;
  /// exact while the link is quiet.
  virtual std::uint32_t available() const noexcept = 0;
  virtual std::uint32_t buffers() const noexcept = 0;
  /// What a person should know before the run: datagrams beyond the MTU, socket buffers too small.
  virtual std::vector<std::string> notes() const = 0;
  /// And after it, when no thread is at it any more.
  virtual std::vector<std::string> findings() const { return {}; }
};

}  // namespace carillon::fronthaul
