// Whether a sanitizer watches. Kernels then take up to a hundred times as long.
#pragma once

#include <cstdint>

namespace carillon::test {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kWatched = true;
#else
inline constexpr bool kWatched = false;
#endif

/// Of many cases that are alike, each fourth while a sanitizer watches: it sees the same code in
/// all of them.
constexpr bool left_out(unsigned long which) { return kWatched && which % 4 != 0; }
/// Of so many that are made one after another, how many then.
constexpr std::uint32_t cases(std::uint32_t count) { return kWatched ? count / 4 : count; }

}  // namespace carillon::test
