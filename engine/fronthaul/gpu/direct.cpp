#include "fronthaul/gpu/direct.hpp"

#include <unistd.h>

#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "fronthaul/gpu/loopback.hpp"
#include "fronthaul/gpu/source.hpp"

namespace carillon::fronthaul::gpu {
namespace {

// For the next block to arrive: longer than the card's own retries take.
constexpr std::chrono::seconds kPatience{5};

class DirectTarget : public Target {
 public:
  DirectTarget(const Card& card, BlockRing& ring, Landing landing)
      : ring_(ring),
        landing_(std::move(landing)),
        card_(card),
        turns_(ring.slots()),
        slots_(ring.slots()) {}

  std::string prepare() {
    if (!card_.why().empty()) return card_.why();
    loop_.emplace(card_, ring_.slots());
    if (!loop_->why().empty()) return loop_->why();
    if (landing_.slot_bytes > loop_->most_bytes())
      return card_.name() + " takes at most " + std::to_string(loop_->most_bytes()) +
             " bytes at once";
    std::string why;
    landed_ = card_.give("the memory where blocks go", landing_.memory, landing_.bytes,
                         verbs::kLocalWrite | verbs::kRemoteWrite | verbs::kRemoteRead,
                         landing_.dma_buf.number(), why);
    landing_.dma_buf = {};  // what is registered needs it no more
    if (landed_ != nullptr) loop_->land_in(*landed_);
    return why;
  }

  bool fetches() const override { return true; }

  std::string connect(const Source& source) override {
    source_ = &source;
    // What is only read on this side needs no right; the verbs take no pointer to const.
    auto* const blocks = const_cast<std::uint32_t*>(source.memory().data());
    std::string why;
    sent_ = card_.give("host memory", blocks, source.memory().size_bytes(), 0, -1, why);
    if (sent_ != nullptr) loop_->send_from(*sent_);
    return why;
  }

  std::string take(std::uint32_t slot) override {
    if (posted_ - arrived_ == loop_->depth())
      if (std::string why = wait_for(arrived_ + 1); !why.empty()) return why;
    const BlockMeta& meta = ring_.meta()[slot];
    std::string why =
        loop_->write(posted_, source_->samples(meta.sequence, meta.channel),
                     landing_.memory + slot * landing_.slot_bytes, meta.samples * kSampleBytes);
    if (!why.empty()) return why;
    slots_[posted_ % slots_.size()] = slot;
    turns_[slot] = ++posted_;
    return look();
  }

  std::string finish(std::uint32_t slot) override {
    if (std::string why = wait_for(turns_[slot]); !why.empty()) return why;
    return landing_.checks->finish(slot);
  }

  const BlockCheck& check(std::uint32_t slot) const override {
    return landing_.checks->check(slot);
  }

 private:
  // Has those checked that have arrived since.
  std::string look() {
    std::uint32_t more = 0;
    if (std::string why = loop_->arrived(more); !why.empty()) return why;
    for (; more > 0; --more, ++arrived_)
      if (std::string why = landing_.checks->take(slots_[arrived_ % slots_.size()]); !why.empty())
        return why;
    return {};
  }

  std::string wait_for(std::uint64_t turn) {
    auto last = std::chrono::steady_clock::now();
    while (arrived_ < turn) {
      const std::uint64_t before = arrived_;
      if (std::string why = look(); !why.empty()) return why;
      const auto now = std::chrono::steady_clock::now();
      if (arrived_ != before) {
        last = now;
        continue;
      }
      if (now - last > kPatience)
        return card_.name() + " says nothing of block " + std::to_string(arrived_) + " for " +
               std::to_string(kPatience.count()) + " s";
      std::this_thread::yield();
    }
    return {};
  }

  BlockRing& ring_;
  Landing landing_;
  OpenCard card_;
  Owned<verbs::Region> landed_{nullptr, nullptr}, sent_{nullptr, nullptr};
  std::optional<Loopback> loop_;  // goes before the memory it may write to
  const Source* source_ = nullptr;
  std::uint64_t posted_ = 0, arrived_ = 0;
  std::vector<std::uint64_t> turns_;  // [slot]: posted, with its block
  std::vector<std::uint32_t> slots_;  // [turn]: of blocks in flight
};

}  // namespace

Landing make_host_landing(BlockRing& ring, bool sums) {
  Landing landing;
  landing.checks = make_host_target(ring, sums);
  landing.memory = ring.payload(0);
  landing.slot_bytes = ring.slot_bytes();
  landing.bytes = ring.slots() * ring.slot_bytes();
  return landing;
}

std::unique_ptr<Target> make_direct_target(const Card& card, BlockRing& ring, Landing landing,
                                           std::string& why) {
  auto target = std::make_unique<DirectTarget>(card, ring, std::move(landing));
  why = target->prepare();
  if (!why.empty()) return nullptr;
  return target;
}

}  // namespace carillon::fronthaul::gpu
