// A link whose baseband unit receives through the network card that is none, into memory that
// stands for a GPU's.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fronthaul/gpu/packets.hpp"
#include "fronthaul/udp.hpp"
#include "support/ethernet.hpp"
#include "support/fronthaul.hpp"

namespace carillon::test {

inline const FakeVerbs& fake_verbs() {
  static const FakeVerbs verbs(CARILLON_FAKE_VERBS);
  return verbs;
}

/// Such memory; garbage.
inline fronthaul::gpu::SampleRoom sample_room(std::size_t bytes) {
  auto memory = std::make_shared<AlignedArray<std::byte>>(bytes);
  std::memset(memory->data(), 0x5a, bytes);
  fronthaul::gpu::SampleRoom room;
  room.memory = memory->data();
  room.bytes = bytes;
  room.owner = memory;
  return room;
}

inline fronthaul::gpu::PacketPlan packet_plan(const fronthaul::Layout& layout,
                                              const std::vector<std::uint16_t>& ports,
                                              const fronthaul::LinkDepth& depth) {
  fronthaul::gpu::PacketPlan plan;
  plan.card = {"fake_0", CARILLON_FAKE_VERBS};
  for (const auto port : ports) {
    plan.destinations.push_back(kHere);
    plan.destinations.back().port = port;
  }
  plan.places = depth.ingest * layout.packets(fronthaul::Carries::Uplink) +
                256 * static_cast<std::uint32_t>(ports.size());
  plan.sample_bytes = layout.buffer_bytes() - fronthaul::kHeaderBytes;
  return plan;
}

/// Has the baseband unit of a UDP link receive through the card; empty: it does.
inline std::string cable(fronthaul::Link& link, const fronthaul::Layout& layout,
                         const fronthaul::LinkDepth& depth = {}) {
  const auto plan =
      packet_plan(layout, dynamic_cast<fronthaul::UdpTransport&>(*link.baseband).ports(), depth);
  std::string why;
  auto receiver = fronthaul::gpu::CardTransport::open(
      link.baseband, plan, sample_room(std::size_t{plan.places} * plan.sample_bytes), why);
  if (receiver == nullptr) return why;
  link.baseband = std::move(receiver);
  link.radio =
      std::make_unique<CabledTransport>(std::move(link.radio), fake_verbs(), plan.destinations);
  return why;
}

inline fronthaul::Link udp_link(const fronthaul::Layout& layout, std::uint32_t receivers = 1,
                                const fronthaul::LinkDepth& depth = {}) {
  fronthaul::LinkOptions options;
  options.kind = fronthaul::LinkKind::Udp;
  options.bbu_port = options.radio_port = 0;
  options.receivers = receivers;
  return fronthaul::open_both(options, layout, depth);
}

inline fronthaul::Link card_link(const fronthaul::Layout& layout, std::uint32_t receivers = 1,
                                 const fronthaul::LinkDepth& depth = {}) {
  fronthaul::Link link = udp_link(layout, receivers, depth);
  EXPECT_EQ(cable(link, layout, depth), "");
  return link;
}

}  // namespace carillon::test
