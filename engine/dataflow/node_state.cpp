#include "dataflow/node_state.hpp"

#include <algorithm>
#include <limits>

namespace carillon::dataflow {
namespace {

// Of what one thread at a time writes.
template <typename T>
void raise(std::atomic<T>& most, T value) {
  if (value > most.load(std::memory_order_relaxed)) most.store(value, std::memory_order_relaxed);
}
template <typename T>
void increase(std::atomic<T>& sum, T by) {
  sum.store(sum.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

// A tag of a sample before the first that is handed on, so many samples later: what it says from
// there on. False: nothing.
bool move_behind(Tag& tag, double samples, double period_s) {
  switch (tag.kind) {
    case TagKind::Time: tag.value += samples * period_s; return true;
    case TagKind::Rate:
    case TagKind::Frequency: return true;
    case TagKind::Overflow: return false;
    case TagKind::Annotation: tag.value -= samples; return tag.value > 0;
  }
  return false;
}

}  // namespace

Tick NodeState::arrival(Tick begun) const noexcept {
  if (source()) {
    const auto first = static_cast<double>(executed.load(std::memory_order_relaxed) + 1);
    return live ? looked - static_cast<Tick>(period * static_cast<double>(there - 1))
                : begun + static_cast<Tick>(period * first);
  }
  Tick oldest = std::numeric_limits<Tick>::max();
  for (const Feed& feed : feeds) {
    const std::uint64_t position = feed.from->out->read(feed.reader);
    // The last mark that is not behind it; those that were overwritten are of what has been read.
    std::uint64_t mark = feed.from->marked.load(std::memory_order_acquire);
    const std::uint64_t mask = feed.from->marks.size() - 1;
    do --mark;
    while (feed.from->marks[mark & mask].position > position);
    const Mark& found = feed.from->marks[mark & mask];
    const auto behind = static_cast<double>((position - found.position) / feed.produce);
    oldest = std::min(oldest, found.arrival + static_cast<Tick>(behind * feed.from->period));
  }
  return oldest;
}

void NodeState::execute(Tick arrived) noexcept {
  if (out) {
    const std::uint64_t at = marked.load(std::memory_order_relaxed);
    marks[at & (marks.size() - 1)] = {out->written(), arrived};
    marked.store(at + 1, std::memory_order_release);
  }
  const std::uint64_t before = executed.load(std::memory_order_relaxed);
  std::uint64_t done = 0;
  while (const Change* const next = changes.next(before + count)) {
    const std::uint64_t first = std::max(next->at, before + done) - before;
    if (first > done) execute_part(done, first - done);
    block->set(next->parameter, next->value);
    changes.made(before + first);
    done = first;
  }
  execute_part(done, count - done);
  if (out) out->write(count * produce);
  for (const Feed& feed : feeds) feed.from->out->take(feed.reader, count * feed.consume);
  remaining.store(block->remaining());
  executed.store(before + count, std::memory_order_release);
}

void NodeState::leave() noexcept {
  const bool wants_more = most() > 0;
  for (Feed& feed : feeds) {
    if (wants_more) feed.left = feed.available();
    feed.from->out->leave(feed.reader);
    feed.from->tags->leave(feed.reader);
    feed.from->readers.fetch_sub(1);
  }
}

// Executions of the job from `first` on; its samples are taken away and given when all is done.
void NodeState::execute_part(std::uint64_t first, std::uint64_t executions) noexcept {
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    const Input& input = block->ports().inputs[i];
    windows[i] = reinterpret_cast<const float*>(
                     feeds[i].from->out->items(feeds[i].reader, feeds[i].history)) +
                 first * feeds[i].consume * floats_of(input.items);
  }
  gather_tags(first, executions);
  block->tags_out.clear();
  float* const place =
      out ? reinterpret_cast<float*>(out->place()) + block->writes(first) : nullptr;
  block->execute(windows.data(), place, executions);
  increase(lost_tags, block->tags_out.lost());
  if (!out) return;
  for (Tag tag : block->tags_out.tags()) {
    tag.position += out->written() + first * produce;
    make(tag);
  }
  for (const Tag& tag : tags_made) tags->put(tag);
  tags_made.clear();
}

// In the order of samples, as readers look for them, whichever input they come from.
void NodeState::make(const Tag& tag) noexcept {
  if (tags_made.size() == kMostTags) return increase<std::uint64_t>(lost_tags, 1);
  tags_made.insert(std::ranges::upper_bound(tags_made, tag.position, {}, &Tag::position), tag);
}

// Tags of the samples that so many executions take away, and of those ahead of them: to the block,
// and to what reads it.
void NodeState::gather_tags(std::uint64_t first, std::uint64_t executions) noexcept {
  tags_in.clear();
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    const Feed& feed = feeds[i];
    const std::uint64_t begin = feed.from->out->read(feed.reader) + first * feed.consume;
    while (const Tag* const tag =
               feed.from->tags->next(feed.reader, begin + feed.ahead + executions * feed.consume)) {
      if (i == 0) give(*tag, begin);
      if (out && !block->keeps_tags()) hand_on(*tag, feed);
      feed.from->tags->take(feed.reader);
    }
  }
  block->tags_in = tags_in;
}

// To the block, by its place behind `begin`.
void NodeState::give(Tag tag, std::uint64_t begin) noexcept {
  if (tags_in.size() == kMostTags) return increase<std::uint64_t>(lost_tags, 1);
  tag.position -= std::min(begin, tag.position);
  tags_in.push_back(tag);
}

// At the sample that is made of the tag's, with what is counted in samples as it is there.
void NodeState::hand_on(const Tag& tag, const Feed& feed) noexcept {
  const std::uint64_t first = feed.from->out->read(feed.reader) + feed.ahead;
  const std::uint64_t behind = tag.position > first ? (tag.position - first) / feed.consume : 0;
  Tag made = tag;
  if (tag.position < first) {
    const double period_s = period / static_cast<double>(feed.consume) * 1e-9;
    if (!move_behind(made, static_cast<double>(first - tag.position), period_s)) return;
  }
  made.position = out->written() + behind * produce;
  const double change_of_rate = static_cast<double>(produce) / static_cast<double>(feed.consume);
  if (tag.kind == TagKind::Rate || tag.kind == TagKind::Overflow || tag.kind == TagKind::Annotation)
    made.value *= change_of_rate;
  make(made);
}

void NodeState::account_for(Tick start, Tick end) noexcept {
  increase<std::uint64_t>(jobs, 1);
  increase(busy_for, end - start);
  raise(longest_job, end - start);
  raise(longest_response, end - release);
}

NodeAccount NodeState::account() const noexcept {
  return {.jobs = jobs.load(std::memory_order_relaxed),
          .executions = executed.load(std::memory_order_relaxed),
          .busy = busy_for.load(std::memory_order_relaxed),
          .longest_job = longest_job.load(std::memory_order_relaxed),
          .longest_response = longest_response.load(std::memory_order_relaxed),
          .longest_latency = longest_latency.load(std::memory_order_relaxed),
          .late = late.load(std::memory_order_relaxed),
          .interrupted = interrupted.load(std::memory_order_relaxed),
          .lost_tags = lost_tags.load(std::memory_order_relaxed) + (tags ? tags->lost() : 0),
          .changes = changes.all_made(),
          .late_changes = changes.late()};
}

}  // namespace carillon::dataflow
