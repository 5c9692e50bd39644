// A link as a run configures it: sizes every stock and ring for a cell and opens its ends.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/fields.hpp"
#include "fronthaul/layout.hpp"
#include "fronthaul/shm.hpp"
#include "fronthaul/transport.hpp"
#include "fronthaul/udp.hpp"

namespace carillon::fronthaul {

enum class LinkKind : std::uint8_t { Shm, Udp };
/// Where a baseband unit's samples are received: in host memory; in a GPU's, or not at all; in a
/// GPU's where that can be had.
enum class ReceiveInto : std::uint8_t { Host, Gpu, Auto };

/// The fronthaul section of a run plan.
struct LinkOptions {
  LinkKind kind = LinkKind::Shm;
  UdpIo io = UdpIo::Socket;
  std::string bbu_address = "127.0.0.1";
  std::uint16_t bbu_port = 8000;
  std::string radio_address = "127.0.0.1";
  std::uint16_t radio_port = 9000;
  std::uint32_t receivers = 1;  // of the baseband unit: UDP ports from bbu_port on
  std::string shm_name = "carillon";
  ReceiveInto receive = ReceiveInto::Host;
  std::string key_file;  // of UDP packets, authenticated with the key in it; empty: none are

  /// What each packet is longer by.
  std::uint32_t code_bytes() const;
  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("kind", self.kind);
    visit("io", self.io);
    visit("bbu_address", self.bbu_address);
    visit("bbu_port", self.bbu_port);
    visit("radio_address", self.radio_address);
    visit("radio_port", self.radio_port);
    visit("receivers", self.receivers);
    visit("shm_name", self.shm_name);
    visit("receive", self.receive);
    visit("key_file", self.key_file);
  }
};

/// How many frames of packets are held where.
struct LinkDepth {
  std::uint32_t ingest = 8;     // UplinkIngest::Options::ring
  std::uint32_t downlink = 4;   // DownlinkSender's slots
  std::uint32_t replay = 16;    // RadioUnit::Options::replay
  std::uint32_t collected = 8;  // RadioUnit's downlink frames: Options::collecting + queue
};

/// Buffers that an uplink is received in, which its frames hold or receivers have ready.
std::uint32_t uplink_buffers(const LinkOptions& options, const Layout& layout,
                             const LinkDepth& depth);

struct Link {
  std::unique_ptr<Transport> baseband, radio;  // null at the end that is elsewhere
};

/// Both ends in this process: shared memory has no name then, and UDP port 0 takes a free one.
Link open_both(const LinkOptions& options, const Layout& layout, const LinkDepth& depth);
/// One end. Both throw std::runtime_error naming what is wrong and what to do.
std::unique_ptr<Transport> open_end(Side side, const LinkOptions& options, const Layout& layout,
                                    const LinkDepth& depth);

}  // namespace carillon::fronthaul

namespace carillon {
template <>
struct EnumNames<fronthaul::LinkKind> {
  static constexpr std::array<std::string_view, 2> value{"shm", "udp"};
};
template <>
struct EnumNames<fronthaul::UdpIo> {
  static constexpr std::array<std::string_view, 4> value{"socket", "busy-poll", "io-uring",
                                                         "af-xdp"};
};
template <>
struct EnumNames<fronthaul::ReceiveInto> {
  static constexpr std::array<std::string_view, 3> value{"host", "gpu", "auto"};
};
}  // namespace carillon
