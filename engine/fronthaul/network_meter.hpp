// Adds up what the network costs; read while it is written.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/aligned.hpp"
#include "fronthaul/transport.hpp"

namespace carillon::fronthaul {

class alignas(kCacheLine) NetworkMeter {
 public:
  void count(Tick spent, std::size_t packets, std::uint64_t bytes) noexcept {
    (packets > 0 ? busy_ : empty_).fetch_add(spent, std::memory_order_relaxed);
    calls_.fetch_add(1, std::memory_order_relaxed);
    if (packets == 0) return;
    packets_.fetch_add(packets, std::memory_order_relaxed);
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  NetworkTime read() const noexcept {
    return {busy_.load(std::memory_order_relaxed), empty_.load(std::memory_order_relaxed),
            calls_.load(std::memory_order_relaxed), packets_.load(std::memory_order_relaxed),
            bytes_.load(std::memory_order_relaxed)};
  }

 private:
  std::atomic<Tick> busy_{0}, empty_{0};
  std::atomic<std::uint64_t> calls_{0}, packets_{0}, bytes_{0};
};

}  // namespace carillon::fronthaul
