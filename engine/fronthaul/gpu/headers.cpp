#include "fronthaul/gpu/headers.hpp"

namespace carillon::fronthaul::gpu {
namespace {

constexpr std::uint32_t kIpv4 = 0x0800;
constexpr std::uint32_t kNoOptions = 0x45;     // version 4, five words
constexpr std::uint32_t kPartOfMore = 0x3fff;  // more fragments follow, or where this one belongs
constexpr std::uint32_t kUdp = 17;

// The network's order.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint32_t byte(std::size_t at) const { return std::to_integer<std::uint32_t>(bytes_[at]); }
  std::uint32_t half(std::size_t at) const { return byte(at) << 8 | byte(at + 1); }
  std::uint32_t word(std::size_t at) const { return half(at) << 16 | half(at + 2); }

 private:
  std::span<const std::byte> bytes_;
};

bool sums_up(const Reader& ip) {
  std::uint32_t sum = 0;
  for (std::size_t at = 0; at < kIpv4Bytes; at += 2) sum += ip.half(at);
  sum = (sum & 0xffff) + (sum >> 16);
  return (sum & 0xffff) + (sum >> 16) == 0xffff;
}

}  // namespace

Headers read_headers(std::span<const std::byte> first, std::size_t frame_bytes,
                     const Destination& ours) noexcept {
  if (frame_bytes < kNetworkBytes || first.size() < kNetworkBytes) return {Misfit::Short};
  const Reader ethernet(first), ip(first.subspan(kEthernetBytes)),
      udp(first.subspan(kEthernetBytes + kIpv4Bytes));
  if (ethernet.half(12) != kIpv4) return {Misfit::NotIpv4};
  if (ip.byte(0) != kNoOptions) return {Misfit::Options};
  if ((ip.half(6) & kPartOfMore) != 0) return {Misfit::Fragment};
  if (ip.byte(9) != kUdp || ip.word(16) != ours.address || udp.half(2) != ours.port ||
      ip.word(12) != ours.peer_address || udp.half(0) != ours.peer_port)
    return {Misfit::Stranger};
  // Ethernet makes short frames longer, so that there may be more than IPv4 tells of.
  const std::uint32_t total = ip.half(2);
  if (total < kIpv4Bytes + kUdpBytes || kEthernetBytes + total > frame_bytes ||
      udp.half(4) != total - kIpv4Bytes)
    return {Misfit::Length};
  if (!sums_up(ip)) return {Misfit::Checksum};
  return {Misfit::None, udp.half(6) != 0, total - kIpv4Bytes - kUdpBytes};
}

}  // namespace carillon::fronthaul::gpu
