// Imaginary devices under cuda::Driver: streams of closures that are carried out one at a time, in
// any order that real ones could have. They fail, hang and come back when a test says so.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/cuda/driver.hpp"
#include "base/random.hpp"
#include "base/tick.hpp"

namespace carillon::test {

class FakeGpus : public cuda::Driver {
 public:
  FakeGpus(std::uint16_t devices, const cuda::DriverOptions& options, std::uint64_t seed)
      : random_(seed), gpus_(devices) {
    for (Gpu& gpu : gpus_) {
      for (std::uint32_t s = 0; s < options.first + options.urgent + options.background; ++s)
        gpu.streams.push_back(std::make_unique<Orders>());
      gpu.marks.resize(options.words);
      gpu.words.resize(options.words);
    }
  }

  static constexpr int kGone = 46;  // cudaErrorDevicesUnavailable

  /// All that it was doing is lost, and it takes no orders until it is mended and revived.
  void lose(std::uint16_t device) {
    gpus_[device].lost = true;
    gpus_[device].mended = false;
    for (auto& orders : gpus_[device].streams) orders->queue.clear();
  }
  void hang(std::uint16_t device) { gpus_[device].hung = true; }
  /// It would answer if it were asked; one that hung goes on.
  void mend(std::uint16_t device) {
    gpus_[device].mended = true;
    gpus_[device].hung = false;
  }
  /// Which order from now on, of all devices, the device that gets it refuses; then it is lost.
  void refuse_after(std::uint32_t orders) { refuse_after_ = orders; }

  static constexpr std::uint16_t kNobody = 0xffff;
  /// Appends to a stream; called from launches. A device that reads another's memory is lost when
  /// that one is.
  void add(cuda::Stream stream, std::function<void()> work, std::uint16_t reads = kNobody) {
    reinterpret_cast<Orders*>(stream)->queue.push_back({.teller = reads, .work = std::move(work)});
  }
  /// Carries out one order that may be next, which takes a microsecond; false: there is none.
  bool step() {
    pass(kMicrosecond);
    const std::size_t streams = gpus_[0].streams.size(), all = gpus_.size() * streams;
    const std::size_t first = random_.next() % all;
    Gpu* gpu = nullptr;
    Orders* orders = nullptr;
    for (std::size_t i = 0; i < all && orders == nullptr; ++i) {
      gpu = &gpus_[(first + i) % all / streams];
      Orders* const its = gpu->streams[(first + i) % streams].get();
      if (!its->queue.empty() && !gpu->lost && !gpu->hung && may(*gpu, its->queue.front()))
        orders = its;
    }
    if (orders == nullptr) return false;
    Order order = std::move(orders->queue.front());
    orders->queue.pop_front();
    if (order.kind == Order::Kind::Work && order.teller != kNobody && gpus_[order.teller].lost)
      lose(static_cast<std::uint16_t>(gpu - gpus_.data()));
    else
      carry_out(*gpu, order);
    return true;
  }

  /// Time is theirs: what a test does with them is the same each time, however slow the machine.
  Tick now() const noexcept override { return time_; }
  void pass(Tick time) { time_ += time; }

  std::uint16_t devices() const override { return static_cast<std::uint16_t>(gpus_.size()); }
  cuda::Stream stream(std::uint16_t device, std::uint32_t stream) const noexcept override {
    return reinterpret_cast<cuda::Stream>(gpus_[device].streams[stream].get());
  }
  cuda::Status use(std::uint16_t device) noexcept override { return take(device); }
  cuda::Status mark(std::uint16_t d, std::uint32_t s, std::uint32_t mark) noexcept override {
    const std::uint64_t count = ++gpus_[d].marks[mark].asked;
    return order(d, s, {.kind = Order::Kind::Mark, .index = mark, .value = count});
  }
  cuda::Status wait(std::uint16_t d, std::uint32_t s, std::uint32_t mark) noexcept override {
    const std::uint64_t count = gpus_[d].marks[mark].asked;
    return order(d, s, {.kind = Order::Kind::Wait, .index = mark, .value = count});
  }
  cuda::Status tell(std::uint16_t d, std::uint32_t s, std::uint32_t word,
                    std::uint32_t value) noexcept override {
    return order(d, s, {.kind = Order::Kind::Tell, .index = word, .value = value});
  }
  cuda::Status await(std::uint16_t d, std::uint32_t s, std::uint16_t teller, std::uint32_t word,
                     std::uint32_t value) noexcept override {
    return order(d, s,
                 {.kind = Order::Kind::Await, .teller = teller, .index = word, .value = value});
  }
  std::uint32_t told(std::uint16_t device, std::uint32_t word) const noexcept override {
    return gpus_[device].words[word];
  }
  void release(std::uint16_t device, std::uint32_t word, std::uint32_t value) noexcept override {
    gpus_[device].words[word] = value;
  }
  cuda::Status answers(std::uint16_t device) noexcept override {
    return gpus_[device].lost ? cuda::Status(kGone) : cuda::Status();
  }
  cuda::Status revive(std::uint16_t device) noexcept override {
    Gpu& gpu = gpus_[device];
    if (gpu.lost && !gpu.mended) return cuda::Status(kGone);
    if (gpu.hung) return cuda::kNotReady;
    gpu.lost = false;
    for (const auto& orders : gpu.streams)
      if (!orders->queue.empty()) return cuda::kNotReady;
    return {};
  }

 private:
  struct Order {
    enum class Kind : std::uint8_t { Work, Mark, Wait, Tell, Await };
    Kind kind = Kind::Work;
    std::uint16_t teller = 0;
    std::uint32_t index = 0;
    std::uint64_t value = 0;
    std::function<void()> work = {};
  };
  struct Orders {
    std::deque<Order> queue;
  };
  struct Mark {
    std::uint64_t asked = 0, reached = 0;
  };
  struct Gpu {
    bool lost = false, mended = false, hung = false;
    std::vector<std::unique_ptr<Orders>> streams = {};
    std::vector<Mark> marks = {};
    std::vector<std::uint32_t> words = {};
  };

  cuda::Status take(std::uint16_t device) noexcept {
    if (refuse_after_ != 0 && --refuse_after_ == 0) lose(device);
    return gpus_[device].lost ? cuda::Status(kGone) : cuda::Status();
  }
  cuda::Status order(std::uint16_t device, std::uint32_t stream, Order order) noexcept {
    const cuda::Status taken = take(device);
    if (taken.ok()) gpus_[device].streams[stream]->queue.push_back(std::move(order));
    return taken;
  }
  bool may(const Gpu& gpu, const Order& order) const {
    if (order.kind == Order::Kind::Wait) return gpu.marks[order.index].reached >= order.value;
    if (order.kind != Order::Kind::Await) return true;
    const std::uint32_t word = gpus_[order.teller].words[order.index];
    return static_cast<std::int32_t>(word - static_cast<std::uint32_t>(order.value)) >= 0;
  }
  static void carry_out(Gpu& gpu, const Order& order) {
    switch (order.kind) {
      case Order::Kind::Work: order.work(); break;
      case Order::Kind::Mark: {
        std::uint64_t& reached = gpu.marks[order.index].reached;
        reached = std::max(reached, order.value);
        break;
      }
      case Order::Kind::Tell:
        gpu.words[order.index] = static_cast<std::uint32_t>(order.value);
        break;
      case Order::Kind::Wait:
      case Order::Kind::Await: break;
    }
  }

  Random random_;
  std::vector<Gpu> gpus_;
  std::uint32_t refuse_after_ = 0;
  Tick time_ = kSecond;
};

}  // namespace carillon::test
