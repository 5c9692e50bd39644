// Whether a sanitizer watches. Kernels then take up to a hundred times as long.
#pragma once

namespace carillon::test {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kWatched = true;
#else
inline constexpr bool kWatched = false;
#endif

/// Of many cases that are alike, each fourth while a sanitizer watches: it sees the same code in
/// all of them.
constexpr bool left_out(unsigned long which) { return kWatched && which % 4 != 0; }

}  // namespace carillon::test
