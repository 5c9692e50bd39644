#include "dataflow/executor.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <stdexcept>
#include <string>

#include "base/thread.hpp"

namespace carillon::dataflow {
namespace {

constexpr Tick kNever = std::numeric_limits<Tick>::max();
// A sleep is not worth less, and ends so much early.
constexpr Tick kWakeUp = 60 * kMicrosecond;

// When the first of the samples behind a position of a ring arrived at a source.
struct Mark {
  std::uint64_t position = 0;
  Tick arrival = 0;
};

}  // namespace

// Of a node; all that is not atomic belongs to whoever has set `busy`.
struct Executor::State {
  // As the graph has it.
  Block* block = nullptr;
  std::uint64_t batch = 1;
  double period = 0;  // ns of an execution
  bool source = false, sink = false;
  std::vector<EdgeId> inputs, outputs;
  std::vector<Ring*> in;  // of each input
  std::unique_ptr<Ring> out;
  std::vector<Mark> marks;  // of `out`'s last jobs, as a ring

  // As it runs, apart from what all look at.
  alignas(kCacheLine) std::atomic<bool> busy{false};  // a job is offered or runs
  std::atomic<Tick> point{0};                         // what gives that job its priority
  std::atomic<bool> ended{false};
  std::atomic<std::uint64_t> executed{0}, marked{0};

  std::uint64_t count = 0;  // executions of the job
  Tick release = 0;
  std::vector<const float*> windows;
  NodeAccount account;
};

Executor::Executor(const Graph& graph, const Batches& batches, const std::vector<Block*>& blocks,
                   const ExecutorOptions& options)
    : graph_(graph),
      options_(options),
      reader_(graph.edges().size()),
      ready_((graph.size() + 63) / 64),
      alive_(graph.size()) {
  for (NodeId node = 0; node < graph.size(); ++node) {
    auto state = std::make_unique<State>();
    state->block = blocks.at(node);
    state->batch = batches.at(node);
    state->period = graph.period(node);
    state->source = graph.is_source(node);
    state->sink = graph.is_sink(node);
    state->inputs.assign(graph.inputs(node).begin(), graph.inputs(node).end());
    state->outputs.assign(graph.outputs(node).begin(), graph.outputs(node).end());
    state->windows.resize(state->inputs.size());
    if (state->source) sources_.push_back(node);
    states_.push_back(std::move(state));
  }
  connect(blocks);
}

Executor::~Executor() = default;

// A ring behind each node: room for what can be in it while every job ends at once, and beyond that
// for two jobs of its own and two of each that reads it.
void Executor::connect(const std::vector<Block*>& blocks) {
  Batches batches;
  for (const auto& state : states_) batches.push_back(state->batch);
  const std::vector<std::uint64_t> held =
      latency_of(graph_, batches, std::vector<double>(graph_.size())).buffers;
  for (NodeId node = 0; node < graph_.size(); ++node) {
    State& state = *states_[node];
    if (state.sink) continue;
    const std::uint64_t produce = graph_.edges()[state.outputs.front()].produce;
    std::uint64_t room = 0, history = 0;
    for (std::size_t reader = 0; reader < state.outputs.size(); ++reader) {
      const EdgeId id = state.outputs[reader];
      const Edge& edge = graph_.edges()[id];
      if (edge.produce != produce)
        throw std::invalid_argument(graph_.nodes()[node].name +
                                    " has one output: its edges produce the same");
      reader_[id] = reader;
      const std::uint64_t batch = states_[edge.to]->batch;
      room = std::max(room, held[id] + edge.threshold + (2 * batch - 1) * edge.consume);
      for (std::size_t i = 0; i < states_[edge.to]->inputs.size(); ++i)
        if (states_[edge.to]->inputs[i] == id && i < blocks[edge.to]->ports().inputs.size())
          history = std::max(history, blocks[edge.to]->ports().inputs[i].history);
    }
    const std::optional<Output>& output = blocks[node]->ports().output;
    if (!output || output->produce != produce)
      throw std::invalid_argument(graph_.nodes()[node].name + " does not write what its edges say");
    room += 2 * state.batch * produce;
    state.out = std::make_unique<Ring>(floats_of(output->items) * sizeof(float), room,
                                       state.outputs.size(), history);
    state.marks.resize(std::bit_ceil(state.out->capacity() / produce + 2));
  }
  for (NodeId node = 0; node < graph_.size(); ++node) {
    State& state = *states_[node];
    for (const EdgeId id : state.inputs)
      state.in.push_back(states_[graph_.edges()[id].from]->out.get());
    check(node);
  }
}

void Executor::check(NodeId node) const {
  const State& state = *states_[node];
  const std::vector<Input>& inputs = state.block->ports().inputs;
  if (inputs.size() != state.inputs.size())
    throw std::invalid_argument(graph_.nodes()[node].name + " reads " +
                                std::to_string(inputs.size()) + " inputs and has " +
                                std::to_string(state.inputs.size()));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Edge& edge = graph_.edges()[state.inputs[i]];
    if (inputs[i].threshold != edge.threshold || inputs[i].consume != edge.consume ||
        inputs[i].items != states_[edge.from]->block->ports().output->items)
      throw std::invalid_argument(graph_.nodes()[node].name + " does not read what " +
                                  graph_.nodes()[edge.from].name + " writes");
  }
}

void Executor::stop() noexcept { stopping_.store(true); }

Executor::Chance Executor::look_at_source(const State& state, Tick at) const noexcept {
  const std::uint64_t done = state.executed.load(std::memory_order_acquire);
  const bool over = stopping_.load() || (options_.executions != 0 && done >= options_.executions);
  if (over) return {Step::End, 0};
  std::uint64_t count = state.batch;
  if (options_.executions != 0) count = std::min(count, options_.executions - done);
  const double due = state.period * static_cast<double>(done + count);
  if (options_.paced && static_cast<double>(at - begun_.load()) < due) return {};
  return {Step::Run, count};
}

Executor::Chance Executor::look(NodeId node, Tick at) const noexcept {
  const State& state = *states_[node];
  if (state.ended.load()) return {};
  Chance chance{Step::Run, state.batch};
  if (state.source) {
    chance = look_at_source(state, at);
  } else {
    bool over = true;  // before what is there is looked at
    for (const EdgeId id : state.inputs) over &= states_[graph_.edges()[id].from]->ended.load();
    for (std::size_t i = 0; i < state.inputs.size(); ++i) {
      const Edge& edge = graph_.edges()[state.inputs[i]];
      const std::uint64_t there = state.in[i]->available(reader_[state.inputs[i]]);
      const std::uint64_t executions =
          there < edge.threshold ? 0 : (there - edge.threshold) / edge.consume + 1;
      chance.count = std::min(chance.count, executions);
    }
    if (chance.count < state.batch && !over) return {};
    if (chance.count == 0) chance.step = Step::End;
  }
  if (chance.step == Step::Run && !has_room(state, chance.count)) return {};
  return chance;
}

bool Executor::has_room(const State& state, std::uint64_t count) const noexcept {
  return state.sink || state.out->room() >= count * graph_.edges()[state.outputs.front()].produce;
}

// What a node lacks may come while it is looked at or runs. Whoever brings it does so before a
// change of some `busy`, which is a fence, and looks at this node's after it; who ends a job of
// this node changes its `busy` and then looks at what is there: one of the two sees the other.
void Executor::offer(NodeId node, Tick at) noexcept {
  State& state = *states_[node];
  while (!state.busy.load() && look(node, at).step != Step::Wait) {
    if (state.busy.exchange(true)) return;
    const Chance chance = look(node, at);
    if (chance.step == Step::Run) return publish(node, chance.count, at);
    if (chance.step == Step::End) end(node);
    state.busy.exchange(false);
    if (chance.step == Step::End)
      for (const EdgeId id : state.outputs) offer(graph_.edges()[id].to, at);
  }
}

void Executor::publish(NodeId node, std::uint64_t count, Tick at) noexcept {
  State& state = *states_[node];
  state.count = count;
  const double own = state.period * static_cast<double>(state.batch);
  if (state.source && options_.paced)
    at = begun_.load() +
         static_cast<Tick>(
             state.period *
             static_cast<double>(state.executed.load(std::memory_order_relaxed) + count));
  else if (options_.paced && state.account.jobs > 0)
    at = std::max(at, state.release + static_cast<Tick>(own));
  state.release = at;
  state.point.store(at + static_cast<Tick>(own), std::memory_order_relaxed);
  ready_[node / 64].fetch_or(std::uint64_t{1} << node % 64);
}

void Executor::end(NodeId node) noexcept {
  states_[node]->ended.store(true);
  alive_.fetch_sub(1);
}

// A job is ready or runs.
bool Executor::any_job() const noexcept {
  return std::ranges::any_of(states_, [](const auto& state) { return state->busy.load(); });
}

std::optional<NodeId> Executor::take() noexcept {
  for (;;) {
    NodeId earliest = kNone;
    Tick point = kNever;
    for (std::size_t word = 0; word < ready_.size(); ++word)
      for (std::uint64_t bits = ready_[word].load(); bits != 0; bits &= bits - 1) {
        const auto node =
            static_cast<NodeId>(64 * word + static_cast<std::size_t>(std::countr_zero(bits)));
        const Tick own = states_[node]->point.load(std::memory_order_relaxed);
        if (own >= point) continue;
        point = own;
        earliest = node;
      }
    if (earliest == kNone) return std::nullopt;
    const std::uint64_t bit = std::uint64_t{1} << earliest % 64;
    if ((ready_[earliest / 64].fetch_and(~bit) & bit) != 0) return earliest;
  }
}

// Of the oldest sample that a job takes away.
Tick Executor::arrival(const State& state) const noexcept {
  if (state.source) {
    const auto first = static_cast<double>(state.executed.load(std::memory_order_relaxed) + 1);
    return begun_.load() + static_cast<Tick>(state.period * first);
  }
  Tick oldest = kNever;
  for (std::size_t i = 0; i < state.inputs.size(); ++i) {
    const Edge& edge = graph_.edges()[state.inputs[i]];
    const State& from = *states_[edge.from];
    const std::uint64_t position = state.in[i]->read(reader_[state.inputs[i]]);
    // The last mark that is not behind it; those that were overwritten are of what has been read.
    std::uint64_t mark = from.marked.load(std::memory_order_acquire);
    const std::uint64_t mask = from.marks.size() - 1;
    do --mark;
    while (from.marks[mark & mask].position > position);
    const Mark& found = from.marks[mark & mask];
    const double behind = static_cast<double>((position - found.position) / edge.produce);
    oldest = std::min(oldest, found.arrival + static_cast<Tick>(behind * from.period));
  }
  return oldest;
}

Tick Executor::run(NodeId node, Tick start) noexcept {
  State& state = *states_[node];
  const Tick oldest = options_.paced ? arrival(state) : 0;
  for (std::size_t i = 0; i < state.inputs.size(); ++i)
    state.windows[i] = reinterpret_cast<const float*>(
        state.in[i]->items(reader_[state.inputs[i]], state.block->ports().inputs[i].history));
  auto* const out = state.sink ? nullptr : reinterpret_cast<float*>(state.out->place());
  state.block->execute(state.windows.data(), out, state.count);
  const Tick ended = now();

  NodeAccount& account = state.account;
  ++account.jobs;
  account.executions += state.count;
  account.busy += ended - start;
  account.longest_response = std::max(account.longest_response, ended - state.release);
  if (state.sink && options_.paced)
    account.longest_latency = std::max(account.longest_latency, ended - oldest);
  if (!state.sink) {
    const std::uint64_t marked = state.marked.load(std::memory_order_relaxed);
    state.marks[marked & (state.marks.size() - 1)] = {state.out->written(), oldest};
    state.marked.store(marked + 1, std::memory_order_release);
    state.out->write(state.count * graph_.edges()[state.outputs.front()].produce);
  }
  for (std::size_t i = 0; i < state.inputs.size(); ++i)
    state.in[i]->take(reader_[state.inputs[i]],
                      state.count * graph_.edges()[state.inputs[i]].consume);
  state.executed.store(account.executions, std::memory_order_release);
  state.busy.exchange(false);
  offer(node, ended);
  for (const EdgeId id : state.outputs) offer(graph_.edges()[id].to, ended);
  for (const EdgeId id : state.inputs) offer(graph_.edges()[id].from, ended);
  return ended;
}

// While a job runs it may make others ready, which must not wait for a sleeper.
void Executor::idle(Tick at) noexcept {
  Tick due = at + 10 * kMillisecond;  // so that stop() is heard
  for (const NodeId node : sources_) {
    const State& state = *states_[node];
    const auto next =
        static_cast<double>(state.executed.load(std::memory_order_relaxed) + state.batch);
    if (!state.ended.load())
      due = std::min(due, begun_.load() + static_cast<Tick>(state.period * next));
  }
  if (options_.paced && due - at > 2 * kWakeUp && !any_job())
    sleep_until(due - kWakeUp);
  else
    spin_pause();
}

void Executor::work() noexcept {
  Tick nobody = 0;
  begun_.compare_exchange_strong(nobody, now());
  for (Tick at = now(); alive_.load() > 0;) {
    for (const NodeId node : sources_) offer(node, at);
    if (const auto node = take()) {
      at = run(*node, at);
    } else {
      idle(at);
      at = now();
    }
  }
}

NodeAccount Executor::account(NodeId node) const { return states_[node]->account; }

std::uint64_t Executor::left(EdgeId edge) const {
  return states_[graph_.edges()[edge].from]->out->available(reader_[edge]);
}

}  // namespace carillon::dataflow
