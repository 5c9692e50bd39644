// Imaginary devices: streams of closures that are carried out one at a time, in any order that real
// ones could have. They refuse, are lost, hang and come back when a test says so, and share
// hardware queues. Two faces are put on them: cuda::Driver (fake_gpus.hpp), and the CUDA runtime
// below a real driver (fake_cudart.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/cuda/status.hpp"
#include "base/random.hpp"
#include "base/tick.hpp"

namespace carillon::test {

/// What becomes of a device that refuses an order: it is lost, or as well as before.
enum class Refusal : std::uint8_t { Loses, Once };

class ImaginaryDevices {
 public:
  static constexpr int kLost = 719;   // cudaErrorLaunchFailure: the context is of no use any more
  static constexpr int kShort = 701;  // cudaErrorLaunchOutOfResources
  static constexpr std::uint16_t kNobody = 0xffff;

  ImaginaryDevices(std::uint16_t devices, std::uint64_t seed) : random_(seed), devices_(devices) {}
  ImaginaryDevices(const ImaginaryDevices&) = delete;
  ImaginaryDevices& operator=(const ImaginaryDevices&) = delete;
  virtual ~ImaginaryDevices() = default;

  std::uint16_t count() const { return static_cast<std::uint16_t>(devices_.size()); }

  /// All that it was doing is lost, and it takes no orders until it is mended and asked for.
  void lose(std::uint16_t device) {
    devices_[device].lost = true;
    devices_[device].mended = false;
    for (const auto& stream : streams_)
      if (stream->device == device) stream->orders.clear();
  }
  void hang(std::uint16_t device) { devices_[device].hung = true; }
  /// It would answer if it were asked; one that hung goes on.
  void mend(std::uint16_t device) {
    devices_[device].mended = true;
    devices_[device].hung = false;
  }
  /// Which order from now on, of all devices, the device that gets it refuses.
  void refuse_after(std::uint32_t orders, Refusal refusal = Refusal::Loses) {
    refuse_after_ = orders;
    refusal_ = refusal;
  }
  /// How many orders were given so far; how often an event was to be recorded, and waited for.
  std::uint64_t orders() const { return given_; }
  std::uint64_t records() const { return records_; }
  std::uint64_t waits() const { return waits_; }
  /// How many orders were refused once so far.
  std::uint32_t refusals() const { return refusals_; }
  /// Whether it is there; one that was lost and mended is, from now on.
  bool come_back(std::uint16_t device) {
    devices_[device].lost &= !devices_[device].mended;
    return !devices_[device].lost;
  }

  /// Who shares hardware queues: the streams of each device, or of all that are parts of one card.
  enum class Card : std::uint8_t { Each, One };
  /// From now on streams have so many queues: an order waits for all that were given to its queue
  /// before it (CUDA_DEVICE_MAX_CONNECTIONS). Before orders are given.
  void share_queues(std::uint32_t queues, Card card) {
    shared_ = true;
    for (const auto& stream : streams_)
      stream->queue = (card == Card::One ? 0 : stream->device * queues) +
                      static_cast<std::uint32_t>(random_.next() % queues);
  }

  /// Appends to a stream; called from launches. A device that reads another's memory is lost when
  /// that one is.
  virtual cuda::Status add(cuda::Stream stream, std::function<void()> work,
                           std::uint16_t reads = kNobody) {
    return give(*reinterpret_cast<Orders*>(stream), {.work = std::move(work), .reads = reads});
  }
  /// Carries out one order that may be next, which takes a microsecond; false: there is none.
  bool step() {
    pass(kMicrosecond);
    const std::size_t first = random_.next() % streams_.size();
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      Orders& stream = *streams_[(first + i) % streams_.size()];
      if (!may(stream)) continue;
      const Order order = std::move(stream.orders.front());
      stream.orders.pop_front();
      if (order.reads != kNobody && devices_[order.reads].lost)
        lose(stream.device);
      else if (order.work)
        order.work();
      return true;
    }
    return false;
  }

  /// Whether it has done all that it was ever given.
  bool idle(std::uint16_t device) const {
    return std::ranges::none_of(streams_, [&](const auto& stream) {
      return stream->device == device && !stream->orders.empty();
    });
  }

  /// Time is theirs: what a test does with them is the same each time, however slow the machine.
  Tick time() const noexcept { return time_; }
  void pass(Tick time) { time_ += time; }

 protected:
  struct Order {
    std::function<bool()> may = {};  // empty: always
    std::function<void()> work = {};
    std::uint16_t reads = kNobody;
    std::uint64_t number = 0;  // in which it was given
  };
  // A stream.
  struct Orders {
    std::uint16_t device = 0;
    std::uint32_t queue = 0;
    std::deque<Order> orders = {};
  };
  struct Event {
    std::uint16_t device = 0;
    std::uint64_t asked = 0, reached = 0;
  };

  Orders& make_stream(std::uint16_t device) {
    return *streams_.emplace_back(std::make_unique<Orders>(Orders{.device = device}));
  }

  bool lost(std::uint16_t device) const { return devices_[device].lost; }

  // Whether it takes what it is asked for now.
  cuda::Status take(std::uint16_t device) noexcept {
    if (refuse_after_ != 0 && --refuse_after_ == 0) {
      if (refusal_ == Refusal::Once && !lost(device)) {
        ++refusals_;
        return cuda::Status(kShort);
      }
      lose(device);
    }
    return lost(device) ? cuda::Status(kLost) : cuda::Status();
  }
  cuda::Status give(Orders& stream, Order order) noexcept {
    const cuda::Status taken = take(stream.device);
    if (!taken.ok()) return taken;
    order.number = ++given_;
    stream.orders.push_back(std::move(order));
    return taken;
  }
  cuda::Status record(Event& event, Orders& stream) noexcept {
    const std::uint64_t count = event.asked + 1;
    const cuda::Status taken =
        give(stream, {.work = [&event, count] { event.reached = std::max(event.reached, count); }});
    if (taken.ok()) event.asked = count;
    ++records_;
    return taken;
  }
  // For what was last recorded, by now.
  cuda::Status wait_for(const Event& event, Orders& stream) noexcept {
    ++waits_;
    return give(stream, {.may = [&event, count = event.asked] { return event.reached >= count; }});
  }
  // Values count up and around.
  static bool reached(std::uint32_t told, std::uint32_t value) {
    return static_cast<std::int32_t>(told - value) >= 0;
  }

  Random random_;

 private:
  struct Device {
    bool lost = false, mended = false, hung = false;
  };

  bool may(const Orders& stream) const {
    const Device& device = devices_[stream.device];
    if (stream.orders.empty() || device.lost || device.hung) return false;
    const Order& order = stream.orders.front();
    if (order.may && !order.may()) return false;
    return !shared_ || std::ranges::none_of(streams_, [&](const auto& other) {
      return other->queue == stream.queue && !other->orders.empty() &&
             other->orders.front().number < order.number;
    });
  }

  std::vector<Device> devices_;
  std::vector<std::unique_ptr<Orders>> streams_;
  bool shared_ = false;
  std::uint64_t given_ = 0, records_ = 0, waits_ = 0;
  std::uint32_t refuse_after_ = 0, refusals_ = 0;
  Refusal refusal_ = Refusal::Loses;
  Tick time_ = kSecond;
};

}  // namespace carillon::test
