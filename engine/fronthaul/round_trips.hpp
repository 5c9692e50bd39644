// Round trips of samples over a link: what the network alone costs, with no baseband processing
// (the paper's section 8.3). One end, which stands for the radio unit, sends the samples of a
// subframe every so often; the other, which stands for the baseband unit, sends them back.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "base/tick.hpp"
#include "fronthaul/transport.hpp"
#include "fronthaul/udp.hpp"

namespace carillon::fronthaul {

struct RoundTripPlan {
  double per_s = 50e6 / 368;           // exchanges
  std::uint64_t exchanges = 0;         // in all, at most 2^32
  std::uint32_t samples = 368;         // of an exchange
  std::uint32_t packet_samples = 368;  // of them in a packet at most: what the MTU allows
  Tick patience = kSecond;             // for the last to come back

  std::uint32_t packets() const { return (samples + packet_samples - 1) / packet_samples; }
  std::uint32_t packet_bytes() const;  // of the longest
};

/// Sends samples at a constant rate and notes when they are back. An exchange is over when the last
/// of its packets is.
class RoundTrips {
 public:
  static constexpr Tick kNotBack = -1;

  /// `transport` outlives this. Throws std::runtime_error on a plan that cannot be.
  RoundTrips(Transport& transport, const RoundTripPlan& plan);
  ~RoundTrips();

  /// In the calling thread, which spins; until all are back, patience ends or stop() was called.
  void run() noexcept;
  void stop() noexcept { stop_.store(true, std::memory_order_relaxed); }

  /// Exchanges that were sent so far. Any thread.
  std::uint64_t sent() const noexcept { return sent_.load(std::memory_order_relaxed); }
  // After run():
  std::uint64_t returned() const { return returned_; }
  std::uint64_t damaged() const { return damaged_; }  // packets that came back changed
  /// How long after its time the last exchange was sent, and the latest of all.
  Tick behind() const { return behind_; }
  Tick most_behind() const { return most_behind_; }
  /// From the first to the last sending.
  Tick took() const { return took_; }
  /// Of each exchange that was sent: from just before the sending call until the receiving call
  /// returned; kNotBack.
  std::span<const Tick> trips() const { return std::span(trips_).first(sent()); }

 private:
  std::uint32_t piece_samples(std::uint32_t piece) const;
  void prepare(std::uint64_t count) noexcept;
  bool send(Tick now) noexcept;
  std::size_t receive() noexcept;

  Transport& transport_;
  const RoundTripPlan plan_;
  std::vector<std::int16_t> samples_;
  std::vector<Outgoing> outgoing_;  // of exchanges that are due
  std::size_t went_ = 0;            // of them
  std::vector<Tick> sent_at_, trips_;
  std::vector<std::uint8_t> pieces_;  // that are back
  std::atomic<std::uint64_t> sent_{0};
  std::atomic<bool> stop_{false};
  std::uint64_t returned_ = 0, damaged_ = 0;
  Tick begin_ = 0, behind_ = 0, most_behind_ = 0, took_ = 0;
};

/// The other side: a thread that sends every packet back.
class Echo {
 public:
  struct Options {
    int core = -1;          // the thread's; -1: any
    bool sleeping = false;  // while nothing comes, instead of looking again and again
    /// Emulates interrupt coalescing: packets are released together, so long after the first of
    /// them came. 0: at once.
    Tick held = 0;
  };

  /// `transport` outlives this.
  Echo(UdpTransport& transport, const Options& options);
  Echo(const Echo&) = delete;
  Echo& operator=(const Echo&) = delete;
  ~Echo() { stop(); }
  void stop() noexcept;

  // After stop():
  std::uint64_t packets() const { return packets_; }
  std::uint64_t bursts() const { return bursts_; }  // in which they were sent back
  Tick cpu_time() const { return cpu_time_; }
  Tick elapsed() const { return elapsed_; }

 private:
  void run() noexcept;
  void send_back() noexcept;
  std::size_t send_batch(std::span<const Received> came) noexcept;

  UdpTransport& transport_;
  const Options options_;
  std::vector<Received> came_;  // and wait for their release
  std::size_t count_ = 0;
  Tick first_ = 0;
  std::uint64_t packets_ = 0, bursts_ = 0;
  Tick cpu_time_ = 0, elapsed_ = 0;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace carillon::fronthaul
