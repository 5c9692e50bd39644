// TTIs of cells that share a core, in virtual time: each takes a time that was measured, longer by
// as much as the clock is lower, and waits for those before it. Nothing is computed.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "base/tick.hpp"
#include "power/governor.hpp"

namespace carillon::power {

/// Measured delays, drawn from at random; none of them empty. Of one TTI at the highest clock.
struct Delays {
  std::vector<std::vector<Tick>> processing;  ///< T_BS [load][sample]
  /// T_OS [sample] of a core in a TTI, whatever the clock: it stands still for all cells.
  std::vector<Tick> system;
  std::vector<Tick> fronthaul;  ///< T_f [sample], likewise: after the TTI's end on air
};

struct VirtualTtis {
  std::vector<double> clocks;        ///< MHz, ascending; the last is the one that was measured at
  Tick length = kMillisecond;        ///< of a TTI
  Tick response = 4 * kMillisecond;  ///< from its end on air to its deadline
  std::uint32_t cells = 1;           ///< that the core serves, their TTIs at once
  std::uint32_t wake = 0;            ///< ns to wake a core that had nothing to do, where it sleeps
  std::uint32_t gather = 1;          ///< TTIs that a core lets come before it wakes for them
  std::uint64_t seed = 1;
};

/// A stretch of TTIs alike, and what became of them.
struct Stretch {
  std::uint64_t ttis = 0;  ///< of each cell
  std::uint32_t load = 0;
};
struct Outcome {
  std::uint64_t ttis = 0, late = 0;     ///< of all cells
  std::uint64_t by_system = 0;          ///< of the late: in time if there were no T_OS at all
  std::uint64_t by_fronthaul = 0;       ///< … if there were neither T_OS nor T_f
  std::vector<Tick> at_clock, busy_at;  ///< [clock] time, and of that with work
  std::uint64_t changes = 0, wakes = 0;
};

/// Runs stretches one after another, each at the clock that the governor decides for it, or at
/// `fixed` where there is none. A TTI that is not done at its deadline is given up then, as a
/// contingency TTI takes its place. Loads are known `ahead` TTIs before. The core begins with
/// nothing to do. Gives an outcome for each stretch.
class VirtualCore {
 public:
  VirtualCore(Delays delays, VirtualTtis options);

  std::vector<Outcome> run(const std::vector<Stretch>& stretches, std::uint32_t fixed);
  std::vector<Outcome> run(const std::vector<Stretch>& stretches, Governor& governor,
                           std::uint32_t ahead);

 private:
  template <typename Decide>
  std::vector<Outcome> run_all(const std::vector<Stretch>& stretches, Decide&& decide);
  std::uint32_t tti(std::uint32_t load, std::uint32_t clock, Outcome& out);
  Tick gathered() const noexcept;
  static Tick any_of(const std::vector<Tick>& samples, Random& random) noexcept {
    return samples[(random.next() >> 32) * samples.size() >> 32];
  }

  Delays delays_;
  VirtualTtis options_;
  std::vector<double> slower_;  // [clock]
  Tick now_ = 0;                // end of the TTI on air
  // When the core has done what came before: with the delays that there are, without T_OS, without
  // T_f as well, and with all of them at the highest clock.
  std::array<Tick, 4> free_{-1, -1, -1, -1};
  // One for each delay: cores stand still in the same TTIs, however many cells they serve.
  Random processing_, system_, fronthaul_;
};

}  // namespace carillon::power
