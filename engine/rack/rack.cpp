#include "rack/rack.hpp"

#include <bit>
#include <utility>

namespace carillon::rack {

std::string_view to_string(Cause cause) {
  switch (cause) {
    case Cause::None: return "none";
    case Cause::Overload: return "overload";
    case Cause::HostLost: return "its server was lost";
    case Cause::Moving: return "between two servers";
  }
  return "unknown";
}

Rack::Rack(std::uint16_t servers, std::uint16_t cells,
           std::span<const std::optional<std::uint16_t>> homes, const RackOptions& options,
           Share share, Reserve reserve)
    : options_(options), share_(std::move(share)), reserve_(std::move(reserve)), servers_(servers) {
  units_.resize(cells, {.server = kNone});
  for (std::uint16_t c = 0; c < cells && c < homes.size(); ++c)
    units_[c].server = homes[c].value_or(kNone);
  for (std::uint16_t c = 0; c < cells; ++c)
    if (units_[c].server == kNone) units_[c].server = roomiest(c, kNone);
}

double Rack::load(std::uint16_t server) const {
  double load = 0;
  for (std::uint16_t c = 0; c < units_.size(); ++c)
    if (units_[c].server == server) load += share_(server, c);
  return load;
}

// The server with the least load when the cell is there; kNone when there is no other.
std::uint16_t Rack::roomiest(std::uint16_t cell, std::uint16_t except) const {
  std::uint16_t best = kNone;
  double least = 0;
  for (std::uint16_t s = 0; s < servers_.size(); ++s) {
    if (s == except || !servers_[s].up) continue;
    const double with = load(s) + share_(s, cell);
    if (best != kNone && !(with < least)) continue;
    best = s;
    least = with;
  }
  return best;
}

void Rack::move(std::uint16_t cell, std::uint16_t to, Cause why, Tick now) {
  Unit& unit = units_[cell];
  moves_.push_back({now, now + options_.move, cell, unit.server, to, why});
  for (const std::uint16_t server : {unit.server, to}) servers_[server].held = now + options_.hold;
  unit = {.server = to, .served = now + options_.move};
}

std::uint32_t Rack::recent_nacks(const Unit& unit) const {
  return static_cast<std::uint32_t>(
      std::popcount(unit.nacks & ~std::uint64_t{0} >> (64 - options_.window)));
}

// Devices first: a unit that moves loses frames.
void Rack::relieve(std::uint16_t cell, Tick now) {
  const std::uint16_t from = units_[cell].server;
  if (const auto device = reserve_ ? reserve_(from, now) : std::nullopt)
    return join(cell, *device, now);
  const std::uint16_t to = roomiest(cell, from);
  if (to != kNone && load(to) + share_(to, cell) < load(from)) move(cell, to, Cause::Overload, now);
}

void Rack::join(std::uint16_t cell, std::uint16_t device, Tick now) {
  const std::uint16_t at = units_[cell].server;
  joins_.push_back({now, cell, at, device});
  servers_[at].held = servers_[at].settled = now + options_.hold;
  for (Unit& unit : units_)
    if (unit.server == at) unit.nacks = 0;
}

std::uint16_t Rack::route(std::uint16_t cell, Tick now) {
  const Unit& unit = units_[cell];
  if (recent_nacks(unit) >= options_.nacks && now >= servers_[unit.server].held) relieve(cell, now);
  return now >= unit.served ? unit.server : kNone;
}

void Rack::ended(std::uint16_t cell, std::uint16_t server, Tick began, bool done) {
  Unit& unit = units_[cell];
  if (unit.server != server) return;  // of a frame that it left behind
  if (began < servers_[server].settled) return;
  unit.nacks = unit.nacks << 1 | (done ? 0 : 1);
}

void Rack::changed(std::uint16_t server, bool up, Tick now) {
  servers_[server].up = up;
  for (std::uint16_t c = 0; c < units_.size(); ++c) {
    const std::uint16_t from = units_[c].server;
    if (servers_[from].up) continue;
    const std::uint16_t to = roomiest(c, from);
    if (to != kNone) move(c, to, Cause::HostLost, now);
  }
}

}  // namespace carillon::rack
