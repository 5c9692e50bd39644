// The sending side of the baseband unit: the IFFT writes a symbol's samples where they will be sent
// from, then the symbol goes out as one batch of packets.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "fronthaul/layout.hpp"
#include "fronthaul/transport.hpp"

namespace carillon::fronthaul {

class DownlinkSender {
 public:
  /// `slots` frames in flight. Throws std::runtime_error when the transport lacks the buffers.
  /// Layout and transport outlive this.
  DownlinkSender(const Layout& layout, Transport& transport, std::uint32_t slots);
  ~DownlinkSender();

  /// Where antenna's samples of a D symbol go, prefix first. Stays so until the symbol is sent.
  std::int16_t* samples(std::uint32_t slot, std::uint32_t symbol, std::uint32_t antenna) noexcept {
    return transport_.samples(
        buffers_[place(slot, symbol) + antenna].load(std::memory_order_relaxed));
  }
  /// Sends the symbol's packets; returns how many went (antennas(), unless the network refuses).
  /// `wire_frame` as the radio counts (UplinkIngest::wire_frame). Different symbols from different
  /// threads at once; a symbol of a slot by one at a time.
  std::uint32_t send(std::uint32_t wire_frame, std::uint32_t slot, std::uint32_t symbol) noexcept;

  /// Packets sent so far, and packets that the network would not take.
  std::uint64_t sent() const noexcept { return sent_.load(std::memory_order_relaxed); }
  std::uint64_t unsent() const noexcept { return unsent_.load(std::memory_order_relaxed); }

 private:
  std::size_t place(std::uint32_t slot, std::uint32_t symbol) const noexcept {
    return (std::size_t{slot} * layout_.symbols(Carries::Downlink).size() +
            layout_.symbols()[symbol].ordinal) *
           layout_.antennas();
  }

  const Layout& layout_;
  Transport& transport_;
  const std::size_t count_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> buffers_;  // [slot][D ordinal][antenna]
  std::atomic<std::uint64_t> sent_{0}, unsent_{0};
};

}  // namespace carillon::fronthaul
