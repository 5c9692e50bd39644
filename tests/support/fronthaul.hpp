// A small cell, each kind of link, samples that say where they belong, and a sink that checks
// them.
#pragma once

#include <atomic>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "fronthaul/ingest.hpp"
#include "fronthaul/link.hpp"
#include "fronthaul/veth.hpp"
#include "support/test.hpp"

namespace carillon::test {

/// P U U G D D, four antennas, one millisecond; the first symbol is longer, as in NR.
inline fronthaul::Layout small_layout(std::uint32_t antennas = 4, Tick duration = kMillisecond) {
  using fronthaul::Carries;
  const Carries ways[] = {Carries::Uplink,  Carries::Uplink,   Carries::Uplink,
                          Carries::Nothing, Carries::Downlink, Carries::Downlink};
  std::vector<fronthaul::SymbolLayout> symbols;
  for (std::uint32_t s = 0; s < 6; ++s)
    symbols.push_back({ways[s], s == 0 ? 150U : 144U, duration * s / 6, duration * (s + 1) / 6, 0});
  return {7, antennas, duration, std::move(symbols)};
}

struct NamedLink {
  std::string name;
  fronthaul::Link link;
};

/// Over a virtual cable between two network namespaces, by AF_XDP; where this machine permits it.
inline fronthaul::Link cable_link(fronthaul::LinkOptions options, const fronthaul::Layout& layout,
                                  const fronthaul::LinkDepth& depth) {
  const fronthaul::VirtualCable cable(1500);
  options.io = fronthaul::UdpIo::AfXdp;
  options.bbu_address = fronthaul::VirtualCable::address(0);
  options.radio_address = fronthaul::VirtualCable::address(1);
  options.bbu_port = 8000;
  options.radio_port = 9000;
  fronthaul::Link link;
  cable.end(0).inside(
      [&] { link.baseband = open_end(fronthaul::Side::Baseband, options, layout, depth); });
  cable.end(1).inside(
      [&] { link.radio = open_end(fronthaul::Side::Radio, options, layout, depth); });
  return link;
}

/// One link of each kind that this machine permits, UDP asked of the kernel in each way, on free
/// ports of the loopback.
inline std::vector<NamedLink> each_link(const fronthaul::Layout& layout,
                                        std::uint32_t receivers = 1,
                                        fronthaul::LinkDepth depth = {}) {
  using fronthaul::LinkKind;
  using fronthaul::UdpIo;
  fronthaul::LinkOptions options;
  options.receivers = receivers;
  std::vector<NamedLink> links;
  links.push_back({"shm", fronthaul::open_both(options, layout, depth)});
  options.kind = LinkKind::Udp;
  options.bbu_port = options.radio_port = 0;
  links.push_back({"udp", fronthaul::open_both(options, layout, depth)});
  for (const auto& [name, io] :
       {std::pair{"busy-poll", UdpIo::BusyPoll}, std::pair{"io-uring", UdpIo::IoUring}}) {
    options.io = io;
    try {
      links.push_back({name, fronthaul::open_both(options, layout, depth)});
    } catch (const std::runtime_error& error) {
      std::cerr << "without " << name << ": " << error.what() << '\n';
    }
  }
  try {
    links.push_back({"af-xdp", cable_link(options, layout, depth)});
  } catch (const std::runtime_error& error) {
    std::cerr << "without af-xdp: " << error.what() << '\n';
  }
  return links;
}

/// All buffers of both ends are where they were.
inline bool all_returned(const fronthaul::Link& link) {
  return link.baseband->available() == link.baseband->buffers() &&
         link.radio->available() == link.radio->buffers();
}

inline std::int16_t stamp(std::uint32_t frame, std::uint32_t symbol, std::uint32_t antenna,
                          std::uint32_t i) {
  return static_cast<std::int16_t>((frame * 31 + symbol * 7 + antenna) * 131 + i);
}

inline void write_stamps(std::int16_t* samples, std::uint32_t count, std::uint32_t frame,
                         std::uint32_t symbol, std::uint32_t antenna) {
  for (std::uint32_t i = 0; i < 2 * count; ++i) samples[i] = stamp(frame, symbol, antenna, i);
}

inline bool has_stamps(const std::int16_t* samples, std::uint32_t count, std::uint32_t frame,
                       std::uint32_t symbol, std::uint32_t antenna) {
  for (std::uint32_t i = 0; i < 2 * count; ++i)
    if (samples[i] != stamp(frame, symbol, antenna, i)) return false;
  return true;
}

/// Sends one stamped packet; true if the link took it.
inline bool send_packet(fronthaul::Transport& from, const fronthaul::Layout& layout,
                        std::uint32_t frame, std::uint32_t symbol, std::uint32_t antenna) {
  const std::uint32_t buffer = from.acquire();
  if (buffer == fronthaul::kNoBuffer) return false;
  write_stamps(from.samples(buffer), layout.symbols()[symbol].samples, frame, symbol, antenna);
  fronthaul::Outgoing packet{
      {frame, symbol, layout.cell(), antenna}, layout.packet_bytes(symbol), buffer, antenna, false};
  const bool went = from.send({&packet, 1}) == 1;
  from.abandon({&packet.buffer, 1});
  return went;
}

inline std::uint32_t send_frame(fronthaul::Transport& from, const fronthaul::Layout& layout,
                                std::uint32_t frame) {
  std::uint32_t sent = 0;
  for (const auto symbol : layout.symbols(fronthaul::Carries::Uplink))
    for (std::uint32_t a = 0; a < layout.antennas(); ++a)
      sent += send_packet(from, layout, frame, symbol, a);
  return sent;
}

/// Checks each packet's stamps, and counts. `wire` turns our frame number into the sender's.
struct CheckingSink : fronthaul::SymbolSink {
  explicit CheckingSink(const fronthaul::Layout& l) : layout(l) {}

  bool open(std::uint64_t frame, Tick air_start) override {
    opened.fetch_add(1);
    last_opened.store(frame);
    last_air_start.store(air_start);
    return accept.load();
  }
  void arrive(std::uint64_t frame, std::uint32_t symbol, std::uint32_t antenna,
              const std::int16_t* samples, Tick) override {
    arrived.fetch_add(1);
    last_frame.store(frame);
    if (!has_stamps(samples, layout.symbols()[symbol].samples, wire(frame), symbol, antenna))
      wrong.fetch_add(1);
  }

  const fronthaul::Layout& layout;
  std::function<std::uint32_t(std::uint64_t)> wire = [](std::uint64_t frame) {
    return static_cast<std::uint32_t>(frame);
  };
  std::atomic<bool> accept{true};
  std::atomic<std::uint64_t> opened{0}, arrived{0}, wrong{0}, last_opened{0}, last_frame{0};
  std::atomic<Tick> last_air_start{0};
};

/// Polls until `count` more packets came; gives up when none comes for longer than any busy machine
/// takes.
inline std::size_t poll_for(fronthaul::UplinkIngest& ingest, std::size_t count,
                            std::uint32_t receiver = 0) {
  std::size_t got = 0;
  for (Tick quiet = now(); got < count && now() - quiet < 20 * kSecond;) {
    const std::size_t more = ingest.poll(receiver);
    got += more;
    if (more > 0) quiet = now();
  }
  return got;
}

}  // namespace carillon::test
