// Time as the whole system counts it.
#pragma once

#include <cstdint>

namespace carillon {

/// Nanoseconds. An instant is nanoseconds since the machine's start (or since zero in virtual
/// time).
using Tick = std::int64_t;

inline constexpr Tick kMicrosecond = 1'000;
inline constexpr Tick kMillisecond = 1'000'000;
inline constexpr Tick kSecond = 1'000'000'000;

/// The present instant, from the time-stamp counter where the kernel trusts it (`nonstop_tsc`),
/// else from CLOCK_MONOTONIC. About 10 ns; safe from any thread; monotonic across cores.
Tick now() noexcept;

/// True when now() reads the time-stamp counter.
bool now_is_tsc() noexcept;

}  // namespace carillon
