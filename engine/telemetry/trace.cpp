#include "telemetry/trace.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace carillon::telemetry {

TraceRing::TraceRing(std::size_t capacity)
    : words_(capacity == 0 ? 0 : std::bit_ceil(std::max<std::size_t>(capacity, 2)) * kWords),
      mask_(capacity == 0 ? 0 : words_.size() / kWords - 1) {}

std::size_t TraceRing::read(Cursor& cursor, std::span<TraceEvent> out) const noexcept {
  if (mask_ == 0) return 0;
  const std::uint64_t written = written_.load(std::memory_order_acquire);
  const auto skip_to = [&](std::uint64_t oldest) {
    if (cursor.next >= oldest) return;
    cursor.lost += oldest - cursor.next;
    cursor.next = oldest;
  };
  if (written > mask_ + 1) skip_to(written - (mask_ + 1));
  const std::size_t count = std::min<std::size_t>(out.size(), written - cursor.next);
  const std::uint64_t first = cursor.next;
  for (std::size_t i = 0; i < count; ++i) {
    std::array<std::uint64_t, kWords> words;
    for (std::size_t w = 0; w < kWords; ++w) {
      // Acquire: a word of a later event brings with it that event's claim, checked below.
      auto& word = const_cast<std::uint64_t&>(words_[((first + i) & mask_) * kWords + w]);
      words[w] = std::atomic_ref(word).load(std::memory_order_acquire);
    }
    out[i] = std::bit_cast<TraceEvent>(words);
  }
  // What the writer claimed meanwhile may be torn: it is lost, and the rest moves up.
  const std::uint64_t claimed = claimed_.load(std::memory_order_relaxed);
  if (claimed > mask_ + 1) skip_to(std::min(claimed - (mask_ + 1), first + count));
  const auto torn = static_cast<std::size_t>(cursor.next - first);
  std::copy(out.begin() + static_cast<std::ptrdiff_t>(torn),
            out.begin() + static_cast<std::ptrdiff_t>(count), out.begin());
  cursor.next = first + count;
  return count - torn;
}

}  // namespace carillon::telemetry
