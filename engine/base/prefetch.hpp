// Memory that will be needed, asked for while there is something else to do.
#pragma once

#include <cstddef>

namespace carillon {

/// Asks for the cache lines of every 64th byte of `bytes` from `at` on, into the L2 cache, before
/// they are stored to: a store that misses holds up all later ones, and a core has room for few.
[[gnu::always_inline]] inline void fetch_to_store(const void* at, std::size_t bytes) noexcept {
  for (std::size_t line = 0; line < bytes; line += 64)
    __builtin_prefetch(static_cast<const char*>(at) + line, 0, 2);
}

}  // namespace carillon
