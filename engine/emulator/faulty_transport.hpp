// A transport that loses, repeats, reorders and forges packets on their way out, and counts exactly
// what it did: what the receiver must then have counted.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "fronthaul/layout.hpp"
#include "fronthaul/transport.hpp"

namespace carillon::emulator {

/// Probabilities per packet.
struct Faults {
  double loss = 0, duplicate = 0, reorder = 0;
  double garbage = 0;          // one forged packet more
  std::uint32_t distance = 6;  // a reordered or repeated packet comes at most this many later
  std::uint64_t seed = 1;
};

struct FaultCounters {
  std::uint64_t packets = 0;  // that were to be sent
  std::uint64_t lost = 0, duplicated = 0, reordered = 0;
  std::array<std::uint64_t, fronthaul::kRejects> forged{};  // by what is wrong with them
};

/// Wraps the radio's end. One sending thread.
class FaultyTransport final : public fronthaul::Transport {
 public:
  FaultyTransport(const fronthaul::Layout& layout, fronthaul::Transport& inner, Faults faults);
  ~FaultyTransport() override;

  std::size_t send(std::span<fronthaul::Outgoing> packets) noexcept override;
  /// Sends what is still held back; false if some of it could not go.
  bool flush() noexcept;
  const FaultCounters& faults() const { return counters_; }

  std::uint32_t receivers() const override { return inner_.receivers(); }
  std::uint32_t peer_receivers() const override { return inner_.peer_receivers(); }
  std::size_t receive(std::uint32_t receiver,
                      std::span<fronthaul::Received> out) noexcept override {
    return inner_.receive(receiver, out);
  }
  void recycle(std::span<const std::uint32_t> buffers) noexcept override {
    inner_.recycle(buffers);
  }
  std::uint32_t acquire() noexcept override { return inner_.acquire(); }
  void abandon(std::span<const std::uint32_t> buffers) noexcept override {
    inner_.abandon(buffers);
  }
  std::byte* memory(std::uint32_t buffer) noexcept override { return inner_.memory(buffer); }
  fronthaul::NetworkTime receive_time(std::uint32_t receiver) const noexcept override {
    return inner_.receive_time(receiver);
  }
  fronthaul::NetworkTime send_time() const noexcept override { return inner_.send_time(); }
  std::uint32_t available() const noexcept override { return inner_.available(); }
  std::uint32_t buffers() const noexcept override { return inner_.buffers(); }
  std::vector<std::string> notes() const override { return inner_.notes(); }

 private:
  struct Held {
    fronthaul::Outgoing packet;
    std::uint32_t countdown;
  };
  static constexpr std::size_t kMostHeld = 64;

  bool chance(double probability);
  std::uint32_t below(std::uint32_t bound);
  bool hold(const fronthaul::Outgoing& packet) noexcept;
  void let_go(std::size_t index) noexcept;
  void count_down() noexcept;
  bool forward(fronthaul::Outgoing& packet) noexcept;
  void forge(const fronthaul::Outgoing& model) noexcept;
  void spoil(fronthaul::Outgoing& packet);

  const fronthaul::Layout& layout_;
  fronthaul::Transport& inner_;
  const Faults faults_;
  std::mt19937_64 random_;
  std::vector<Held> held_;
  FaultCounters counters_;
};

}  // namespace carillon::emulator
