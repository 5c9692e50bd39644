// A graph whose nodes run in batches: its tasks, and how late a sample may come out.
#pragma once

#include <cstdint>
#include <vector>

#include "dataflow/bounds.hpp"
#include "dataflow/graph.hpp"

namespace carillon::dataflow {

/// How many executions of each node make one job.
using Batches = std::vector<std::uint64_t>;

/// Each node as a sporadic task (Liu and Anderson, RTSS 2010): a job is released when its samples
/// are there, but at least a period after the one before.
std::vector<Task> tasks_of(const Graph& graph, const Batches& batches);

/// How long the worst job of `edge.to` waits, after the job of `edge.from` by whose rate it is
/// counted has ended, in executions of `edge.from` one by one: (τ' - g + (-τ' mod g))/ρ.
double wait(const Edge& edge, std::uint64_t from, std::uint64_t to);

/// Executions of `edge.from` by which what takes away the last sample of one of them is behind what
/// takes away the first: several outputs of one sample leave one after another. (ρ - gcd(ρ, κ))/ρ.
double spread(const Edge& edge);

/// How many samples of a source have to arrive before every sink has something to give, from empty
/// queues: the most of all sources. f_sink = 1, f_u = max over successors of ⌈(τ + (f_v - 1)·κ)/ρ⌉.
/// Saturates at 2^64 - 1.
std::uint64_t samples_to_first_output(const Graph& graph, const Batches& batches);

/// Why a graph with these batches has no bound; whole sentences, empty if it has one.
std::string unbounded(const Graph& graph, const Batches& batches, Machine machine);

/// The end-to-end bound and its parts. Times in ns.
struct Latency {
  std::vector<Task> tasks;
  double utilization = 0;
  std::vector<double> responses;       ///< bound of each node's response time
  std::vector<double> waits;           ///< of each edge: how long it takes to fill
  std::vector<double> release;         ///< of each node: job k is released by that + k periods
  std::vector<NodeId> critical;        ///< the path that makes the bound, source first
  double filling = 0;                  ///< along it: samples wait for others
  double responding = 0;               ///< along it: the sum of response bounds
  double spreading = 0;                ///< a sample becomes several, which leave one by one
  double bound = 0;                    ///< of all sinks, the sum of the three
  std::vector<std::uint64_t> buffers;  ///< of each edge: samples that can be in it at once
};

/// Of the time from a sample's arrival to the end of the job that is the last to put out something
/// of it, over all samples, sources and sinks. Sources deliver at their exact rates from one
/// instant on; costs are never exceeded. For tasks for which `is_bounded`.
///
/// By induction over k, job k of node v is released by O_v + k·P_v, where P is the batched period,
/// O_v = max over u of O_u + R_u + P_u·(τ' - g + (-τ' mod g))/ρ', g = gcd(ρ', κ'), and
/// ρ' = b_u·ρ, κ' = b_v·κ, τ' = τ + (b_v - 1)·κ. Where each κ' is a multiple of its ρ', the last
/// terms add up to the (F - 1)·p of a processing graph; elsewhere that is exceeded, because jobs
/// do not end where those of the next node begin.
Latency latency_of(const Graph& graph, const Batches& batches, Machine machine);

/// The same with response bounds that somebody else has found.
Latency latency_of(const Graph& graph, const Batches& batches, std::vector<double> responses);

}  // namespace carillon::dataflow
