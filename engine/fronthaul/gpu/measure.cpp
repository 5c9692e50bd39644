#include "fronthaul/gpu/measure.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>

#include "base/aligned.hpp"
#include "fronthaul/gpu/check.inl"
#include "fronthaul/gpu/direct.hpp"
#include "fronthaul/gpu/ring.hpp"
#include "fronthaul/gpu/source.hpp"
#include "fronthaul/gpu/target.hpp"

namespace carillon::fronthaul::gpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kMostBlockBytes = 64U << 20;
constexpr std::size_t kLeastSlotBytes = 64;
constexpr std::size_t kRingBytes = std::size_t{64} << 20;

bool on_host(Path path) {
  return path == Path::StagedHost || path == Path::PinnedHost || path == Path::CardHost;
}
bool staged(Path path) { return path == Path::StagedHost || path == Path::Staged; }
bool direct(Path path) {
  return path == Path::CardHost || path == Path::DmaBuf || path == Path::Peermem;
}
// Of the ring in the host's memory: none where a card writes into a device's.
std::size_t host_bytes(const IngestPlan& plan) {
  return direct(plan.path) && !on_host(plan.path) ? kLeastSlotBytes : plan.block_bytes;
}

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
        ring_(slots_for(plan.block_bytes), host_bytes(plan)),
        pageable_(staged(plan.path) ? plan.block_bytes : 0) {
    result.slots = ring_.slots();
  }

  BlockRing& ring() { return ring_; }

  /// Starts a source and takes blocks of all channels in turn, until so many have come and so long
  /// has passed and all are checked. `sums`: the target makes them.
  bool go(Target& target, bool sums, std::uint64_t least, double seconds) {
    target_ = &target;
    sums_ = sums;
    source_.emplace(
        SourcePlan{plan_.channels, plan_.block_bytes / kSampleBytes, plan_.msps, target.fetches()});
    if (const std::string why = target.connect(*source_); !why.empty()) return fail(why);
    const double cpu = thread_cpu_seconds();
    const Clock::time_point start = Clock::now();
    if (!take_all(least, seconds, start) || !drain()) return false;
    result_.seconds = since(start);
    result_.cpu_seconds = thread_cpu_seconds() - cpu;
    result_.source_cpu_seconds = source_->cpu_seconds();
    result_.dropped = source_->dropped();
    result_.bytes = result_.blocks * plan_.block_bytes;
    return true;
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

 private:
  bool take_all(std::uint64_t least, double seconds, Clock::time_point start) {
    while (result_.blocks < least || since(start) < seconds)
      for (std::uint32_t channel = 0; channel < plan_.channels; ++channel)
        if (!take(channel)) return false;
    return true;
  }

  bool take(std::uint32_t channel) {
    std::optional<std::uint32_t> slot = ring_.claim();
    while (!slot) {
      if (!retire()) return false;
      slot = ring_.claim();
    }
    std::byte* const payload = ring_.payload(*slot);
    std::byte* const first = staged(plan_.path) ? pageable_.data() : payload;
    const std::size_t received = target_->fetches() ? 0 : plan_.block_bytes;
    if (!receive_block(source_->socket(channel), &ring_.meta()[*slot], first, received))
      return fail("the source ended");
    if (first != payload) std::copy_n(first, plan_.block_bytes, payload);
    ring_.publish();
    ++result_.blocks;
    const std::string why = target_->take(*slot);
    return why.empty() || fail(why);
  }

  bool retire() {
    const std::uint32_t slot = *ring_.oldest();
    if (const std::string why = target_->finish(slot); !why.empty()) return fail(why);
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
    ++result_.checked;
    if (meta.samples != plan_.block_bytes / kSampleBytes ||
        !same_sums(found, source_->expected(meta.sequence, meta.channel)))
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
  std::optional<Source> source_;  // stops first
  Target* target_ = nullptr;
  bool sums_ = false;
};

std::unique_ptr<Target> direct_target(const IngestPlan& plan, const cuda::Device* device,
                                      BlockRing& ring, bool sums, std::string& why) {
  const Export by = plan.path == Path::DmaBuf ? Export::DmaBuf : Export::Peermem;
  Landing landing = on_host(plan.path)
                        ? make_host_landing(ring, sums)
                        : make_device_landing(*device, ring, plan.block_bytes, by, why);
  if (!why.empty()) return nullptr;
  return make_direct_target(plan.card, ring, std::move(landing), why);
}

std::unique_ptr<Target> target_for(const IngestPlan& plan, const cuda::Device* device, Run& run,
                                   bool sums, IngestResult& result) {
  if (direct(plan.path)) return direct_target(plan, device, run.ring(), sums, result.error);
  if (on_host(plan.path)) return make_host_target(run.ring(), sums);
  const Access access = plan.path == Path::PinnedRead ? Access::Read : Access::Copy;
  Status status;
  auto target = make_device_target(*device, run.ring(), access, status);
  if (target == nullptr) result.error = status.text();
  return target;
}

// Sums are compared here where that would take the time of what is measured; and a device wakes.
IngestResult first_pass(const IngestPlan& plan, const cuda::Device* device) {
  IngestResult result;
  Run run(plan, result);
  const auto target = target_for(plan, device, run, true, result);
  if (target != nullptr) run.go(*target, true, 2 * std::uint64_t{result.slots}, 0);
  return result;
}

IngestResult timed_pass(const IngestPlan& plan, const cuda::Device* device) {
  IngestResult result;
  Run run(plan, result);
  const bool sums = !on_host(plan.path);
  const auto target = target_for(plan, device, run, sums, result);
  if (target != nullptr && run.go(*target, sums, plan.channels, plan.seconds) && !sums)
    run.check_what_lies_there();
  return result;
}

}  // namespace

IngestResult measure(const IngestPlan& plan, const cuda::Device* device) {
  check_plan(plan, device);
  IngestPlan unpaced = plan;
  unpaced.msps = 0;
  const IngestResult first = first_pass(unpaced, device);
  if (!first.error.empty()) return first;
  IngestResult result = timed_pass(plan, device);
  result.checked += first.checked;
  result.wrong += first.wrong;
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
