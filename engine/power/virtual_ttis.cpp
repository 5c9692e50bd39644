#include "power/virtual_ttis.hpp"

#include <algorithm>
#include <utility>

namespace carillon::power {

VirtualCore::VirtualCore(Delays delays, VirtualTtis options)
    : delays_(std::move(delays)),
      options_(std::move(options)),
      processing_(options_.seed, 0),
      system_(options_.seed, 1),
      fronthaul_(options_.seed, 2) {
  for (const double clock : options_.clocks) slower_.push_back(options_.clocks.back() / clock);
}

// When the core wakes for the TTI that ends on air now.
Tick VirtualCore::gathered() const noexcept {
  const Tick batch = options_.gather * options_.length;
  return (now_ + batch - 1) / batch * batch;
}

// One TTI of each cell, after its end on air. Returns how many are late that the highest clock
// would have had in time, were it always the clock.
std::uint32_t VirtualCore::tti(std::uint32_t load, std::uint32_t clock, Outcome& out) {
  const Tick due = now_ + options_.response, ready = gathered(),
             system = any_of(delays_.system, system_);
  const std::array<Tick, 4> held_up{system, 0, 0, system};
  std::uint32_t curable = 0;
  for (std::uint32_t cell = 0; cell < options_.cells; ++cell) {
    const Tick fronthaul = any_of(delays_.fronthaul, fronthaul_),
               full = any_of(delays_.processing[load], processing_);
    const auto work = static_cast<Tick>(static_cast<double>(full) * slower_[clock]);
    std::array<bool, 4> late{};
    for (std::size_t world = 0; world < late.size(); ++world) {
      const Tick there = world == 2 ? ready : std::max(ready, now_ + fronthaul);
      const bool idle = there > free_[world];
      const Tick begun = std::max(there, free_[world]) + (cell == 0 ? held_up[world] : 0) +
                         (idle ? Tick{options_.wake} : 0);
      const Tick end = begun + (world == 3 ? full : work);
      late[world] = end > due;
      free_[world] = std::max(begun, std::min(end, due));  // given up when it is due
      if (world != 0) continue;
      out.wakes += idle ? 1 : 0;
      out.busy_at[clock] += std::clamp<Tick>(due - begun, 0, work);
    }
    ++out.ttis;
    out.late += late[0] ? 1 : 0;
    out.by_system += late[0] && !late[1] ? 1 : 0;
    out.by_fronthaul += late[0] && late[1] && !late[2] ? 1 : 0;
    curable += late[0] && !late[3] ? 1 : 0;
  }
  out.at_clock[clock] += options_.length;
  now_ += options_.length;
  return curable;
}

template <typename Decide>
std::vector<Outcome> VirtualCore::run_all(const std::vector<Stretch>& stretches, Decide&& decide) {
  std::vector<Outcome> all;
  // A late TTI shows at its deadline.
  std::vector<std::uint32_t> late(1 +
                                  static_cast<std::size_t>(options_.response / options_.length));
  std::size_t place = 0;
  const auto highest = static_cast<std::uint32_t>(slower_.size() - 1);
  std::uint32_t clock = highest;
  for (std::size_t s = 0; s < stretches.size(); ++s) {
    Outcome& out = all.emplace_back();
    out.at_clock.resize(slower_.size());
    out.busy_at.resize(slower_.size());
    for (std::uint64_t i = 0; i < stretches[s].ttis; ++i) {
      const std::uint32_t next = decide(s, i, late[place]);
      out.changes += next != clock ? 1 : 0;
      clock = next;
      late[place] = tti(stretches[s].load, clock, out);
      place = (place + 1) % late.size();
    }
  }
  return all;
}

std::vector<Outcome> VirtualCore::run(const std::vector<Stretch>& stretches, std::uint32_t fixed) {
  return run_all(stretches, [&](std::size_t, std::uint64_t, std::uint32_t) { return fixed; });
}

std::vector<Outcome> VirtualCore::run(const std::vector<Stretch>& stretches, Governor& governor,
                                      std::uint32_t ahead) {
  return run_all(stretches, [&](std::size_t s, std::uint64_t i, std::uint32_t late) {
    std::uint32_t load = stretches[s].load;  // loads ascend
    const bool close = i + ahead >= stretches[s].ttis;
    if (close && s + 1 < stretches.size()) load = std::max(load, stretches[s + 1].load);
    return governor.decide({options_.cells, late, load});
  });
}

}  // namespace carillon::power
