// Frames of random sources through scheduler, policy and the executor of real devices, on imaginary
// ones. What is computed is checked.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/executors/cuda.hpp"
#include "runtime/pool_scenario.hpp"
#include "runtime/scheduler.hpp"
#include "support/imaginary_devices.hpp"
#include "support/test.hpp"

namespace carillon::runtime {

// Devices, and the driver that the executor has them by.
struct Gpus {
  std::shared_ptr<test::ImaginaryDevices> devices;
  std::shared_ptr<cuda::Driver> driver;
};
/// Every program of these tests has drivers of its own.
Gpus make_gpus(std::uint16_t devices, const cuda::DriverOptions& options, std::uint64_t seed);

constexpr std::uint64_t kGarbage = 0xdead;
constexpr Tick kDeadline = 1000 * kSecond;  // too far to be of any help

// Every result is a number made of those that it reads, as they are when it is made; a device's
// memory is full of garbage. kind() goes by the graph: nothing is read, or nobody reads.
class Sums final : public DeviceWork {
 public:
  Sums(const std::vector<CellPlan>& sources, std::uint32_t ring, test::ImaginaryDevices& gpus)
      : sources_(sources), gpus_(gpus), memory_(gpus.count()) {
    for (const CellPlan& source : sources) {
      first_.push_back(size_);
      size_ += ring * source.graph.size();
    }
    for (auto& memory : memory_) memory.assign(size_, kGarbage);
    host_ = memory_;
  }

  Tick launching = 0;  // what a launch takes the host

  Kind kind(std::uint16_t source, std::uint16_t instruction) const noexcept override {
    const Work& work = sources_[source].work[instruction];
    if (work.footprint.ctas != 0) return Kind::Kernels;
    return work.output != 0 ? Kind::Fetch : Kind::Bring;
  }
  cuda::Status launch(std::span<const InstanceId> run, std::uint16_t device,
                      cuda::Stream stream) noexcept override {
    ++launches_;
    gpus_.pass(launching);
    cuda::Status status;
    for (std::size_t i = 0; i < run.size() && status.ok(); ++i)
      status = add(run[i], device, stream);
    return status;
  }
  cuda::Status copy(const InstanceId& what, std::uint16_t from, std::uint16_t to,
                    cuda::Stream stream) noexcept override {
    return gpus_.add(
        stream,
        [this, what, from, to] {
          const std::uint32_t place = at(what, what.instruction);
          memory_[to][place] = memory_[from][place];
        },
        from);
  }
  std::uint64_t launches() const { return launches_; }

  /// What a device that died has in its memory when it is back.
  void forget(std::uint16_t device) { memory_[device].assign(size_, kGarbage); }

  std::uint64_t expected(const InstanceId& what) const {
    std::uint64_t sum = seed_of(what);
    for (const std::uint16_t needed : sources_[what.source].graph[what.instruction].waits_for) {
      InstanceId its = what;
      its.instruction = needed;
      sum = mix_seed(sum ^ expected(its));
    }
    return sum;
  }
  // Whether the result is right where it is to be: where the device brought it, or on any.
  bool right(const InstanceId& what, std::uint16_t device) const {
    const std::uint64_t sum = expected(what);
    const std::uint32_t place = at(what, what.instruction);
    if (kind(what.source, what.instruction) == Kind::Bring) return host_[device][place] == sum;
    return std::any_of(memory_.begin(), memory_.end(),
                       [&](const auto& memory) { return memory[place] == sum; });
  }

 private:
  cuda::Status add(const InstanceId& what, std::uint16_t device, cuda::Stream stream) noexcept {
    return gpus_.add(stream, [this, what, device] {
      std::uint64_t sum = seed_of(what);
      for (const std::uint16_t needed : sources_[what.source].graph[what.instruction].waits_for)
        sum = mix_seed(sum ^ memory_[device][at(what, needed)]);
      const bool to_host = kind(what.source, what.instruction) == Kind::Bring;
      (to_host ? host_ : memory_)[device][at(what, what.instruction)] = sum;
    });
  }
  static std::uint64_t seed_of(const InstanceId& what) {
    return mix_seed(what.frame << 32 | std::uint64_t{what.source} << 16 | what.instruction);
  }
  std::uint32_t at(const InstanceId& what, std::uint16_t instruction) const {
    return first_[what.source] + what.slot * sources_[what.source].graph.size() + instruction;
  }

  const std::vector<CellPlan>& sources_;
  test::ImaginaryDevices& gpus_;
  std::vector<std::uint32_t> first_;
  std::uint32_t size_ = 0;
  std::uint64_t launches_ = 0;
  // [device]. What one brings to the host has a place of its own there: it may do so late.
  std::vector<std::vector<std::uint64_t>> memory_, host_;
};

inline std::vector<std::string_view> names(const Graph& graph) {
  return std::vector<std::string_view>(graph.opcodes(), "op");
}

// Frames of some sources under a policy on imaginary devices.
class Rig {
 public:
  /// sources: 0: one to three.
  Rig(std::uint64_t seed, std::string_view policy, std::uint16_t devices, Tick patience = kLong,
      std::uint32_t sources = 0)
      : dice_(seed),
        ring_(dice_.between(1, 5)),
        sources_(make_cells(sources)),
        board_(boards(), devices),
        policy_(make_pool_policy(policy)),
        made_(make_gpus(devices, CudaExecutor::needs(board_), seed)),
        gpus_(*made_.devices),
        work_(sources_, ring_, gpus_),
        executor_(board_, *made_.driver, work_, {.patience = patience}) {
    for (const CellPlan& source : sources_) arrivals_.emplace_back(source.graph, ring_);
    scheduler_ = std::make_unique<Scheduler>(board_, arrivals_, *policy_, executor_);
    for (std::uint16_t d = 0; d < devices; ++d) board_.device(d).sms = 108;
    for (std::uint16_t c = 0; c < sources_.size(); ++c) set_profile(c);
  }
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;
  /// A driver waits for devices at its end: what they then do needs the rest of this.
  ~Rig() {
    for (std::uint16_t d = 0; d < gpus_.count(); ++d) gpus_.mend(d);
    made_.driver.reset();
  }

  /// Frames of every source until each had so many; `meanwhile` is asked now and then.
  template <typename Meanwhile>
  void run(std::uint64_t frames, Meanwhile&& meanwhile) {
    const Tick late = gpus_.time() + 20 * kSecond;
    std::vector<std::uint64_t> next(sources_.size());
    while (done_ + dropped_ + refused_ < frames * sources_.size()) {
      if (gpus_.time() > late) break;  // the test sees how many are missing
      for (std::uint16_t c = 0; c < sources_.size(); ++c)
        if (next[c] < frames && dice_.chance(0.1) && empty(c, next[c])) begin({next[c]++, c});
      gpus_.pass(kMicrosecond);
      bring_items();
      meanwhile(*this);
      for (std::uint32_t n = dice_.below(20); n > 0 && gpus_.step(); --n) {
      }
      step();
    }
  }
  void run(std::uint64_t frames) {
    run(frames, [](Rig&) {});
  }

  Dice& dice() { return dice_; }
  test::ImaginaryDevices& gpus() { return gpus_; }
  Sums& work() { return work_; }
  CudaExecutor& executor() { return executor_; }
  bool up(std::uint16_t device) const { return board_.devices()[device].up; }
  std::size_t sources() const { return sources_.size(); }
  std::uint64_t done() const { return done_; }
  std::uint64_t dropped() const { return dropped_; }
  std::uint64_t refused() const { return refused_; }
  std::uint64_t wrong() const { return wrong_; }
  std::uint64_t again() const { return again_; }
  /// What a dead device alone had, and nobody reads any more, may be gone.
  void expect_faults() { faulty_ = true; }
  /// Whether samples of the first source's frames do not come.
  void withhold(bool yes) { withheld_ = yes; }
  /// Instructions of all frames that may be under way.
  std::size_t places() const {
    std::size_t places = 0;
    for (const CellPlan& source : sources_) places += ring_ * source.graph.size();
    return places;
  }
  /// Instructions of one frame of each source, and those of them that others read.
  std::size_t instructions() const { return places() / ring_; }
  std::size_t read_by_others() const {
    std::size_t count = 0;
    for (const CellPlan& source : sources_)
      for (std::uint16_t i = 0; i < source.graph.size(); ++i)
        count += source.graph[i].successors.empty() ? 0 : 1;
    return count;
  }
  /// Gives up what is under way in one place of a source's ring.
  void abandon() {
    const auto source = static_cast<std::uint16_t>(dice_.below(sources_.size()));
    scheduler_->abandon({source, static_cast<std::uint16_t>(dice_.below(ring_))}, gpus_.time());
  }

 private:
  std::vector<CellPlan> make_cells(std::uint32_t count) {
    std::vector<CellPlan> sources;
    for (std::uint32_t n = count != 0 ? count : dice_.between(1, 3); n > 0; --n)
      sources.push_back(random_cell(dice_, kDeadline));
    return sources;
  }
  std::vector<SourceWriter> boards() const {
    std::vector<SourceWriter> boards;
    for (const CellPlan& source : sources_)
      boards.emplace_back(source.graph, ring_, names(source.graph), std::vector<std::uint32_t>{});
    return boards;
  }
  void set_profile(std::uint16_t c) {
    std::vector<OnType> profile(sources_[c].graph.opcodes());
    for (std::uint16_t i = 0; i < sources_[c].graph.size(); ++i) {
      OnType& on = profile[sources_[c].graph[i].opcode];
      on.footprint = sources_[c].work[i].footprint;
      on.sms = on.footprint.ctas != 0 ? 1 + dice_.below(108) : 0;
      on.alone = 1 + dice_.below(50'000);
      on.time.start(on.alone);
      on.copy = dice_.below(20'000);
    }
    board_[c].set_profile(std::move(profile), 1e6);
  }
  bool empty(std::uint16_t source, std::uint64_t frame) const {
    return board_.frame({source, board_[source].slot(frame)}).state == FrameStatus::State::Empty;
  }
  void begin(FrameId frame) {
    const std::uint16_t slot = board_[frame.source].slot(frame.frame);
    arrivals_[frame.source].clear(slot);
    if (!scheduler_->admit(frame, gpus_.time(), all_chunks(frame.source), gpus_.time())) return;
    for (std::uint16_t i = 0; i < sources_[frame.source].graph.size(); ++i)
      if (sources_[frame.source].graph[i].feed == Feed::Arrivals)
        items_.push_back({{frame.source, slot}, i});
  }
  std::vector<std::uint32_t> all_chunks(std::uint16_t source) const {
    return std::vector<std::uint32_t>(sources_[source].graph.size(), 1);
  }
  struct Item {
    FrameRef at;
    std::uint16_t instruction;
  };
  void bring_items() {
    while (!items_.empty() && dice_.chance(0.7)) {
      std::swap(items_[dice_.below(items_.size())], items_.back());
      const Item item = items_.back();
      if (withheld_ && item.at.source == 0) continue;
      items_.pop_back();
      arrivals_[item.at.source].add(item.at.slot, item.instruction, 0, 1);
      scheduler_->fed(item.at, item.instruction, gpus_.time());
    }
  }
  void step() {
    scheduler_->step(gpus_.time());
    scheduler_->publish();
    for (std::uint16_t c = 0; c < sources_.size(); ++c) {
      std::array<FrameEvent, 16> events;
      while (const std::size_t count = scheduler_->poll(c, events))
        for (const FrameEvent& event : std::span(events).first(count)) take(event);
    }
  }
  void take(const FrameEvent& event) {
    if (event.kind == Kind::Refused) ++refused_;
    if (event.kind != Kind::Done && event.kind != Kind::Dropped) return;
    ++(event.kind == Kind::Done ? done_ : dropped_);
    const FrameRef at{event.source, event.slot};
    if (event.kind == Kind::Done) check(at);
    std::erase_if(items_, [&](const Item& item) {
      return item.at.source == at.source && item.at.slot == at.slot;
    });
    scheduler_->release(at);
  }
  void check(FrameRef at) {
    const FrameStatus& frame = board_.frame(at);
    const Graph& graph = sources_[at.source].graph;
    for (std::uint16_t i = 0; i < graph.size(); ++i) {
      again_ += board_[at.source].status(at.slot, i).runs;
      const InstanceId what{frame.frame, at.source, at.slot, i, frame.generation};
      if (work_.kind(at.source, i) == DeviceWork::Kind::Bring || !faulty_)
        wrong_ += !work_.right(what, board_[at.source].status(at.slot, i).device);
    }
  }

  Dice dice_;
  std::uint32_t ring_;
  std::vector<CellPlan> sources_;
  ScoreboardWriter board_;
  std::unique_ptr<Policy> policy_;
  Gpus made_;
  test::ImaginaryDevices& gpus_;
  Sums work_;
  CudaExecutor executor_;
  std::vector<Arrivals> arrivals_;
  std::unique_ptr<Scheduler> scheduler_;
  std::vector<Item> items_;
  std::uint64_t done_ = 0, dropped_ = 0, refused_ = 0, wrong_ = 0, again_ = 0;
  bool faulty_ = false, withheld_ = false;
};

inline void expect_nothing_left(Rig& rig) { EXPECT_EQ(rig.executor().room(), rig.places()); }

}  // namespace carillon::runtime
