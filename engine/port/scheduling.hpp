// How the frames of a port are scheduled while they come, on the port's own thread: at the base
// station by mac::Scheduler, at the users as the base station says.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "frame/frame.hpp"
#include "mac/scheduler.hpp"
#include "port/control_channel.hpp"
#include "port/exchange.hpp"
#include "port/message.hpp"

namespace carillon::port {

class Scheduling {
 public:
  /// What the port has: the bytes that wait for a user, and how it fills a frame's blocks with
  /// them, once these are known.
  struct Queues {
    std::function<std::uint64_t(std::uint32_t user)> waiting;
    std::function<void(std::uint32_t frame)> fill;
  };

  virtual ~Scheduling() = default;
  /// Schedules what can be, while `newest` is the newest frame that has begun.
  virtual void look(std::uint32_t newest, const Queues& queues) = 0;
  /// A received block.
  virtual void heard(const Message& block) = 0;
  /// All blocks have been: no frame will begin any more.
  virtual void finish() {}
  /// Frames and grants that the exchange did not take; any thread.
  std::uint64_t refused(Refusal why) const noexcept {
    return refused_[static_cast<std::size_t>(why)].load(std::memory_order_relaxed);
  }

 protected:
  Scheduling(Exchange& exchange, ControlChannel& channel)
      : exchange_(exchange), channel_(channel) {}
  /// Whether the frame has these now, counting what was refused.
  bool schedule(std::uint32_t frame, std::span<const std::uint32_t> list);

  Exchange& exchange_;
  ControlChannel& channel_;

 private:
  std::vector<Problem> problems_;
  std::array<std::atomic<std::uint64_t>, kRefusals.size()> refused_{};
};

/// Decides. All outlive it.
class StationScheduling final : public Scheduling {
 public:
  StationScheduling(const frame::Frame& frame, Exchange& exchange, ControlChannel& channel);

  void look(std::uint32_t newest, const Queues& queues) override;
  void heard(const Message& block) override;
  /// Where the users' side has finished before, all that it heard is counted.
  void finish() override;

  /// A user's direction, as it was when this last looked; any thread.
  struct Flow {
    frame::Direction direction{};
    std::uint32_t user = 0;
    mac::FlowCounters counters;
    std::optional<double> snr_db;
    double offset_db = 0;
  };
  std::vector<Flow> flows() const;
  /// So far ahead of the newest frame one is scheduled.
  std::uint32_t lead() const { return lead_; }

 private:
  // Frames of which it is remembered that the users missed them: more than are in flight.
  static constexpr std::size_t kMissed = 128;

  void listen();
  bool users_sent(std::uint32_t frame) const;
  void decide(std::uint32_t frame, const Queues& queues);
  void publish();

  const std::uint32_t users_, lead_;
  mac::Scheduler scheduler_;
  std::uint32_t until_ = 0;                       // the last frame that was decided
  bool any_ = false;                              // … once there is one
  std::optional<ControlChannel::Status> status_;  // of the users
  std::deque<std::uint32_t> missed_;
  mutable std::mutex mutex_;
  std::vector<Flow> flows_;  // guarded by it
};

/// Schedules what the base station granted, and reports what waits. All outlive it.
class UsersScheduling final : public Scheduling {
 public:
  UsersScheduling(const frame::Frame& frame, Exchange& exchange, ControlChannel& channel)
      : Scheduling(exchange, channel), users_(frame.format().users) {}

  void look(std::uint32_t newest, const Queues& queues) override;
  void heard(const Message& block) override;

 private:
  const std::uint32_t users_;
  std::uint32_t settled_ = 0;
  bool any_ = false;
};

}  // namespace carillon::port
