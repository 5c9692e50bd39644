// How the datagrams of one UDP socket get into the stock's buffers. Each class asks the kernel in
// its own way.
#pragma once

#include <netinet/in.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/aligned.hpp"
#include "fronthaul/buffer_stock.hpp"
#include "fronthaul/network_meter.hpp"
#include "fronthaul/udp_socket.hpp"

namespace carillon::fronthaul {

/// As it came, from anybody.
struct Datagram {
  std::uint32_t buffer;  // of the stock
  std::uint32_t bytes;
  sockaddr_in sender;
};

class alignas(kCacheLine) Inlet {
 public:
  static constexpr std::size_t kBatch = 64;

  explicit Inlet(Socket&& own) : socket(std::move(own)) {}
  Inlet(const Inlet&) = delete;
  Inlet& operator=(const Inlet&) = delete;
  virtual ~Inlet() = default;

  /// Takes what waits, at most kBatch; the buffers are the caller's to release. Blocks never.
  virtual std::size_t take(std::span<Datagram> out) noexcept = 0;
  /// The last call may have left some behind.
  virtual bool more() const noexcept = 0;
  /// Sleeps until there may be something to take, or for so long.
  virtual void wait(Tick at_most) noexcept;
  /// Buffers that lie ready for the next datagrams.
  virtual std::uint32_t waiting() const noexcept = 0;

  Socket socket;
  NetworkMeter meter;
  std::atomic<std::uint64_t> foreign{0};  // datagrams from elsewhere than the peer,
  sockaddr_in first_foreign{};            // and where the first one came from
};

/// By recvmmsg(2): one system call for each batch, and for each look that finds nothing.
std::unique_ptr<Inlet> make_socket_inlet(Socket&& socket, BufferStock& stock);

/// By io_uring(7): one request stands for all datagrams, and a look that finds nothing is no system
/// call. Each buffer needs kUringPrefix bytes before the datagram. Throws std::runtime_error
/// saying what the kernel refuses and what to do.
std::unique_ptr<Inlet> make_uring_inlet(Socket&& socket, BufferStock& stock);
/// What the kernel writes before a datagram: lengths, the sender, and space that keeps samples
/// aligned.
inline constexpr std::uint32_t kUringPrefix = 64;

}  // namespace carillon::fronthaul
