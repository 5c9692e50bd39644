#include "runtime/graph.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>

namespace carillon::runtime {
namespace {

std::string check(std::size_t id, const Instruction& instruction) {
  const std::string name =
      "instruction " + std::to_string(id) + " (opcode " + std::to_string(instruction.opcode) + ")";
  const std::uint32_t most =
      instruction.feed == Feed::Arrivals ? GraphBuilder::kMaxArrivals : GraphBuilder::kMaxChunks;
  if (instruction.chunks == 0 || instruction.chunks > most) {
    return name + ": " + std::to_string(instruction.chunks) + " chunks; 1 to " +
           std::to_string(most) + " are possible";
  }
  if (instruction.deadline < instruction.release) return name + ": deadline before release";
  if (instruction.feed == Feed::Commits &&
      (instruction.close != kNever || instruction.early_close != kNever)) {
    return name + ": only an instruction fed by arrivals can close";
  }
  if (instruction.drop_alone && instruction.deadline == kNever) {
    return name + ": drop_alone needs a deadline";
  }
  return {};
}

// Repeatedly removes what has no predecessors left; what remains is on a cycle or behind one.
std::string find_cycle(const std::vector<Instruction>& instructions) {
  std::vector<std::uint16_t> waiting, open;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    waiting.push_back(instructions[i].predecessors);
    if (waiting[i] == 0) open.push_back(static_cast<std::uint16_t>(i));
  }
  std::size_t done = 0;
  while (!open.empty()) {
    const std::uint16_t id = open.back();
    open.pop_back();
    ++done;
    for (const std::uint16_t next : instructions[id].successors) {
      if (--waiting[next] == 0) open.push_back(next);
    }
  }
  if (done == instructions.size()) return {};
  std::string names;
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (waiting[i] != 0) names += (names.empty() ? "" : ", ") + std::to_string(i);
  }
  return "these instructions wait for each other: " + names;
}

std::vector<std::uint16_t> ranks_by_urgency(const std::vector<Instruction>& instructions) {
  std::vector<std::uint16_t> order(instructions.size());
  std::iota(order.begin(), order.end(), std::uint16_t{0});
  std::sort(order.begin(), order.end(), [&](std::uint16_t a, std::uint16_t b) {
    return std::tuple(instructions[a].deadline, instructions[a].step, a) <
           std::tuple(instructions[b].deadline, instructions[b].step, b);
  });
  std::vector<std::uint16_t> ranks(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) ranks[order[i]] = static_cast<std::uint16_t>(i);
  return ranks;
}

// Of a graph without cycles.
std::vector<Tick> available_from(std::span<const Instruction> instructions) {
  std::vector<std::uint16_t> waiting, open;
  std::vector<Tick> available;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    available.push_back(instructions[i].release);
    waiting.push_back(instructions[i].predecessors);
    if (waiting[i] == 0) open.push_back(static_cast<std::uint16_t>(i));
  }
  while (!open.empty()) {
    const std::uint16_t id = open.back();
    open.pop_back();
    for (const std::uint16_t next : instructions[id].successors) {
      available[next] = std::max(available[next], available[id]);
      if (--waiting[next] == 0) open.push_back(next);
    }
  }
  return available;
}

Tick shortest_span(std::span<const Instruction> instructions, std::span<const Tick> available) {
  Tick shortest = kNever;
  for (std::size_t i = 0; i < instructions.size(); ++i)
    if (const Tick deadline = instructions[i].deadline; deadline != kNever)
      shortest = std::min(shortest, deadline - std::max<Tick>(available[i], 0));
  return shortest == kNever ? 0 : std::max<Tick>(shortest, 0);
}

Lot lot_of(const Instruction& instruction) { return {instruction.deadline, instruction.opcode}; }

std::vector<Lot> lots_of(std::span<const Instruction> instructions) {
  std::vector<Lot> lots;
  for (const Instruction& each : instructions) lots.push_back(lot_of(each));
  std::sort(lots.begin(), lots.end());
  lots.erase(std::unique(lots.begin(), lots.end()), lots.end());
  return lots;
}

std::vector<Timer> timers_of(const std::vector<Instruction>& instructions) {
  std::vector<Timer> timers;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    const Instruction& instruction = instructions[i];
    const auto id = static_cast<std::uint16_t>(i);
    if (instruction.release != kAlways) {
      timers.push_back({instruction.release, Timer::Kind::Release, id});
    }
    if (instruction.early_close != kNever) {
      timers.push_back({instruction.early_close, Timer::Kind::EarlyClose, id});
    }
    if (instruction.close != kNever) timers.push_back({instruction.close, Timer::Kind::Close, id});
  }
  std::ranges::stable_sort(timers, {}, &Timer::offset);
  return timers;
}

std::vector<Timer> drops_of(const std::vector<Instruction>& instructions) {
  std::vector<Timer> drops;
  for (std::size_t i = 0; i < instructions.size(); ++i)
    if (instructions[i].drop_alone)
      drops.push_back(
          {instructions[i].deadline, Timer::Kind::Deadline, static_cast<std::uint16_t>(i)});
  std::ranges::stable_sort(drops, {}, &Timer::offset);
  return drops;
}

}  // namespace

std::uint16_t GraphBuilder::add(const Instruction& instruction) {
  instructions_.push_back(instruction);
  operands_.emplace_back(instruction.operands.begin(), instruction.operands.end());
  return static_cast<std::uint16_t>(instructions_.size() - 1);
}

void GraphBuilder::depend(std::uint16_t from, std::uint16_t to) { edges_.emplace_back(from, to); }

// Explicit ones and, from operands, every read after a write; each once, in order.
GraphBuilder::Edges GraphBuilder::all_edges() const {
  Edges edges = edges_;
  std::unordered_map<std::uint16_t, std::vector<std::uint16_t>> writers;  // [buffer]
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    const auto id = static_cast<std::uint16_t>(i);
    for (const Operand& operand : operands_[i])
      if (!operand.write && operand.frame == 0)
        for (const std::uint16_t writer : writers[operand.buffer]) edges.emplace_back(writer, id);
    for (const Operand& operand : operands_[i])
      if (operand.write) writers[operand.buffer].push_back(id);
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

// Copies the operands and lists the edges with both of their ends.
void GraphBuilder::lay_out(Graph& graph, const Edges& edges) const {
  graph.instructions_ = instructions_;
  graph.waits_for_ = std::make_unique<std::uint16_t[]>(edges.size());
  graph.successors_ = std::make_unique<std::uint16_t[]>(edges.size());
  std::size_t operands = 0;
  for (const auto& list : operands_) operands += list.size();
  graph.operands_ = std::make_unique<Operand[]>(operands);

  for (Instruction& instruction : graph.instructions_) instruction.predecessors = 0;
  for (const auto& [from, to] : edges) ++graph.instructions_[to].predecessors;
  std::vector<std::uint16_t*> next_needed;
  std::uint16_t* needed = graph.waits_for_.get();
  std::uint16_t* successor = graph.successors_.get();
  Operand* operand = graph.operands_.get();
  auto edge = edges.begin();
  for (std::size_t i = 0; i < instructions_.size(); ++i) {
    Instruction& instruction = graph.instructions_[i];
    next_needed.push_back(needed);
    instruction.waits_for = {needed, instruction.predecessors};
    needed += instruction.predecessors;
    std::uint16_t* const first = successor;
    for (; edge != edges.end() && edge->first == i; ++edge) *successor++ = edge->second;
    instruction.successors = {first, successor};
    instruction.operands = {operand, operands_[i].size()};
    operand = std::copy(operands_[i].begin(), operands_[i].end(), operand);
  }
  for (const auto& [from, to] : edges) *next_needed[to]++ = from;
}

GraphResult GraphBuilder::build() const {
  if (instructions_.empty()) return {{}, "the graph has no instructions"};
  if (instructions_.size() > kMaxInstructions) {
    return {{},
            std::to_string(instructions_.size()) + " instructions; at most " +
                std::to_string(kMaxInstructions) + " are possible"};
  }
  for (std::size_t i = 0; i < instructions_.size(); ++i) {
    if (std::string error = check(i, instructions_[i]); !error.empty()) return {{}, error};
  }
  const Edges edges = all_edges();
  for (const auto& [from, to] : edges) {
    if (std::max(from, to) >= instructions_.size()) {
      return {{},
              "dependency " + std::to_string(from) + " to " + std::to_string(to) +
                  " names an instruction that does not exist"};
    }
  }

  Graph graph;
  lay_out(graph, edges);
  for (const Instruction& instruction : graph.instructions_)
    graph.opcodes_ = std::max(graph.opcodes_, static_cast<std::uint16_t>(instruction.opcode + 1));
  if (std::string error = find_cycle(graph.instructions_); !error.empty()) return {{}, error};
  graph.ranks_ = ranks_by_urgency(graph.instructions_);
  graph.order_.resize(graph.size());
  for (std::uint16_t i = 0; i < graph.size(); ++i) graph.order_[graph.ranks_[i]] = i;
  graph.available_ = available_from(graph.instructions_);
  graph.shortest_span_ = shortest_span(graph.instructions_, graph.available_);
  graph.timers_ = timers_of(graph.instructions_);
  graph.drops_ = drops_of(graph.instructions_);
  graph.lots_ = lots_of(graph.instructions_);
  for (const Instruction& each : graph.instructions_)
    graph.lot_of_.push_back(static_cast<std::uint16_t>(
        std::ranges::lower_bound(graph.lots_, lot_of(each)) - graph.lots_.begin()));
  return {std::move(graph), {}};
}

}  // namespace carillon::runtime
