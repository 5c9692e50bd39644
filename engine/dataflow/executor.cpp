#include "dataflow/executor.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <stdexcept>
#include <string>

#include "base/thread.hpp"

namespace carillon::dataflow {
namespace {

// A job that takes so much longer than planned, and so many times as long, was interrupted beneath
// the system, which counts that as the job's time: by the host of a virtual machine, say.
constexpr Tick kInterruption = 200 * kMicrosecond;
constexpr Tick kManifold = 8;

}  // namespace

Executor::Executor(const Graph& graph, const Batches& batches, const std::vector<Block*>& blocks,
                   const ExecutorOptions& options)
    : graph_(graph), options_(options), ready_((graph.size() + 63) / 64), alive_(graph.size()) {
  for (NodeId node = 0; node < graph.size(); ++node) {
    auto state = std::make_unique<NodeState>(options_.changes);
    state->block = blocks.at(node);
    state->batch = batches.at(node);
    state->period = graph.period(node);
    if (!options_.budgets.empty()) state->budget = static_cast<Tick>(options_.budgets.at(node));
    state->device = state->block->has_device();
    state->live = state->device && state->block->is_live();
    state->outputs.assign(graph.outputs(node).begin(), graph.outputs(node).end());
    state->tags_in.reserve(kMostTags);
    state->tags_made.reserve(kMostTags);
    state->readers = state->outputs.size();
    state->remaining = state->block->remaining();
    if (graph.is_source(node) || state->device) polled_.push_back(node);
    devices_ |= state->device;
    states_.push_back(std::move(state));
  }
  connect(blocks);
  const std::size_t workers = options_.worker_for_each ? graph.size() : options_.workers;
  for (std::size_t worker = 0; worker < workers; ++worker)
    journals_.push_back(std::make_unique<Journal>(workers));
  for (const auto& journal : journals_) journal->join(journals_);
}

Executor::~Executor() = default;

// A ring behind each node: room for what can be in it while every job ends at once, and beyond that
// for two jobs of its own and two of each that reads it.
void Executor::connect(const std::vector<Block*>& blocks) {
  Batches batches;
  for (const auto& state : states_) batches.push_back(state->batch);
  const std::vector<std::uint64_t> held =
      latency_of(graph_, batches, std::vector<double>(graph_.size())).buffers;
  for (NodeId node = 0; node < graph_.size(); ++node)
    for (const EdgeId id : graph_.inputs(node)) {
      const Edge& edge = graph_.edges()[id];
      const auto outputs = graph_.outputs(edge.from);
      NodeState& state = *states_[node];
      const std::vector<Input>& inputs = blocks[node]->ports().inputs;
      const std::size_t place = state.feeds.size();
      const Input own = place < inputs.size() ? inputs[place] : Input{};
      state.feeds.push_back(
          {id, states_[edge.from].get(),
           static_cast<std::size_t>(std::ranges::find(outputs, id) - outputs.begin()), edge.produce,
           edge.threshold, edge.consume, own.history, own.ahead});
      state.windows.push_back(nullptr);
    }
  for (NodeId node = 0; node < graph_.size(); ++node) {
    NodeState& state = *states_[node];
    const std::optional<Output>& output = blocks[node]->ports().output;
    if (output.has_value() == state.outputs.empty())
      throw std::invalid_argument(graph_.nodes()[node].name + " does not write what its edges say");
    if (!output) continue;
    state.produce = output->produce;
    std::uint64_t room = 0, history = 0;
    for (const EdgeId id : state.outputs) {
      const Edge& edge = graph_.edges()[id];
      if (edge.produce != state.produce)
        throw std::invalid_argument(graph_.nodes()[node].name +
                                    " does not write what its edges say");
      const NodeState& reader = *states_[edge.to];
      room = std::max(room, held[id] + edge.threshold + (2 * reader.batch - 1) * edge.consume);
      for (const auto& feed : reader.feeds)
        if (feed.edge == id) history = std::max(history, feed.history);
    }
    room += 2 * state.batch * state.produce;
    state.out = std::make_unique<Ring>(floats_of(output->items) * sizeof(float), room,
                                       state.outputs.size(), history);
    state.tags = std::make_unique<TagQueue>(state.outputs.size());
    state.marks.resize(std::bit_ceil(state.out->capacity() / state.produce + 2));
  }
  for (NodeId node = 0; node < graph_.size(); ++node) check(node);
}

void Executor::check(NodeId node) const {
  const NodeState& state = *states_[node];
  const std::vector<Input>& inputs = state.block->ports().inputs;
  if (inputs.size() != state.feeds.size())
    throw std::invalid_argument(graph_.nodes()[node].name + " reads " +
                                std::to_string(inputs.size()) + " inputs and has " +
                                std::to_string(state.feeds.size()));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const NodeState::Feed& feed = state.feeds[i];
    if (inputs[i].threshold != feed.threshold || inputs[i].consume != feed.consume ||
        inputs[i].items != feed.from->block->ports().output->items)
      throw std::invalid_argument(graph_.nodes()[node].name + " does not read what " +
                                  graph_.nodes()[graph_.edges()[feed.edge].from].name + " writes");
  }
}

// Of a source; 0: it has nothing more to do.
std::uint64_t Executor::next_count(NodeId node) const noexcept {
  const NodeState& state = *states_[node];
  const std::uint64_t done = state.executed.load(std::memory_order_acquire);
  const std::uint64_t all = options_.executions.empty() ? 0 : options_.executions[node];
  const std::uint64_t count = state.most();
  return all == 0 ? count : std::min(count, all - std::min(all, done));
}

// When so many executions more are due. The source is paced.
Tick Executor::due(const NodeState& state, std::uint64_t count) const noexcept {
  const auto next = static_cast<double>(state.executed.load(std::memory_order_acquire) + count);
  return begun_.load() + static_cast<Tick>(state.period * next);
}

Executor::Chance Executor::look_at_source(NodeId node, Tick at) const noexcept {
  const NodeState& state = *states_[node];
  const std::uint64_t count = next_count(node);
  if (stopping_.load() || count == 0) return {Step::End, 0, 0};
  if (options_.paced && !state.live && at < due(state, count)) return {};
  return {Step::Run, count, 0};
}

// Waits for a whole job, or for all that is still to come: no more than what there is of an input
// that is over.
Executor::Chance Executor::look_at_feeds(const NodeState& state) noexcept {
  std::uint64_t wanted = state.most(), count = wanted;
  for (const NodeState::Feed& feed : state.feeds) {
    const bool over = feed.from->ended.load();  // before what is there is looked at
    const std::uint64_t executions = feed.executions();
    if (over) wanted = std::min(wanted, executions);
    count = std::min(count, executions);
  }
  if (wanted == 0) return {Step::End, 0, 0};
  return count < wanted ? Chance{} : Chance{Step::Run, count, 0};
}

// `asks`: its device, too, which only who has set `busy` may do.
Executor::Chance Executor::look(NodeId node, Tick at, bool asks) const noexcept {
  const NodeState& state = *states_[node];
  if (state.ended.load()) return {};
  Chance chance = state.source() ? look_at_source(node, at) : look_at_feeds(state);
  if (asks && state.device) ask_device(state, chance);
  if (chance.step == Step::Run && !state.has_room(chance.count)) return {};
  return chance;
}

// A device has room for a whole job, or waits; a source's last samples are fewer.
void Executor::ask_device(const NodeState& state, Chance& chance) const noexcept {
  if (chance.step != Step::Run) return;
  const bool over = state.source() && state.block->over();  // before it is asked for the rest
  chance.there = state.block->ready();
  if (chance.there >= chance.count) return;
  if (!over)
    chance = {};
  else if (chance.there == 0)
    chance = {Step::End, 0, 0};
  else
    chance.count = chance.there;
}

// What a node lacks may come while it is looked at or runs. Whoever brings it does so before a
// change of some `busy`, which is a fence, and looks at this node's after it; who ends a job of
// this node changes its `busy` and then looks at what is there: one of the two sees the other. A
// device brings nothing of itself: it is asked again and again.
bool Executor::find_job(NodeId node, Tick at) noexcept {
  NodeState& state = *states_[node];
  while (!state.busy.load() && look(node, at, false).step != Step::Wait) {
    if (state.busy.exchange(true)) return false;
    const Chance chance = look(node, at, true);
    if (chance.step == Step::Run) {
      release(node, chance, at);
      return true;
    }
    if (chance.step == Step::End) end(node);
    state.busy.exchange(false);
    if (chance.step == Step::End) offer_neighbours(node, at);
    if (state.device) return false;
  }
  return false;
}

void Executor::offer(NodeId node, Tick at) noexcept {
  if (find_job(node, at)) publish(node);
}

void Executor::offer_neighbours(NodeId node, Tick at) noexcept {
  const NodeState& state = *states_[node];
  for (const EdgeId id : state.outputs) offer(graph_.edges()[id].to, at);
  for (const NodeState::Feed& feed : state.feeds) offer(graph_.edges()[feed.edge].from, at);
}

// A period after the one before; where samples come faster than they should, no more than that
// ahead of time. A source's is when its last sample is due.
void Executor::release(NodeId node, const Chance& chance, Tick at) noexcept {
  NodeState& state = *states_[node];
  state.count = chance.count;
  state.looked = at;
  state.there = chance.there;
  const auto own = static_cast<Tick>(state.period * static_cast<double>(state.batch));
  if (options_.paced && state.source() && !state.live)
    at = due(state, chance.count);
  else if (options_.paced && state.jobs.load(std::memory_order_relaxed) > 0)
    at = std::clamp(state.release + own, at, at + own);
  state.release = at;
  state.released.store(at, std::memory_order_relaxed);
  state.point.store(at + own, std::memory_order_relaxed);
}

void Executor::publish(NodeId node) noexcept {
  ready_[node / 64].fetch_or(std::uint64_t{1} << node % 64);
  wake_own(*states_[node]);
}

void Executor::end(NodeId node) noexcept {
  states_[node]->ended.store(true);
  states_[node]->leave();
  wake_own(*states_[node]);
  last_end_.store(now());
  if (alive_.fetch_sub(1) == 1) wake(INT_MAX);
}

std::uint64_t Executor::executed() const noexcept {
  std::uint64_t all = 0;
  for (const auto& state : states_) all += state->executed.load(std::memory_order_relaxed);
  return all;
}

bool Executor::at_work() const noexcept {
  return std::ranges::any_of(states_, [](const auto& state) { return state->busy.load(); });
}

Tick Executor::elapsed() const noexcept {
  if (begun_.load() == 0) return 0;
  return (ended() ? last_end_.load() : now()) - begun_.load();
}

bool Executor::any_ready() const noexcept {
  return std::ranges::any_of(ready_, [](const auto& word) { return word.load() != 0; });
}

// Jobs that have been released come first, whatever their points: one that is early keeps nobody
// waiting but while it runs, as the bounds assume.
NodeId Executor::take(Tick at) noexcept {
  for (;;) {
    NodeId earliest = kNone;
    std::pair before{true, std::numeric_limits<Tick>::max()};
    for (std::size_t word = 0; word < ready_.size(); ++word)
      for (std::uint64_t bits = ready_[word].load(); bits != 0; bits &= bits - 1) {
        const auto node =
            static_cast<NodeId>(64 * word + static_cast<std::size_t>(std::countr_zero(bits)));
        const NodeState& state = *states_[node];
        const bool early = options_.paced && state.released.load(std::memory_order_relaxed) > at;
        const std::pair own{early, state.point.load(std::memory_order_relaxed)};
        if (own >= before) continue;
        before = own;
        earliest = node;
      }
    if (earliest == kNone) return kNone;
    const std::uint64_t bit = std::uint64_t{1} << earliest % 64;
    if ((ready_[earliest / 64].fetch_and(~bit) & bit) != 0) return earliest;
  }
}

Tick Executor::run(NodeId node, Tick start, Journal& journal) noexcept {
  NodeState& state = *states_[node];
  if (options_.paced) journal.starts(start);
  const Tick arrived = options_.paced ? state.arrival(begun_.load()) : 0;
  state.execute(arrived);
  const Tick ended = now();
  state.account_for(start, ended);
  judge(state, node, start, ended, arrived, journal);
  journal.job({state.release, start, ended, node, static_cast<std::uint32_t>(state.count)});
  state.busy.exchange(false);
  return ended;
}

// After a job: the node's next one, and what others can do now. Where nothing is due the worker
// keeps the former, for the node's state is in its core's cache, and nobody else has to look at it.
NodeId Executor::follow(NodeId node, Tick at) noexcept {
  const bool keeps = !options_.paced && !options_.worker_for_each;
  const bool found = find_job(node, at);
  if (found && !keeps) publish(node);
  offer_neighbours(node, at);
  return found && keeps ? node : kNone;
}

// What the plan did not foresee: a job beyond its cost, a sample beyond the bound.
void Executor::judge(NodeState& state, NodeId node, Tick start, Tick end, Tick arrived,
                     Journal& journal) const noexcept {
  if (!options_.paced) return;
  if (state.budget > 0 && end - start > state.budget) {
    const Tick excess = end - start - state.budget;
    Happening what = Happening::Overrun;
    if (journal.was_kept_waiting(start, end, excess)) {
      what = Happening::Gap;
    } else if (excess >= std::max(kInterruption, kManifold * state.budget) &&
               !state.block->varies()) {
      what = Happening::Interruption;
      state.interrupted.store(state.interrupted.load(std::memory_order_relaxed) + 1,
                              std::memory_order_relaxed);
    }
    journal.event({what, node, end - excess, end});
  }
  if (!state.sink()) return;
  const Tick latency = end - arrived;
  state.latencies.add(latency);
  if (latency > state.longest_latency.load(std::memory_order_relaxed))
    state.longest_latency.store(latency, std::memory_order_relaxed);
  if (options_.bound == 0 || latency <= options_.bound) return;
  state.late.store(state.late.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  journal.event({Happening::Late, node, arrived, end});
}

// Where more than one in a thousand jobs of a node are so much longer than planned, that is its own
// doing.
bool Executor::is_own_doing(NodeId node) const noexcept {
  const NodeAccount own = account(node);
  return own.interrupted > 1 + own.jobs / 1000;
}

std::vector<EventRecord> Executor::events() const {
  std::vector<EventRecord> all;
  for (const auto& journal : journals_)
    for (EventRecord event : journal->events()) {
      if (event.what == Happening::Interruption && is_own_doing(event.node))
        event.what = Happening::Overrun;
      all.push_back(event);
    }
  return all;
}

std::uint64_t Executor::standstills() const noexcept {
  std::uint64_t all = 0;
  for (const auto& journal : journals_) all += journal->standstills();
  for (NodeId node = 0; node < graph_.size(); ++node)
    if (!is_own_doing(node)) all += account(node).interrupted;
  return all;
}

Lateness Executor::lateness() const {
  Tick complete_until = std::numeric_limits<Tick>::max();
  for (const auto& journal : journals_)
    complete_until = std::min(complete_until, journal->complete_until());
  std::vector<EventRecord> listed = events();
  std::erase_if(listed, [&](const EventRecord& event) {
    return event.what == Happening::Late && event.end > complete_until;
  });
  Lateness found = explain(listed, options_.bound);
  std::uint64_t all = 0;
  for (NodeId node = 0; node < graph_.size(); ++node) all += account(node).late;
  found.unlisted = all - found.late;
  found.late = all;
  return found;
}

std::uint64_t Executor::filled(NodeId node) const {
  const NodeState& state = *states_[node];
  // Positions move on meanwhile, so that the two may not fit each other.
  const std::uint64_t most = capacity(node);
  return state.sink() ? 0 : most - std::min(most, state.out->room());
}

std::uint64_t Executor::capacity(NodeId node) const {
  const NodeState& state = *states_[node];
  return state.sink() ? 0 : state.out->capacity();
}

std::uint64_t Executor::left(EdgeId edge) const {
  for (const auto& state : states_)
    for (const NodeState::Feed& feed : state->feeds)
      if (feed.edge == edge) return feed.left;
  return 0;
}

}  // namespace carillon::dataflow
