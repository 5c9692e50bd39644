#include "mac/scheduler.hpp"

#include <algorithm>
#include <cmath>

#include "phy/transport/transport.hpp"

namespace carillon::mac {
namespace {

using frame::Direction;

constexpr std::array kDirections{Direction::Uplink, Direction::Downlink};

// TS 38.214 5.1.3.2 rounds a block's size down by up to 1/64 and 8 bits: what waits shall not leave
// a few bytes behind, for which another frame would be needed.
std::uint64_t with_rounding(std::uint64_t bytes) { return bytes + bytes / 64 + 1; }

// Beside its overhead, for a block to be worth it.
constexpr std::uint32_t kLeastBytes = 8;

std::vector<Demand> room_for_demands(std::uint32_t users) {
  std::vector<Demand> demands;
  demands.reserve(users);
  return demands;
}

}  // namespace

std::vector<Part> parts_of(const frame::Frame& frame) {
  std::vector<Part> parts;
  for (std::uint32_t slot = 0; slot < slots_of(frame.format()); ++slot)
    for (const Direction direction : kDirections) {
      const auto symbols = std::ranges::count_if(frame.symbols(), [&](const frame::Symbol& symbol) {
        return symbol.slot == slot && carries_data(symbol, direction);
      });
      if (symbols > 0)
        parts.push_back(
            {slot, direction, static_cast<std::uint32_t>(symbols) * frame::kSubcarriersPerBlock});
    }
  return parts;
}

Scheduler::Scheduler(const frame::Frame& frame, std::uint32_t overhead)
    : users_(frame.format().users),
      blocks_(frame.format().numerology.subcarriers / frame::kSubcarriersPerBlock),
      overhead_(overhead),
      parts_(parts_of(frame)),
      demands_(room_for_demands(users_)),
      shares_(users_) {
  const frame::Grants& grants = frame.format().grants;
  for (const Direction direction : kDirections) {
    const auto d = static_cast<std::size_t>(direction);
    const frame::Coding& coding = frame.coding(direction);
    by_table_[d] = coding.mcs_table != frame::McsTable::None;
    policies_[d] = make_policy(grants.policy, users_);
    for (std::uint32_t u = 0; u < users_; ++u)
      flows_.emplace_back(LinkAdaptation(rows_of(coding, u), grants.target_bler));
  }
  grants_.reserve(parts_.size() * users_ * frame::kGrantNumbers);
}

bool Scheduler::has(Direction direction) const {
  return std::ranges::any_of(parts_, [&](const Part& p) { return p.direction == direction; });
}

void Scheduler::report(Direction direction, std::uint32_t user, std::uint64_t bytes,
                       std::uint32_t settled) noexcept {
  Flow& flow = this->flow(direction, user);
  std::uint64_t on_its_way = 0;
  for (const Granted& each : flow.granted)
    if (static_cast<std::int32_t>(each.frame - settled) > 0) on_its_way += each.bytes;
  flow.waiting = bytes - std::min(bytes, on_its_way);
}

std::span<const std::uint32_t> Scheduler::schedule(std::uint32_t frame) noexcept {
  grants_.clear();
  last_ = frame;
  for (Flow& flow : flows_) {
    flow.granted[frame % kFrames] = {frame, 0};
    flow.before = flow.counters;
    flow.waiting_before = flow.waiting;
    flow.average_before = flow.average;
  }
  for (const Part& part : parts_) divide(part, frame);
  return grants_;
}

void Scheduler::withdraw() noexcept {
  for (Flow& flow : flows_) {
    flow.granted[last_ % kFrames].bytes = 0;
    flow.counters = flow.before;
    flow.waiting = flow.waiting_before;
    flow.average = flow.average_before;
  }
  grants_.clear();
}

void Scheduler::heard(Direction direction, std::uint32_t user, frame::Verdict verdict,
                      std::optional<double> snr_db) noexcept {
  Flow& flow = this->flow(direction, user);
  switch (verdict) {
    case frame::Verdict::Good: ++flow.counters.good; break;
    case frame::Verdict::Failed: ++flow.counters.failed; break;
    case frame::Verdict::Late: ++flow.counters.late; return;
  }
  flow.link.heard(verdict == frame::Verdict::Good, snr_db);
}

void Scheduler::divide(const Part& part, std::uint32_t frame) noexcept {
  demands_.clear();
  for (std::uint32_t u = 0; u < users_; ++u) {
    const Flow& flow = this->flow(part.direction, u);
    if (flow.waiting == 0) continue;
    demands_.push_back(demand_of(part, u));
  }
  const auto shares = std::span(shares_).first(demands_.size());
  policies_[static_cast<std::size_t>(part.direction)]->divide(demands_, blocks_, shares);
  for (std::uint32_t u = 0, d = 0, first = 0; u < users_; ++u) {
    const bool wants = d < demands_.size() && demands_[d].user == u;
    const std::uint32_t share = wants ? shares[d] : 0;
    const double bits = wants ? share * demands_[d].bits_per_block : 0;
    Flow& flow = this->flow(part.direction, u);
    flow.average = averaged(flow.average, bits, kWindow);
    if (share > 0) grant(part, u, frame, first, share);
    first += share;
    d += wants;
  }
}

// Of few resource blocks at the rate that these have room for.
Demand Scheduler::demand_of(const Part& part, std::uint32_t user) const noexcept {
  const Flow& flow = this->flow(part.direction, user);
  Demand demand{.user = user,
                .waiting = with_rounding(flow.waiting + overhead_),
                .bits_per_block = flow.link.row().efficiency() * part.elements,
                .average = flow.average};
  if (overhead_ > 0) demand.least_bits = 8.0 * (overhead_ + kLeastBytes);
  const Row& row = flow.link.row_for(demand.needed(blocks_) * part.elements);
  demand.bits_per_block = row.efficiency() * part.elements;
  return demand;
}

void Scheduler::grant(const Part& part, std::uint32_t user, std::uint32_t frame,
                      std::uint32_t first, std::uint32_t blocks) noexcept {
  Flow& flow = this->flow(part.direction, user);
  const Row& row = flow.link.row_for(blocks * part.elements);
  const std::uint64_t carried =
      phy::transport_block_bits(blocks * part.elements, row.modulation, row.rate) / 8;
  const std::uint64_t taken =
      std::min(flow.waiting, carried - std::min<std::uint64_t>(carried, overhead_));
  flow.waiting -= taken;
  flow.granted[frame % kFrames].bytes += taken;
  ++flow.counters.blocks;
  flow.counters.resource_blocks += blocks;
  flow.counters.mcs_sum += std::uint64_t{blocks} * row.mcs;
  write(part, user, row, first, blocks);
}

// As Grants::list has it.
void Scheduler::write(const Part& part, std::uint32_t user, const Row& row, std::uint32_t first,
                      std::uint32_t blocks) noexcept {
  const bool named = by_table_[static_cast<std::size_t>(part.direction)];
  const auto rate = static_cast<std::uint32_t>(std::lround(row.rate * frame::kRateUnits));
  const std::array<std::uint32_t, frame::kGrantNumbers> numbers{
      user,
      part.slot,
      static_cast<std::uint32_t>(part.direction),
      first,
      blocks,
      0,  // redundancy version, HARQ process,
      0,
      0,  // first symbol, symbols: the slot's
      0,
      named ? 0 : row.bits() / 2,
      named ? row.mcs + 1 : 0,
      named ? 0 : rate,
      0,  // not sent again
  };
  grants_.insert(grants_.end(), numbers.begin(), numbers.end());
}

}  // namespace carillon::mac
