// How late jobs of sporadic tasks can be under global earliest deadline first.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace carillon::dataflow {

/// A sporadic task whose deadline is its period. Times in ns.
struct Task {
  double period = 0, cost = 0;

  double utilization() const { return cost / period; }
};

/// Cores that take jobs by global earliest deadline first.
struct Machine {
  std::uint32_t cores = 1;
  bool preemptive = true;  ///< else a job that runs is never interrupted
};

double utilization(std::span<const Task> tasks);

/// Whether response times are bounded at all: no task needs more than one core, and all together no
/// more than there are (Devi and Anderson).
bool is_bounded(std::span<const Task> tasks, std::uint32_t cores);

/// Bounds of response times, for tasks for which is_bounded. With m cores, Λ = ⌈U⌉ - 1.
///
/// Devi and Anderson, "Tardiness bounds under global EDF scheduling on a multiprocessor", 2008:
/// R_i = p_i + x + e_i, where x = (Λ largest e - least e) / (m - (Λ - 1) largest u), 0 at least.
/// For jobs that are never interrupted, m stands for Λ: on every core one that was there before can
/// be in the way, whatever the utilization.
std::vector<double> devi_anderson(std::span<const Task> tasks, Machine machine);

/// What gives jobs their priority: a point after their release.
enum class PriorityPoint : std::uint8_t {
  Deadline,  ///< the period after it: EDF
  Fair,      ///< (m - 1)/m of the cost earlier: G-FL (global fair lateness)
};

/// Compliant vectors (Erickson, Devi and Baruah, ECRTS 2010; Erickson and Anderson, "Fair lateness
/// scheduling", 2012), preemptive only: with Y_i the priority point less the least of all,
/// S_i = max(0, e_i(1 - Y_i/p_i)), s solves
/// Λ largest (e_i - S_i - u_i·e_i/m + u_i·s) + Σ S = m·s, and R_i = Y_i + s + e_i(1 - 1/m).
std::vector<double> compliant_vector(std::span<const Task> tasks, std::uint32_t cores,
                                     PriorityPoint point = PriorityPoint::Deadline);

/// Under a light load, with jobs that may be interrupted or not: R_i = e_i + (Σ over others of e_k,
/// and of e_k again where p_k < p_i)/m, if all of these are at most the shortest period; else
/// empty. While a job of i waits all cores work on others. As long as no response has been longer
/// than R, each other task has one job at most that was there when it was released, and released
/// one more at most meanwhile, whose deadline is earlier only where its period is shorter; one that
/// was being run is among the first, also if it ran before its release because no released one
/// waited. So the first response longer than R cannot come to be.
std::vector<double> light_load(std::span<const Task> tasks, Machine machine);

/// The least that is proven for each task under EDF by Devi and Anderson and by compliant vectors:
/// neither of the two dominates.
std::vector<double> response_bounds(std::span<const Task> tasks, Machine machine);

}  // namespace carillon::dataflow
