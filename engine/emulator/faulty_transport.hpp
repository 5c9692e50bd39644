// A transport that loses, repeats, reorders and forges packets on their way out, and counts exactly
// what it did: what the receiver must then have counted.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "fronthaul/forwarding.hpp"
#include "fronthaul/layout.hpp"

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
  std::uint64_t reports = 0;  // of what went on air, which pass unharmed; not in `packets`
};

/// Wraps the radio's end. One sending thread.
class FaultyTransport final : public fronthaul::ForwardingTransport {
 public:
  FaultyTransport(const fronthaul::Layout& layout, fronthaul::Transport& inner, Faults faults);
  ~FaultyTransport() override;

  std::size_t send(std::span<fronthaul::Outgoing> packets) noexcept override;
  /// Sends what is still held back; false if some of it could not go.
  bool flush() noexcept;
  const FaultCounters& faults() const { return counters_; }

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
  const Faults faults_;
  std::mt19937_64 random_;
  std::vector<Held> held_;
  FaultCounters counters_;
};

}  // namespace carillon::emulator
