#include "fronthaul/downlink.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace carillon::fronthaul {

DownlinkSender::DownlinkSender(const Layout& layout, Transport& transport, std::uint32_t slots)
    : layout_(layout),
      transport_(transport),
      count_(std::size_t{slots} * layout.packets(Carries::Downlink)),
      buffers_(std::make_unique<std::atomic<std::uint32_t>[]>(count_)) {
  for (std::size_t i = 0; i < count_; ++i) {
    const std::uint32_t buffer = transport.acquire();
    if (buffer == kNoBuffer) {
      for (std::size_t j = 0; j < i; ++j) {
        const std::uint32_t taken = buffers_[j].load(std::memory_order_relaxed);
        transport.abandon({&taken, 1});
      }
      throw std::runtime_error("the fronthaul has " + std::to_string(i) +
                               " free packet buffers but " + std::to_string(slots) +
                               " downlink frames in flight need " + std::to_string(count_));
    }
    buffers_[i].store(buffer, std::memory_order_relaxed);
  }
}

DownlinkSender::~DownlinkSender() {
  for (std::size_t i = 0; i < count_; ++i) {
    const std::uint32_t buffer = buffers_[i].load(std::memory_order_relaxed);
    transport_.abandon({&buffer, 1});
  }
}

std::uint32_t DownlinkSender::send(std::uint32_t wire_frame, std::uint32_t slot,
                                   std::uint32_t symbol) noexcept {
  constexpr std::uint32_t kBatch = 64;
  std::array<Outgoing, kBatch> batch;
  std::atomic<std::uint32_t>* const buffers = &buffers_[place(slot, symbol)];
  std::uint32_t sent = 0;
  for (std::uint32_t first = 0; first < layout_.antennas(); first += kBatch) {
    const std::uint32_t count = std::min(kBatch, layout_.antennas() - first);
    for (std::uint32_t i = 0; i < count; ++i)
      batch[i] = {{wire_frame, symbol, layout_.cell(), first + i},
                  layout_.packet_bytes(symbol),
                  buffers[first + i].load(std::memory_order_relaxed),
                  0,
                  false};
    sent += static_cast<std::uint32_t>(transport_.send({batch.data(), count}));
    for (std::uint32_t i = 0; i < count; ++i)
      buffers[first + i].store(batch[i].buffer, std::memory_order_relaxed);
  }
  sent_.fetch_add(sent, std::memory_order_relaxed);
  unsent_.fetch_add(layout_.antennas() - sent, std::memory_order_relaxed);
  return sent;
}

}  // namespace carillon::fronthaul
