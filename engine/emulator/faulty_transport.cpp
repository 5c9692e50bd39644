#include "emulator/faulty_transport.hpp"

#include <cstring>

namespace carillon::emulator {

using fronthaul::Carries;
using fronthaul::kNoBuffer;
using fronthaul::Outgoing;
using fronthaul::Reject;

FaultyTransport::FaultyTransport(const fronthaul::Layout& layout, fronthaul::Transport& inner,
                                 Faults faults)
    : ForwardingTransport(inner), layout_(layout), faults_(faults), random_(faults.seed) {
  held_.reserve(kMostHeld);
}

FaultyTransport::~FaultyTransport() {
  while (!held_.empty()) let_go(held_.size() - 1);
}

bool FaultyTransport::chance(double probability) {
  return static_cast<double>(random_() >> 11) * 0x1p-53 < probability;
}

std::uint32_t FaultyTransport::below(std::uint32_t bound) {
  return static_cast<std::uint32_t>(random_() % bound);
}

std::size_t FaultyTransport::send(std::span<Outgoing> packets) noexcept {
  for (std::size_t i = 0; i < packets.size(); ++i) {
    Outgoing& packet = packets[i];
    if (packet.ids.symbol == fronthaul::kReportSymbol) {  // carries no samples
      if (!forward(packet)) return i;
      ++counters_.reports;
      continue;
    }
    const bool lose = chance(faults_.loss);
    const bool repeat = !lose && chance(faults_.duplicate);
    const bool delay = !lose && chance(faults_.reorder);
    if (!lose) {
      const bool delayed = delay && hold(packet);
      const bool repeated = repeat && hold(packet);
      if (!delayed && !forward(packet)) {
        if (repeated) let_go(held_.size() - 1);
        return i;
      }
      counters_.reordered += delayed;
      counters_.duplicated += repeated;
    }
    counters_.lost += lose;
    ++counters_.packets;
    if (chance(faults_.garbage)) forge(packet);
    count_down();
  }
  return packets.size();
}

// Keeps a copy to send later; false when there is no room for one.
bool FaultyTransport::hold(const Outgoing& packet) noexcept {
  if (held_.size() == kMostHeld) return false;
  Outgoing copy = packet;
  if (!packet.resident) {
    copy.buffer = inner_.acquire();
    if (copy.buffer == kNoBuffer) return false;
    std::memcpy(inner_.memory(copy.buffer), inner_.memory(packet.buffer), packet.bytes);
  }
  held_.push_back({copy, 1 + below(faults_.distance)});
  return true;
}

bool FaultyTransport::forward(Outgoing& packet) noexcept { return inner_.send({&packet, 1}) == 1; }

void FaultyTransport::count_down() noexcept {
  for (std::size_t i = 0; i < held_.size();) {
    Held& h = held_[i];
    if (h.countdown > 0) --h.countdown;
    if (h.countdown > 0 || !forward(h.packet)) {
      ++i;
    } else {
      let_go(i);
    }
  }
}

void FaultyTransport::let_go(std::size_t index) noexcept {
  const Outgoing& packet = held_[index].packet;
  if (!packet.resident) inner_.abandon({&packet.buffer, 1});
  held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(index));
}

bool FaultyTransport::flush() noexcept {
  for (Held& h : held_) h.countdown = 0;
  count_down();
  return held_.empty();
}

void FaultyTransport::forge(const Outgoing& model) noexcept {
  Outgoing packet = model;
  packet.resident = false;
  packet.buffer = inner_.acquire();
  if (packet.buffer == kNoBuffer) return;
  std::byte* const bytes = inner_.memory(packet.buffer);
  for (std::uint32_t i = 0; i < model.bytes; i += 4) {
    const std::uint64_t noise = random_();
    std::memcpy(bytes + i, &noise, 4);
  }
  spoil(packet);
  auto why = fronthaul::check(packet.ids, packet.bytes, layout_, Carries::Uplink);
  if (why == Reject::None)
    why = static_cast<std::int32_t>(packet.ids.frame - model.ids.frame) < 0 ? Reject::Old
                                                                            : Reject::Early;
  if (forward(packet)) ++counters_.forged[static_cast<std::size_t>(why)];
  inner_.abandon({&packet.buffer, 1});
}

// Makes it wrong in one of seven ways.
void FaultyTransport::spoil(Outgoing& packet) {
  auto& ids = packet.ids;
  switch (below(7)) {
    case 0: packet.bytes = below(packet.bytes); break;
    case 1: packet.bytes += 1; break;
    case 2: ids.cell += 1 + below(1000); break;
    case 3: ids.antenna = layout_.antennas() + below(1000); break;
    case 4: {
      ids.symbol = below(static_cast<std::uint32_t>(layout_.symbols().size()) * 2);
      if (ids.symbol < layout_.symbols().size() &&
          layout_.symbols()[ids.symbol].carries == Carries::Uplink)
        ids.symbol = static_cast<std::uint32_t>(layout_.symbols().size()) + below(1000);
      break;
    }
    case 5: ids.frame -= 1000 + below(1000); break;
    default: ids.frame += 1000 + below(1000); break;
  }
}

}  // namespace carillon::emulator
