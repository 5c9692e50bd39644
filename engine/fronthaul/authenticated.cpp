#include "fronthaul/authenticated.hpp"

#include <cstring>
#include <utility>

namespace carillon::fronthaul {

AuthenticatedTransport::AuthenticatedTransport(std::unique_ptr<Transport> inner,
                                               const SipHash& hash, Side side)
    : ForwardingTransport(*inner), owned_(std::move(inner)), hash_(hash), side_(side) {}

// Without the sender an end would take for the other's what it has sent itself.
std::uint64_t AuthenticatedTransport::code_of(std::uint32_t buffer, std::uint32_t bytes,
                                              Side sender) noexcept {
  std::byte* const packet = inner_.memory(buffer);
  const std::uint64_t from = sender == Side::Radio ? 1 : 2;
  static_assert(sizeof from == kCodeBytes, "it lies where the code goes afterwards");
  std::memcpy(packet + bytes, &from, sizeof from);
  return hash_({packet, bytes + sizeof from});
}

bool AuthenticatedTransport::genuine(const Received& packet) noexcept {
  if (packet.bytes < kHeaderBytes + kCodeBytes) return false;
  const std::uint32_t bytes = packet.bytes - kCodeBytes;
  std::uint64_t code = 0;
  std::memcpy(&code, inner_.memory(packet.buffer) + bytes, sizeof code);
  const Side sender = side_ == Side::Radio ? Side::Baseband : Side::Radio;
  return code == code_of(packet.buffer, bytes, sender);
}

std::size_t AuthenticatedTransport::receive(std::uint32_t receiver,
                                            std::span<Received> out) noexcept {
  const std::size_t came = inner_.receive(receiver, out);
  std::size_t count = 0;
  for (std::size_t i = 0; i < came; ++i) {
    if (genuine(out[i])) {
      out[count] = out[i];
      out[count++].bytes -= kCodeBytes;
    } else {
      unauthentic_.fetch_add(1, std::memory_order_relaxed);
      inner_.recycle({&out[i].buffer, 1});
    }
  }
  return count;
}

std::size_t AuthenticatedTransport::send(std::span<Outgoing> packets) noexcept {
  for (Outgoing& packet : packets) {
    write_ids(packet.ids, inner_.memory(packet.buffer));
    const std::uint64_t code = code_of(packet.buffer, packet.bytes, side_);
    std::memcpy(inner_.memory(packet.buffer) + packet.bytes, &code, sizeof code);
    packet.bytes += kCodeBytes;
  }
  const std::size_t went = inner_.send(packets);
  for (Outgoing& packet : packets) packet.bytes -= kCodeBytes;
  return went;
}

std::vector<std::string> AuthenticatedTransport::findings() const {
  std::vector<std::string> found = inner_.findings();
  if (const std::uint64_t count = unauthentic(); count > 0)
    found.push_back(
        "datagrams that were not heard because they were not made with this side's "
        "fronthaul.key_file: " +
        std::to_string(count));
  return found;
}

}  // namespace carillon::fronthaul
