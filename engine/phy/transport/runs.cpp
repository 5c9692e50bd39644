#include "phy/transport/runs.hpp"

#include <algorithm>

namespace carillon::phy {

Places places_of(const SoftMap& map, RunTable::Order order) noexcept {
  Places places{map.E, map.E, {0, 0, 0}, map.plane_stride};
  if (order == RunTable::Order::Sent || !map.direct) return places;
  for (std::uint32_t p = 0; p < map.piece_count; ++p)
    places.shift[p] = map.pieces[p].d - map.pieces[p].e;
  if (map.piece_count > 1) places.second = map.pieces[1].e;
  if (map.piece_count > 2) places.third = map.pieces[2].e;
  return places;
}

std::uint32_t RunTable::places_of(const TransportPlan& plan) {
  const auto next = static_cast<std::uint32_t>(places_.size());
  const auto [known, added] = known_.try_emplace(&plan, next);
  if (added)
    for (const CodeBlock& block : plan.blocks())
      places_.push_back(phy::places_of(block.map, order_));
  return known->second;
}

void RunTable::add(const Share& share) {
  const auto end = share.first_re + share.count;
  for (std::uint32_t re = share.first_re, r = 0; re < end; ++r) {
    const CodeBlock& block = share.plan->blocks()[r];
    const std::uint32_t block_end = block.first_re + block.re_count;
    if (block_end <= re) continue;
    const std::uint32_t first = share.first_subcarrier + re - share.first_re;
    const std::uint32_t count = std::min(end, block_end) - re;
    const std::uint32_t tile = first / kTileLanes - share.first_subcarrier / kTileLanes;
    runs_.push_back({.first = first,
                     .count = count,
                     .re = re - block.first_re,
                     .bits = share.plan->Qm(),
                     .places = places_of(*share.plan) + r,
                     .signs = share.signs + tile,
                     .sign_stride = tiles_for(share.first_subcarrier % kTileLanes + share.count),
                     .buffer = share.buffers[r]});
    re += count;
  }
  first_.push_back(static_cast<std::uint32_t>(runs_.size()));
}

}  // namespace carillon::phy
