#include "frame/pairing.hpp"

#include <algorithm>

#include "phy/estimate/estimate.hpp"
#include "phy/tile.hpp"

namespace carillon::frame {

using phy::kTileLanes;

Pairing::Pairing(const FrameFormat& format)
    : users_(format.users),
      group_(format.combiner.group),
      subcarriers_(format.numerology.subcarriers),
      lanes_((subcarriers_ + group_ - 1) / group_),
      tiles_(phy::csi_tiles(format.numerology.subcarriers, group_)) {}

Pairing Pairing::whole(const FrameFormat& format) {
  Pairing pairing(format);
  for (std::uint32_t user = 0; user < format.users; ++user)
    pairing.add(user, 0, format.numerology.subcarriers);
  return pairing;
}

void Pairing::add(std::uint32_t user, std::uint32_t first, std::uint32_t count) {
  if (count == 0) return;
  const std::uint32_t begin = first / group_, end = (first + count - 1) / group_ + 1;
  for (std::uint32_t tile = begin / kTileLanes; tile * kTileLanes < end; ++tile) {
    const std::uint32_t low = std::max(begin, tile * kTileLanes) - tile * kTileLanes;
    const std::uint32_t high = std::min(end - tile * kTileLanes, kTileLanes);
    const auto lanes = static_cast<std::uint16_t>(((1U << (high - low)) - 1) << low);
    auto& users = tiles_[tile];
    const auto at = std::ranges::lower_bound(users, user, {}, &PairedUser::user);
    if (at != users.end() && at->user == user)
      at->lanes |= lanes;
    else
      users.insert(at, {static_cast<std::uint16_t>(user), lanes});
  }
}

bool Pairing::is_whole() const {
  for (std::uint32_t tile = 0; tile < tiles_.size(); ++tile) {
    const std::uint32_t count = std::min(lanes_ - tile * kTileLanes, kTileLanes);
    const auto everywhere = [&](const PairedUser& each) { return each.lanes == (1U << count) - 1; };
    if (tiles_[tile].size() != users_ || !std::ranges::all_of(tiles_[tile], everywhere))
      return false;
  }
  return true;
}

std::uint32_t Pairing::lanes_of(std::uint32_t csi_tile, std::uint32_t user) const {
  const auto& users = tiles_[csi_tile];
  const auto at = std::ranges::lower_bound(users, user, {}, &PairedUser::user);
  return at != users.end() && at->user == user ? at->lanes : 0;
}

std::uint32_t Pairing::together(std::uint32_t k) const {
  const std::uint32_t lane = k / group_;
  return static_cast<std::uint32_t>(std::ranges::count_if(
      tiles_[lane / kTileLanes],
      [&](const PairedUser& each) { return (each.lanes >> lane % kTileLanes & 1) != 0; }));
}

std::uint32_t Pairing::turn(std::uint32_t k) const {
  const std::uint32_t users = together(k), lane = k / group_;
  std::uint32_t left = users == 0 ? 0 : k % users;
  for (const PairedUser& each : tiles_[lane / kTileLanes])
    if ((each.lanes >> lane % kTileLanes & 1) != 0 && left-- == 0) return each.user;
  return 0xffff'ffff;
}

bool Pairing::gives_all_a_turn() const {
  std::vector<bool> present(users_), has(users_);
  for (const auto& users : tiles_)
    for (const PairedUser& each : users) present[each.user] = true;
  for (std::uint32_t k = 0; k < subcarriers_; ++k)
    if (const std::uint32_t user = turn(k); user < users_) has[user] = true;
  return present == has;
}

bool Pairing::is_empty() const {
  return std::ranges::all_of(tiles_, [](const auto& users) { return users.empty(); });
}

std::uint32_t Pairing::most_together() const {
  std::uint32_t most = 0;
  for (const auto& users : tiles_)
    for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
      most = std::max(
          most,
          static_cast<std::uint32_t>(std::ranges::count_if(
              users, [lane](const PairedUser& each) { return (each.lanes >> lane & 1) != 0; })));
  return most;
}

}  // namespace carillon::frame
