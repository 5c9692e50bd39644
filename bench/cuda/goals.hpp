// What we aim at on a GPU, and what was measured of it. Arithmetic alone: it needs no device.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "base/tick.hpp"
#include "cuda/latency.hpp"
#include "cuda/served.hpp"

namespace carillon::bench {

/// A goal; or, where none is set, a figure.
struct Goal {
  std::string what, unit;
  std::optional<double> value = {};  ///< none: it was not measured, for the reason that `note` has
  double error = 0;                  ///< to either side
  double limit = 0;                  ///< 0: a figure
  bool at_least = false;             ///< the limit; else at most
  std::string note = {};
  bool failed = false;  ///< for another reason than the limit: a benchmark that has it has failed
};

/// "met", "missed", "too close to tell" when the limit lies within the error, or "not measured"; of
/// a figure nothing.
std::string verdict(const Goal& goal);

/// As a line for people, in which "; goal " or "; a figure" tells goals from all else.
std::string text(const Goal& goal);

/// As member "goals" of a JSON object.
void write_goals(std::ostream& out, const std::vector<Goal>& goals);

/// Of the rows with a goal those of the calls that an executor makes.
std::vector<Goal> completion_goals(const Completion& completion);

/// p99.99 of a cell's latency in ms, which takes 20 000 frames, all blocks being what was sent.
/// With fewer the note has the percentile that so many can tell.
Goal latency_goal(const std::string& cell, const Served& served, double limit);

/// 99.99 % of the frames were in time, and no block was another than the one sent.
bool sustained(const Served& served);

/// Cells of which the largest number that is sustained is looked for.
struct SustainedCells {
  std::string name;
  std::uint32_t most = 8;
  Tick deadline = 0;  ///< that `served` holds frames to
  double needs = 0;   ///< GB/s of a cell's samples
  double bus = 0;     ///< GB/s; 0: not known
  std::function<Served(std::uint32_t cells)> serve;
};
/// Figures: of each number that was tried the frames per second that were in time, then how many
/// cells were sustained.
std::vector<Goal> sustained_figures(const SustainedCells& cells);
/// The largest number up to `most` for which it holds, if it holds for all that are smaller: most
/// first, then what lies in the middle between the best so far and the least that failed. 0: none.
std::uint32_t largest(std::uint32_t most, const std::function<bool(std::uint32_t)>& holds);

/// What moves bytes to the device, and what it is held against; MB/s. 0: not known.
struct Rates {
  double moved = 0;
  double bus = 0;     ///< one large copy from pinned memory
  double link = 0;    ///< what the PCI link is reckoned to carry (base/pci.hpp)
  double source = 0;  ///< what the radio's stand-in brings when nothing moves on to the device
};
/// A share of the bus, of which 90 % are the goal. Where the source is what limits a path, nothing
/// is known of it.
Goal bus_goal(const std::string& what, const Rates& rates);

}  // namespace carillon::bench
