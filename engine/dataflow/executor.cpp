#include "dataflow/executor.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <limits>
#include <stdexcept>
#include <string>

#include "base/thread.hpp"

namespace carillon::dataflow {
namespace {

constexpr Tick kNever = std::numeric_limits<Tick>::max();
// A sleep and the call that ends it are not worth less.
constexpr Tick kShort = 10 * kMicrosecond;
// While devices are asked.
constexpr Tick kPoll = 100 * kMicrosecond;
// A worker that sleeps looks after sources so much later than the one before it, in case that one
// has a long job.
constexpr Tick kStagger = 40 * kMicrosecond;
constexpr Tick kLongest = 100 * kMillisecond;
// A job that takes so much longer than planned, and so many times as long, was interrupted beneath
// the system, which counts that as the job's time: by the host of a virtual machine, say.
constexpr Tick kInterruption = 200 * kMicrosecond;
constexpr Tick kManifold = 8;

// Until the word is no longer `seen`, or so late. By what is left, since now() is not the kernel's
// clock.
void wait_for(std::atomic<std::uint32_t>& word, std::uint32_t seen, Tick until) noexcept {
  const Tick left = until - now();
  if (left <= 0) return;
  const timespec time{left / kSecond, left % kSecond};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, &time, nullptr, 0);
}

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

void Executor::stop() noexcept {
  stopping_.store(true);
  wake(INT_MAX);
  for (const auto& state : states_) wake_own(*state);
}

Executor::Chance Executor::look_at_source(NodeId node, Tick at) const noexcept {
  const NodeState& state = *states_[node];
  const std::uint64_t done = state.executed.load(std::memory_order_acquire);
  const std::uint64_t all = options_.executions.empty() ? 0 : options_.executions[node];
  std::uint64_t count = state.most();
  if (stopping_.load() || count == 0 || (all != 0 && done >= all)) return {Step::End, 0};
  if (all != 0) count = std::min(count, all - done);
  const double due = state.period * static_cast<double>(done + count);
  if (options_.paced && !state.live && static_cast<double>(at - begun_.load()) < due) return {};
  return {Step::Run, count};
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
  if (wanted == 0) return {Step::End, 0};
  return count < wanted ? Chance{} : Chance{Step::Run, count};
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
  const std::uint64_t ready = state.block->ready();
  if (ready >= chance.count) return;
  if (!over)
    chance = {};
  else if (ready == 0)
    chance = {Step::End, 0};
  else
    chance.count = ready;
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
      release(node, chance.count, at);
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

void Executor::release(NodeId node, std::uint64_t count, Tick at) noexcept {
  NodeState& state = *states_[node];
  state.count = count;
  const double own = state.period * static_cast<double>(state.batch);
  if (state.source() && options_.paced && !state.live)
    at = begun_.load() +
         static_cast<Tick>(
             state.period *
             static_cast<double>(state.executed.load(std::memory_order_relaxed) + count));
  else if (options_.paced && !state.source() && state.jobs.load(std::memory_order_relaxed) > 0)
    // A period after the one before; where samples come faster than they should, no more than that
    // ahead of time.
    at =
        std::min(std::max(at, state.release + static_cast<Tick>(own)), at + static_cast<Tick>(own));
  state.release = at;
  state.released.store(at, std::memory_order_relaxed);
  state.point.store(at + static_cast<Tick>(own), std::memory_order_relaxed);
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
    std::pair before{true, kNever};
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
    if (journal.was_kept_waiting(end, excess)) {
      what = Happening::Gap;
    } else if (excess >= std::max(kInterruption, kManifold * state.budget)) {
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
Lateness Executor::lateness() const {
  std::vector<EventRecord> events;
  Tick complete_until = kNever;
  for (const auto& journal : journals_) {
    complete_until = std::min(complete_until, journal->complete_until());
    for (EventRecord event : journal->events()) {
      if (event.what == Happening::Interruption) {
        const NodeAccount own = account(event.node);
        if (own.interrupted > 1 + own.jobs / 1000) event.what = Happening::Overrun;
      }
      events.push_back(event);
    }
  }
  std::erase_if(events, [&](const EventRecord& event) {
    return event.what == Happening::Late && event.end > complete_until;
  });
  Lateness found = explain(events, options_.bound);
  std::uint64_t all = 0;
  for (NodeId node = 0; node < graph_.size(); ++node) all += account(node).late;
  found.unlisted = all - found.late;
  found.late = all;
  return found;
}

// When a source that is paced has its next job; one without room is called when there is some.
Tick Executor::due_of(const NodeState& state) const noexcept {
  const bool paced = options_.paced && state.source() && !state.live && !state.ended.load();
  if (!paced || !state.has_room(state.batch)) return kNever;
  const auto next =
      static_cast<double>(state.executed.load(std::memory_order_relaxed) + state.batch);
  return begun_.load() + static_cast<Tick>(state.period * next);
}

Tick Executor::next_due() const noexcept {
  Tick due = kNever;
  for (const NodeId node : polled_) due = std::min(due, due_of(*states_[node]));
  return due;
}

// Sleeps until a source's next job is due, or until it is called. Without a pace there is a job
// again soon, if there is one at all.
void Executor::idle(std::size_t worker, Tick at, Tick last_job, Journal& journal) noexcept {
  const Tick due = next_due();
  const Tick soonest = devices_ ? at + kPoll : at + kLongest;
  if (std::min(due, soonest) <= at + kShort || (!options_.paced && at <= last_job + kShort)) {
    spin_pause();
    if (const Tick looked = now(); looked - at > Journal::kStandstill) journal.woke(at, looked);
    return;
  }
  const Tick stagger = static_cast<Tick>(worker) * kStagger;
  asleep_.fetch_add(1);
  const std::uint32_t called = called_.load();
  // Who makes a job ready after this look sees that somebody is asleep.
  if (!any_ready() && alive_.load() > 0)
    wait_for(called_, called, std::min(due, soonest) + stagger);
  asleep_.fetch_sub(1);
  const Tick woken = now();
  // It was to be there when a source was due, or when it was called.
  const Tick wanted = called_.load() != called ? call_.load()
                      : due == kNever          ? woken
                                               : due + stagger;
  journal.woke(std::max(wanted, at), woken);
}

void Executor::wake(int sleepers) noexcept {
  call_.store(now());
  called_.fetch_add(1);
  syscall(SYS_futex, &called_, FUTEX_WAKE_PRIVATE, sleepers, nullptr, nullptr, 0);
}

void Executor::work(std::size_t worker) noexcept {
  const Tick at = now();
  Tick nobody = 0;
  begun_.compare_exchange_strong(nobody, at);
  journals_[worker]->woke(at, at);
  if (options_.worker_for_each)
    serve(static_cast<NodeId>(worker));
  else
    share(worker);
}

// Whatever job is the most urgent.
void Executor::share(std::size_t worker) noexcept {
  Journal& journal = *journals_[worker];
  Tick last_job = 0;
  NodeId next = kNone;
  for (Tick at = now(); alive_.load() > 0;) {
    if (next == kNone) {
      for (const NodeId node : polled_) offer(node, at);
      next = take(at);
    }
    if (next != kNone) {
      if (asleep_.load() > 0 && any_ready()) wake(1);
      at = last_job = run(next, at, journal);
      next = follow(next, at);
      continue;
    }
    idle(worker, at, last_job, journal);
    const Tick looked = now();
    journal.slept(looked - at);
    at = looked;
  }
}

// The jobs of one node.
void Executor::serve(NodeId node) noexcept {
  NodeState& state = *states_[node];
  Journal& journal = *journals_[node];
  const std::uint64_t bit = std::uint64_t{1} << node % 64;
  for (Tick at = now(); !state.ended.load();) {
    offer(node, at);
    if ((ready_[node / 64].fetch_and(~bit) & bit) != 0) {
      at = run(node, at, journal);
      follow(node, at);
      continue;
    }
    const Tick due = due_of(state);
    const std::uint32_t called = state.called.load();
    state.asleep.store(true);
    // Who makes its job ready after this look sees that it sleeps.
    if ((ready_[node / 64].load() & bit) == 0 && !state.ended.load())
      wait_for(state.called, called, std::min(due, at + (state.device ? kPoll : kLongest)));
    state.asleep.store(false);
    const Tick woken = now();
    journal.woke(due == kNever ? woken : std::max(due, at), woken);
    journal.slept(woken - at);
    at = woken;
  }
}

void Executor::wake_own(NodeState& state) const noexcept {
  if (!options_.worker_for_each || !state.asleep.load()) return;
  state.called.fetch_add(1);
  syscall(SYS_futex, &state.called, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
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
