// How late jobs are at least because cores are busy, as a sum over nodes.
#pragma once

#include <vector>

#include "dataflow/options.hpp"

namespace carillon::dataflow {

/// Responses are at least period + cost·(1 - 1/m) + late, without preemption period + cost + late,
/// where late grows by `share` for each ns of a *lead* that is `lead` at least.
struct Lateness {
  double lead = 0, late = 0, share = 1;
};

/// What is known of choices that are looked at.
struct Within {
  Shortest shortest;
  double least = 0, most = 0;  ///< of the utilization
  bool early = false;          ///< paths have no time for a lead above 0
};

/// In compliant vectors Σ S = U·q with q the shortest period. With the lead l = s - q their
/// equation becomes Σ of the Λ largest (e - u·e/m + u·l) = m·l + (m - U)·q. No weights w of at
/// most 1 whose sum is Λ add up to more than the Λ largest do. So
///   Σ w·(e - u·e/m + u·l) + U·q ≤ m·(l + q)
/// for any such weights: a sum over nodes, in which prices can be put on all of it. Without
/// preemption the lead is Devi and Anderson's x, and Σ w·(e + (m - 1)/m·u·x) ≤ m·x + least e with
/// a sum of m.
///
/// Λ is at least that of the least utilization, and l free: one price for this row and the
/// prices of paths make its coefficient zero, so that the bound holds whatever the lead is.
class Contention {
 public:
  Contention(const Options& options, Machine machine);

  double least_utilization() const { return least_utilization_; }
  Lateness lateness(const Within& within) const;

  /// How many weights are 1.
  std::size_t busy(double utilization) const;
  std::vector<double> first_weights(double utilization) const;

  /// What an option adds to the row at a lead.
  double of(const Option& option, double weight, double lead, double shortest) const {
    return machine_.preemptive ? weight * (option.cost * (1 - option.utilization / m_) +
                                           option.utilization * lead) +
                                     option.utilization * shortest
                               : weight * (option.cost + others_ * option.utilization * lead);
  }
  /// Its right side at that lead.
  double room(double lead, const Within& within) const {
    return machine_.preemptive ? m_ * (lead + within.shortest.to)
                               : m_ * lead + dearest_shortest(within.shortest);
  }
  /// By how much that grows with the lead, more than the left side.
  double growth(const std::vector<double>& weights) const;

 private:
  double first_lead(const Within& within) const;
  double in_the_way(Shortest shortest) const;
  double dearest_shortest(Shortest shortest) const;

  const Options& options_;
  Machine machine_;
  double m_, others_;                    // m, and (m - 1)/m
  double least_utilization_ = 0;         // without any bound
  double slope_ = 0, interference_ = 0;  // s is at least slope·U·q - interference
  std::vector<double> least_;            // utilization of each node
  std::vector<double> most_sorted_;      // utilization of nodes, and their costs, descending
  std::vector<double> costs_sorted_;
};

}  // namespace carillon::dataflow
