// Packets that only those can make who have the key. Behind the samples of each there is a code of
// 8 bytes, little-endian: SipHash-2-4 of the datagram up to there and of 8 bytes that say which end
// sent it.
#pragma once

#include <atomic>
#include <memory>

#include "fronthaul/forwarding.hpp"
#include "fronthaul/shm.hpp"
#include "fronthaul/siphash.hpp"

namespace carillon::fronthaul {

/// What a packet is longer by.
inline constexpr std::uint32_t kCodeBytes = 8;

class AuthenticatedTransport final : public ForwardingTransport {
 public:
  /// `side`: which end this is. Buffers of `inner` have room for kCodeBytes behind any packet, and
  /// cores may read and write them.
  AuthenticatedTransport(std::unique_ptr<Transport> inner, const SipHash& hash, Side side);

  /// Packets whose code is right, without it.
  std::size_t receive(std::uint32_t receiver, std::span<Received> out) noexcept override;
  std::size_t send(std::span<Outgoing> packets) noexcept override;
  std::uint64_t unauthentic() const noexcept override {
    return unauthentic_.load(std::memory_order_relaxed);
  }
  std::vector<std::string> findings() const override;

 private:
  std::uint64_t code_of(std::uint32_t buffer, std::uint32_t bytes, Side sender) noexcept;
  bool genuine(const Received& packet) noexcept;

  const std::unique_ptr<Transport> owned_;
  const SipHash hash_;
  const Side side_;
  std::atomic<std::uint64_t> unauthentic_{0};
};

}  // namespace carillon::fronthaul
