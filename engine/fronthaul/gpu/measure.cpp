#include "fronthaul/gpu/measure.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <stdexcept>

#include "base/aligned.hpp"
#include "fronthaul/gpu/check.inl"
#include "fronthaul/gpu/ring.hpp"
#include "fronthaul/gpu/source.hpp"
#include "fronthaul/gpu/target.hpp"

namespace carillon::fronthaul::gpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kMostBlockBytes = 64U << 20;
constexpr std::size_t kRingBytes = std::size_t{64} << 20;

bool on_host(Path path) { return path == Path::StagedHost || path == Path::PinnedHost; }
bool staged(Path path) { return path == Path::StagedHost || path == Path::Staged; }

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Enough blocks that the next is received while others move, in memory of a bounded size.
std::uint32_t slots_for(std::uint32_t block_bytes) {
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(kRingBytes / block_bytes, 4, 256));
}

void check_plan(const IngestPlan& plan, const cuda::Device* device) {
  if (plan.block_bytes < 64 || plan.block_bytes > kMostBlockBytes || plan.block_bytes % 64 != 0)
    throw std::invalid_argument("block_bytes must be a multiple of 64, from 64 to 64 MiB");
  if (!(plan.seconds >= 0 && plan.seconds <= 3600))
    throw std::invalid_argument("seconds must be 0 to 3600");
  if (!(plan.msps >= 0 && plan.msps <= 1e5))
    throw std::invalid_argument("msps must be 0 to 100000");
  if (!on_host(plan.path) && device == nullptr)
    throw std::invalid_argument("this path needs a device");
}

class Run {
 public:
  Run(const IngestPlan& plan, IngestResult& result)
      : plan_(plan),
        result_(result),
        ring_(slots_for(plan.block_bytes), plan.block_bytes),
        pageable_(staged(plan.path) ? plan.block_bytes : 0),
        source_({plan.channels, plan.block_bytes / kSampleBytes, plan.msps}) {
    result.slots = ring_.slots();
  }

  BlockRing& ring() { return ring_; }
  const Source& source() const { return source_; }
  void send_to(Target& target, bool sums) {
    target_ = &target;
    sums_ = sums;
  }

  /// Blocks of all channels in turn until so many have come and so long has passed.
  bool go(std::uint64_t least, double seconds) {
    const Clock::time_point start = Clock::now();
    for (std::uint64_t done = 0; done < least || since(start) < seconds; done += plan_.channels)
      for (std::uint32_t channel = 0; channel < plan_.channels; ++channel)
        if (!take(channel)) return false;
    return drain();
  }

  /// Of the blocks that are still in the ring, sums on the host.
  void check_what_lies_there() {
    const auto target = make_host_target(ring_, true);
    const std::uint64_t last = ring_.published();
    for (std::uint64_t n = last - std::min<std::uint64_t>(last, ring_.slots()); n < last; ++n) {
      const auto slot = static_cast<std::uint32_t>(n % ring_.slots());
      (void)target->take(slot);
      judge_sums(slot, target->check(slot));
    }
  }

  std::uint64_t blocks() const { return blocks_; }

 private:
  bool take(std::uint32_t channel) {
    std::optional<std::uint32_t> slot = ring_.claim();
    while (!slot) {
      if (!retire()) return false;
      slot = ring_.claim();
    }
    std::byte* const payload = ring_.payload(*slot);
    std::byte* const first = staged(plan_.path) ? pageable_.data() : payload;
    if (!receive_block(source_.socket(channel), &ring_.meta()[*slot], first, plan_.block_bytes))
      return fail("the source ended");
    if (first != payload) std::copy_n(first, plan_.block_bytes, payload);
    ring_.publish();
    ++blocks_;
    if (const Status status = target_->take(*slot); !status.ok()) return fail(status.text());
    return true;
  }

  bool retire() {
    const std::uint32_t slot = *ring_.oldest();
    const Status status = target_->finish(slot);
    if (!status.ok()) return fail(status.text());
    const BlockCheck& check = target_->check(slot);
    result_.lost_samples += check.missing;
    result_.out_of_order += check.stamp != Stamp::InOrder && check.stamp != Stamp::Gap ? 1U : 0U;
    if (sums_) judge_sums(slot, check);
    ring_.retire();
    return true;
  }

  bool drain() {
    while (ring_.oldest())
      if (!retire()) return false;
    return true;
  }

  void judge_sums(std::uint32_t slot, const BlockCheck& found) {
    const BlockMeta& meta = ring_.meta()[slot];
    const BlockCheck& sent = source_.expected(meta.sequence, meta.channel);
    ++result_.checked;
    if (meta.samples != plan_.block_bytes / kSampleBytes || found.sum_i != sent.sum_i ||
        found.sum_q != sent.sum_q || found.plain != sent.plain || found.placed != sent.placed)
      ++result_.wrong;
  }

  bool fail(const std::string& why) {
    result_.error = why;
    return false;
  }

  const IngestPlan& plan_;
  IngestResult& result_;
  BlockRing ring_;
  AlignedArray<std::byte> pageable_;
  Source source_;  // stops first
  Target* target_ = nullptr;
  bool sums_ = false;
  std::uint64_t blocks_ = 0;
};

// What a first pass is for: sums are compared where that would take the time of what is measured,
// memory is touched, a device wakes.
bool first_pass(Run& run, Target& target) {
  run.send_to(target, true);
  return run.go(2 * std::uint64_t{run.ring().slots()}, 0);
}

bool timed_pass(Run& run, Target& target, bool sums, const IngestPlan& plan, IngestResult& result) {
  run.send_to(target, sums);
  result.lost_samples = result.out_of_order = 0;
  const std::uint64_t before = run.blocks(), dropped = run.source().dropped();
  const double cpu = thread_cpu_seconds(), source_cpu = run.source().cpu_seconds();
  const Clock::time_point start = Clock::now();
  const bool ended = run.go(plan.channels, plan.seconds);
  result.seconds = since(start);
  result.cpu_seconds = thread_cpu_seconds() - cpu;
  result.source_cpu_seconds = run.source().cpu_seconds() - source_cpu;
  result.blocks = run.blocks() - before;
  result.bytes = result.blocks * plan.block_bytes;
  result.dropped = run.source().dropped() - dropped;
  return ended;
}

}  // namespace

IngestResult measure(const IngestPlan& plan, const cuda::Device* device) {
  check_plan(plan, device);
  IngestResult result;
  Run run(plan, result);
  if (on_host(plan.path)) {
    const auto all = make_host_target(run.ring(), true),
               stamps = make_host_target(run.ring(), false);
    if (first_pass(run, *all) && timed_pass(run, *stamps, false, plan, result))
      run.check_what_lies_there();
    return result;
  }
  const Access access = plan.path == Path::PinnedRead ? Access::Read : Access::Copy;
  Status status;
  const auto target = make_device_target(*device, run.ring(), access, status);
  if (target == nullptr)
    result.error = status.text();
  else if (first_pass(run, *target))
    timed_pass(run, *target, true, plan, result);
  return result;
}

double descriptor_ns() {
  constexpr int kRounds = 5, kDescriptors = 200'000;
  BlockRing ring(64, 64);
  double best = std::numeric_limits<double>::max();
  for (int round = 0; round < kRounds; ++round) {
    ChannelState state;
    BlockCheck check;
    const double start = thread_cpu_seconds();
    for (std::uint64_t n = 0; n < kDescriptors; ++n) {
      BlockMeta& meta = ring.meta()[*ring.claim()];
      meta.sequence = n;
      meta.first_sample = 16 * n;
      meta.samples = 16;
      ring.publish();
      stamp_one(ring.meta()[*ring.oldest()], state, check);
      ring.retire();
    }
    best = std::min(best, thread_cpu_seconds() - start);
  }
  return best * 1e9 / kDescriptors;
}

}  // namespace carillon::fronthaul::gpu
