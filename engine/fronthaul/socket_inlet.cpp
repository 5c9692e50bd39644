#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "fronthaul/inlet.hpp"

namespace carillon::fronthaul {
namespace {

class SocketInlet final : public Inlet {
 public:
  SocketInlet(Socket&& own, BufferStock& stock) : Inlet(std::move(own)), stock_(stock) {
    for (std::size_t i = 0; i < kBatch; ++i) {
      messages_[i].msg_hdr.msg_name = &senders_[i];
      messages_[i].msg_hdr.msg_iov = &vectors_[i];
      messages_[i].msg_hdr.msg_iovlen = 1;
      waiting_[i] = kNoBuffer;
    }
  }

  std::size_t take(std::span<Datagram> out) noexcept override {
    more_ = false;
    const std::size_t room = provide(std::min(out.size(), kBatch));
    if (room == 0) return 0;
    const Tick before = now();
    const int got =
        recvmmsg(socket.fd(), messages_.data(), static_cast<unsigned>(room), MSG_DONTWAIT, nullptr);
    const Tick spent = now() - before;
    const std::size_t came = got < 0 ? 0 : static_cast<std::size_t>(got);
    more_ = came == room;
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < came; ++i) {
      out[i] = {std::exchange(waiting_[i], kNoBuffer), messages_[i].msg_len, senders_[i]};
      bytes += out[i].bytes;
    }
    meter.count(spent, came, bytes);
    return came;
  }
  bool more() const noexcept override { return more_; }
  std::uint32_t waiting() const noexcept override {
    return static_cast<std::uint32_t>(
        kBatch - static_cast<std::size_t>(std::ranges::count(waiting_, kNoBuffer)));
  }

 private:
  // Puts a buffer behind each of the first `wanted` messages; returns for how many there was one.
  std::size_t provide(std::size_t wanted) noexcept {
    for (std::size_t i = 0; i < wanted; ++i) {
      messages_[i].msg_hdr.msg_namelen = sizeof(sockaddr_in);  // the kernel wrote the last one's
      if (waiting_[i] != kNoBuffer) continue;
      const std::uint32_t buffer = stock_.acquire();
      if (buffer == kNoBuffer) return i;
      waiting_[i] = buffer;
      vectors_[i] = {stock_[buffer], stock_.buffer_bytes()};
    }
    return wanted;
  }

  BufferStock& stock_;
  std::array<mmsghdr, kBatch> messages_{};
  std::array<iovec, kBatch> vectors_{};
  std::array<std::uint32_t, kBatch> waiting_{};
  std::array<sockaddr_in, kBatch> senders_{};
  bool more_ = false;
};

}  // namespace

void Inlet::wait(Tick at_most) noexcept {
  pollfd file{socket.fd(), POLLIN, 0};
  const timespec most{at_most / kSecond, at_most % kSecond};
  ppoll(&file, 1, &most, nullptr);
}

std::unique_ptr<Inlet> make_socket_inlet(Socket&& socket, BufferStock& stock) {
  return std::make_unique<SocketInlet>(std::move(socket), stock);
}

}  // namespace carillon::fronthaul
