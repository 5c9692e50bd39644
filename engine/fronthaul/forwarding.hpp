// A transport that passes everything on to another: the base of those that change one thing.
#pragma once

#include "fronthaul/transport.hpp"

namespace carillon::fronthaul {

class ForwardingTransport : public Transport {
 public:
  /// `inner` outlives this.
  explicit ForwardingTransport(Transport& inner) : inner_(inner) {}

  std::uint32_t receivers() const override { return inner_.receivers(); }
  std::uint32_t peer_receivers() const override { return inner_.peer_receivers(); }
  std::size_t receive(std::uint32_t receiver, std::span<Received> out) noexcept override {
    return inner_.receive(receiver, out);
  }
  bool pending(std::uint32_t receiver) const noexcept override { return inner_.pending(receiver); }
  void recycle(std::span<const std::uint32_t> buffers) noexcept override {
    inner_.recycle(buffers);
  }
  ReceivedMemory received_memory() noexcept override { return inner_.received_memory(); }
  void receive_in_host() noexcept override { inner_.receive_in_host(); }
  std::uint32_t acquire() noexcept override { return inner_.acquire(); }
  void abandon(std::span<const std::uint32_t> buffers) noexcept override {
    inner_.abandon(buffers);
  }
  std::byte* memory(std::uint32_t buffer) noexcept override { return inner_.memory(buffer); }
  std::size_t send(std::span<Outgoing> packets) noexcept override { return inner_.send(packets); }
  std::uint64_t foreign() const noexcept override { return inner_.foreign(); }
  std::uint64_t unauthentic() const noexcept override { return inner_.unauthentic(); }
  NetworkTime receive_time(std::uint32_t receiver) const noexcept override {
    return inner_.receive_time(receiver);
  }
  NetworkTime send_time() const noexcept override { return inner_.send_time(); }
  std::uint32_t available() const noexcept override { return inner_.available(); }
  std::uint32_t buffers() const noexcept override { return inner_.buffers(); }
  std::vector<std::string> notes() const override { return inner_.notes(); }
  std::vector<std::string> findings() const override { return inner_.findings(); }

 protected:
  Transport& inner_;
};

}  // namespace carillon::fronthaul
