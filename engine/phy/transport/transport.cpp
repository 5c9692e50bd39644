#include "phy/transport/transport.hpp"

#include <algorithm>
#include <cstring>

#include "phy/transport/bits.hpp"

namespace carillon::phy {
namespace {

constexpr auto kMsb = BitOrder::MsbFirst;

struct Parity {
  std::uint8_t bytes[3];
};

Parity parity_bytes(Crc kind, std::uint32_t parity) {
  const std::uint32_t left = kind == Crc::None ? 0 : parity << (24 - crc_bits(kind));
  return {{static_cast<std::uint8_t>(left >> 16), static_cast<std::uint8_t>(left >> 8),
           static_cast<std::uint8_t>(left)}};
}

// Block r holds bits [first, first + count) of the payload followed by its parity.
struct Span {
  std::uint32_t first, payload, parity;
};

Span block_span(const TransportPlan& plan, std::uint32_t r) {
  const std::uint32_t count = plan.B() / plan.C(), first = r * count;
  const std::uint32_t payload = std::clamp(plan.A(), first, first + count) - first;
  return {first, payload, count - payload};
}

}  // namespace

std::uint32_t transport_parity(const TransportPlan& plan, const std::uint8_t* payload) noexcept {
  return crc(plan.transport_crc(), payload, plan.A());
}

void segment(const TransportPlan& plan, const std::uint8_t* payload, std::uint32_t parity,
             std::uint32_t r, std::uint8_t* info) noexcept {
  const Span span = block_span(plan, r);
  const std::uint32_t own = span.payload + span.parity;
  std::memset(info + own / 8, 0, (plan.K() + 7) / 8 - own / 8);
  copy_bits<kMsb>(info, 0, payload, span.first, span.payload);
  const Parity transport = parity_bytes(plan.transport_crc(), parity);
  copy_bits<kMsb>(info, span.payload, transport.bytes, span.first + span.payload - plan.A(),
                  span.parity);
  const Parity block = parity_bytes(plan.block_crc(), crc(plan.block_crc(), info, own));
  copy_bits<kMsb>(info, own, block.bytes, 0, crc_bits(plan.block_crc()));
}

bool desegment(const TransportPlan& plan, const std::uint8_t* infos, std::size_t stride,
               std::uint8_t* payload) noexcept {
  Parity parity{};
  payload[(plan.A() - 1) / 8] = 0;
  for (std::uint32_t r = 0; r < plan.C(); ++r, infos += stride) {
    const Span span = block_span(plan, r);
    copy_bits<kMsb>(payload, span.first, infos, 0, span.payload);
    copy_bits<kMsb>(parity.bytes, span.first + span.payload - plan.A(), infos, span.payload,
                    span.parity);
  }
  const Parity expected = parity_bytes(plan.transport_crc(), transport_parity(plan, payload));
  return std::memcmp(parity.bytes, expected.bytes, sizeof parity.bytes) == 0;
}

void select_bits(const SoftMap& map, const std::uint8_t* codeword, std::uint8_t* e) noexcept {
  for (std::uint32_t lap = 0; lap < map.E; lap += map.lap)
    for (std::uint32_t p = 0; p < map.piece_count; ++p) {
      const SoftPiece& piece = map.pieces[p];
      const std::uint32_t first = lap + piece.e;
      if (first >= map.E) return;
      copy_bits<BitOrder::LsbFirst>(e, first, codeword, piece.d,
                                    std::min(piece.count, map.E - first));
    }
}

}  // namespace carillon::phy
