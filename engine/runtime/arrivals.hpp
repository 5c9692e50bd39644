// Items that come from outside, as Feed::Arrivals instructions see them: each at most once, in
// order of arrival, from any number of receiver threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned.hpp"
#include "runtime/graph.hpp"
#include "runtime/opcode.hpp"

namespace carillon::runtime {

/// What became of an item that arrived.
enum class Arrival : std::uint8_t {
  Accepted,
  Duplicate,  ///< the item came before
  Late,       ///< it was closed as missing, or its frame is no longer live
  Unknown,    ///< no such Feed::Arrivals instruction, or no such item in this frame
};

/// For every ring slot and Feed::Arrivals instruction: which items came, and their list. An item is
/// taken by setting its bit; the taker appends it. Readers see an entry when it is no longer empty,
/// so there is no counter to raise and no receiver waits for another.
class Arrivals {
 public:
  Arrivals(const Graph& graph, std::uint32_t ring);

  struct Added {
    Arrival arrival;
    bool first;  ///< of its instruction in this frame
  };
  /// Any thread that keeps the slot from being cleared. `count` is this frame's number of items.
  Added add(std::uint16_t slot, std::uint16_t instruction, std::uint32_t item,
            std::uint32_t count) noexcept;
  /// Appends all items that have not come, as missing; returns how many.
  std::uint32_t close(std::uint16_t slot, std::uint16_t instruction, std::uint32_t count) noexcept;
  /// Items that came or were closed.
  std::uint32_t taken(std::uint16_t slot, std::uint16_t instruction) const noexcept;
  /// Empties the slot. Nobody else may be using it.
  void clear(std::uint16_t slot) noexcept;

  /// The instruction's list, in order of arrival; null for Feed::Commits.
  const std::uint16_t* list(std::uint16_t slot, std::uint16_t instruction) const noexcept;
  /// How many of list[first, first + most) can be read now.
  static std::uint32_t available(const std::uint16_t* list, std::uint32_t first,
                                 std::uint32_t most) noexcept;

 private:
  // Per slot and instruction, in 64-bit words, on cache lines of its own: the number taken, the
  // bits, the list.
  struct Place {
    std::uint32_t offset = 0, bits = 0,
                  items = 0;  // words: start, of the bitmap; capacity in items
  };
  std::uint64_t* at(std::uint16_t slot, std::uint16_t instruction) const noexcept {
    return words_ + std::size_t{slot} * slot_words_ + places_[instruction].offset;
  }
  std::uint16_t* items(std::uint16_t slot, std::uint16_t instruction) const noexcept {
    return reinterpret_cast<std::uint16_t*>(at(slot, instruction) + 1 + places_[instruction].bits);
  }
  void append(std::uint16_t slot, std::uint16_t instruction, std::uint16_t entry,
              bool& first) const noexcept;

  std::vector<Place> places_;
  std::size_t slot_words_ = 0;
  AlignedArray<std::uint64_t> storage_;
  std::uint64_t* words_ = nullptr;
};

}  // namespace carillon::runtime
