#include "runtime/arrivals.hpp"

#include <algorithm>
#include <atomic>

namespace carillon::runtime {
namespace {

constexpr std::uint16_t kEmpty = 0xffff;
constexpr std::uint32_t kLineWords = kCacheLine / sizeof(std::uint64_t);

template <typename T>
std::atomic_ref<T> shared(T& value) {
  return std::atomic_ref<T>(value);
}

}  // namespace

Arrivals::Arrivals(const Graph& graph, std::uint32_t ring) : places_(graph.size()) {
  std::uint32_t words = 0;
  for (std::uint16_t i = 0; i < graph.size(); ++i) {
    if (graph[i].feed != Feed::Arrivals) continue;
    const std::uint32_t items = graph[i].chunks;
    places_[i] = {words, (items + 63) / 64, items};
    const std::uint32_t used = 1 + places_[i].bits + (items + 3) / 4;
    words += (used + kLineWords - 1) / kLineWords * kLineWords;
  }
  slot_words_ = words;
  storage_ = AlignedArray<std::uint64_t>(slot_words_ * ring);
  words_ = storage_.data();
  for (std::uint32_t slot = 0; slot < ring; ++slot) clear(static_cast<std::uint16_t>(slot));
}

void Arrivals::clear(std::uint16_t slot) noexcept {
  for (std::uint16_t i = 0; i < places_.size(); ++i) {
    if (places_[i].items == 0) continue;
    // Atomic, because a worker may still look at the list through an issue that is over.
    std::uint64_t* words = at(slot, i);
    for (std::uint32_t w = 0; w < 1 + places_[i].bits; ++w) {
      shared(words[w]).store(0, std::memory_order_relaxed);
    }
    std::uint16_t* list = items(slot, i);
    for (std::uint32_t n = 0; n < places_[i].items; ++n) {
      shared(list[n]).store(kEmpty, std::memory_order_relaxed);
    }
  }
}

void Arrivals::append(std::uint16_t slot, std::uint16_t instruction, std::uint16_t entry,
                      bool& first) const noexcept {
  const std::uint64_t place =
      shared(*at(slot, instruction)).fetch_add(1, std::memory_order_relaxed);
  first = place == 0;
  shared(items(slot, instruction)[place]).store(entry, std::memory_order_release);
}

Arrivals::Added Arrivals::add(std::uint16_t slot, std::uint16_t instruction, std::uint32_t item,
                              std::uint32_t count) noexcept {
  const Place& place = places_[instruction];
  if (item >= std::min(count, place.items)) return {Arrival::Unknown, false};
  const std::uint64_t bit = std::uint64_t{1} << (item % 64);
  std::uint64_t& word = at(slot, instruction)[1 + item / 64];
  if ((shared(word).fetch_or(bit, std::memory_order_relaxed) & bit) == 0) {
    bool first = false;
    append(slot, instruction, static_cast<std::uint16_t>(item), first);
    return {Arrival::Accepted, first};
  }
  const auto missing = static_cast<std::uint16_t>(item | kMissing);
  std::uint16_t* list = items(slot, instruction);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (shared(list[i]).load(std::memory_order_relaxed) == missing) return {Arrival::Late, false};
  }
  return {Arrival::Duplicate, false};
}

std::uint32_t Arrivals::close(std::uint16_t slot, std::uint16_t instruction,
                              std::uint32_t count) noexcept {
  std::uint32_t missing = 0;
  count = std::min(count, places_[instruction].items);
  for (std::uint32_t item = 0; item < count; ++item) {
    const std::uint64_t bit = std::uint64_t{1} << (item % 64);
    std::uint64_t& word = at(slot, instruction)[1 + item / 64];
    if ((shared(word).fetch_or(bit, std::memory_order_relaxed) & bit) != 0) continue;
    bool first = false;
    append(slot, instruction, static_cast<std::uint16_t>(item | kMissing), first);
    ++missing;
  }
  return missing;
}

std::uint32_t Arrivals::taken(std::uint16_t slot, std::uint16_t instruction) const noexcept {
  if (places_[instruction].items == 0) return 0;
  return static_cast<std::uint32_t>(shared(*at(slot, instruction)).load(std::memory_order_relaxed));
}

const std::uint16_t* Arrivals::list(std::uint16_t slot, std::uint16_t instruction) const noexcept {
  return places_[instruction].items == 0 ? nullptr : items(slot, instruction);
}

std::uint32_t Arrivals::available(const std::uint16_t* list, std::uint32_t first,
                                  std::uint32_t most) noexcept {
  std::uint32_t count = 0;
  while (count < most) {
    // atomic_ref needs a mutable object, which every list is.
    auto& entry = const_cast<std::uint16_t&>(list[first + count]);
    if (shared(entry).load(std::memory_order_acquire) == kEmpty) break;
    ++count;
  }
  return count;
}

}  // namespace carillon::runtime
