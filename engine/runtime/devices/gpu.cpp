#include "runtime/devices/gpu.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace carillon::runtime {
namespace {

constexpr std::uint32_t kMostPerSm = 32;

// Divisible by any number of CTAs per SM, so that shares of an SM are whole numbers.
constexpr std::uint64_t shares_of_an_sm() {
  std::uint64_t shares = 1;
  for (std::uint64_t n = 2; n <= kMostPerSm; ++n) shares = std::lcm(shares, n);
  return shares;
}
constexpr std::uint64_t kShares = shares_of_an_sm();

std::uint64_t share(const KernelLoad& load) { return kShares / load.ctas_per_sm; }

}  // namespace

Gpu::Gpu(const Options& options)
    : options_(options), room_(options.sms * kShares), queues_(options.queues) {}

Gpu::KernelId Gpu::submit(std::uint32_t queue, bool urgent, const KernelLoad& load, double factor,
                          std::uint32_t gates, std::uint64_t tag, Tick now) {
  std::uint32_t id = static_cast<std::uint32_t>(kernels_.size());
  if (free_.empty()) {
    kernels_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  kernels_[id] = {.load = load,
                  .factor = factor,
                  .tag = tag,
                  .sequence = sequence_++,
                  .queue = queue == kOwn ? kOwn : queue % options_.queues,
                  .gates = gates,
                  .waiting = load.ctas,
                  .urgent = urgent};
  Queue* const behind = queue == kOwn ? nullptr : &queues_[kernels_[id].queue];
  if (behind != nullptr && behind->head != kNone) {
    kernels_[behind->tail].next = id;
    behind->tail = id;
    return id;
  }
  if (behind != nullptr) behind->head = behind->tail = id;
  consider(id, now);
  dispatch(now);
  return id;
}

void Gpu::open(KernelId id, Tick now) {
  --kernels_[id].gates;
  consider(id, now);
  dispatch(now);
}

void Gpu::cancel(KernelId id, Tick now) {
  Kernel& kernel = kernels_[id];
  if (kernel.started) return;
  kernel.cancelled = true;
  kernel.gates = 0;
  kernel.waiting = 0;
  std::erase(active_, id);
  consider(id, now);
  dispatch(now);
}

// From when on its queue lets it start.
Tick Gpu::may_start(std::uint32_t id) const {
  if (kernels_[id].queue == kOwn) return kAlways;
  const Queue& queue = queues_[kernels_[id].queue];
  return queue.head == id ? queue.open : kNever;
}

bool Gpu::precedes(const Kernel& kernel, const Kernel& other) {
  const auto place = [](const Kernel& k) {
    return std::tuple(k.queue != kOwn, !k.urgent, k.sequence);
  };
  return place(kernel) < place(other);
}

// Lets a kernel start if it is at the head of its queue and nothing holds it back.
void Gpu::consider(std::uint32_t id, Tick now) {
  Kernel& kernel = kernels_[id];
  const Tick from = may_start(id);
  if (from == kNever || kernel.gates != 0 || kernel.started || kernel.called) return;
  if (from > now || kernel.cancelled) {
    kernel.called = true;
    return push(std::max(from, now), id, 0, 0);
  }
  const auto place = std::find_if(active_.begin(), active_.end(), [&](std::uint32_t other) {
    return precedes(kernel, kernels_[other]);
  });
  if (std::find(active_.begin(), place, id) != place) return;
  active_.insert(place, id);
}

void Gpu::dispatch(Tick now) {
  while (!active_.empty() && !hung()) {
    const std::uint32_t id = active_.front();
    const Kernel& kernel = kernels_[id];
    const std::uint64_t left = room_ > used_ ? room_ - used_ : 0;
    const auto fits = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(kernel.waiting, left / share(kernel.load)));
    if (fits == 0) return;
    start(id, fits, now);
    if (kernel.waiting != 0) return;
    active_.erase(active_.begin());
  }
}

void Gpu::start(std::uint32_t id, std::uint32_t ctas, Tick now) {
  Kernel& kernel = kernels_[id];
  if (!kernel.started) kernel.start = now;
  kernel.started = true;
  kernel.waiting -= ctas;
  kernel.running += ctas;
  account(now);
  used_ += ctas * share(kernel.load);
  const double bytes = ctas * kernel.load.bytes;
  in_flight_ += bytes;
  push(now + duration(kernel), id, ctas, bytes);
}

Tick Gpu::duration(const Kernel& kernel) const {
  const KernelLoad& load = kernel.load;
  const std::uint64_t own = kernel.running * share(load);
  const double sms = static_cast<double>(room_ - (used_ - own)) / static_cast<double>(kShares);
  const double on_one = std::max(1.0, kernel.running / sms);
  const double compute = static_cast<double>(load.floor) + load.sm_time * on_one;
  const double time = std::max(compute, in_flight_ / options_.bytes_per_ns);
  return std::max<Tick>(1, std::llround(time * kernel.factor));
}

void Gpu::push(Tick at, std::uint32_t kernel, std::uint32_t ctas, double bytes) {
  events_.push_back({at, sequence_++, kernel, ctas, bytes});
  std::push_heap(events_.begin(), events_.end());
}

void Gpu::advance(Tick now, std::vector<Ended>& ended) {
  while (!events_.empty() && events_.front().at <= now) {
    const Tick at = events_.front().at;
    while (!events_.empty() && events_.front().at == at) {
      const Event event = events_.front();
      std::pop_heap(events_.begin(), events_.end());
      events_.pop_back();
      Kernel& kernel = kernels_[event.kernel];
      kernel.called = false;
      if (event.ctas == 0 && !kernel.cancelled) {
        consider(event.kernel, at);
        continue;
      }
      account(at);
      used_ -= event.ctas * share(kernel.load);
      in_flight_ -= event.bytes;
      kernel.running -= event.ctas;
      if (kernel.running == 0 && kernel.waiting == 0) finish(event.kernel, at);
    }
    dispatch(at);
  }
  ended.insert(ended.end(), ended_.begin(), ended_.end());
  ended_.clear();
}

void Gpu::finish(std::uint32_t id, Tick now) {
  const Kernel& kernel = kernels_[id];
  ended_.push_back({kernel.tag, kernel.start, now, kernel.started});
  free_.push_back(id);
  if (kernel.queue == kOwn) return;
  Queue& queue = queues_[kernel.queue];
  queue.head = kernel.next;
  if (kernel.started) queue.open = now + options_.gap;
  if (queue.head == kNone)
    queue.tail = kNone;
  else
    consider(queue.head, now);
}

void Gpu::reserve(std::uint32_t sms, Tick now) {
  account(now);
  room_ = (options_.sms - std::min(sms, options_.sms - 1)) * kShares;
  dispatch(now);
}

void Gpu::hang(Tick now) { hung_since_ = std::min(hung_since_, now); }

void Gpu::resume(Tick now) {
  const Tick lost = now - hung_since_;
  for (Event& event : events_)
    event.at = event.ctas != 0 ? event.at + lost : std::max(event.at, now);
  std::make_heap(events_.begin(), events_.end());
  hung_since_ = kNever;
  dispatch(now);
}

void Gpu::clear(Tick now) {
  account(now);
  hung_since_ = kNever;
  used_ = 0;
  in_flight_ = 0;
  kernels_.clear();
  free_.clear();
  active_.clear();
  events_.clear();
  ended_.clear();
  for (Queue& queue : queues_) queue = {};
}

void Gpu::account(Tick now) {
  busy_ += used_sms() * static_cast<double>(now - accounted_);
  accounted_ = now;
}

double Gpu::used_sms() const { return static_cast<double>(used_) / static_cast<double>(kShares); }

double Gpu::busy(Tick now) const {
  return busy_ + used_sms() * static_cast<double>(now - accounted_);
}

}  // namespace carillon::runtime
