#include "base/tick.hpp"

#include <x86intrin.h>

#include <ctime>
#include <fstream>
#include <string>

namespace carillon {
namespace {

Tick monotonic() noexcept {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return Tick{t.tv_sec} * kSecond + t.tv_nsec;
}

bool tsc_is_trusted() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("flags")) return line.find(" nonstop_tsc") != std::string::npos;
  return false;
}

// Nanoseconds per count as a fixed-point number with 32 fractional bits.
struct Calibration {
  bool trusted = tsc_is_trusted();
  Tick origin = 0;
  std::uint64_t first = 0;
  std::uint64_t scale = 0;

  Calibration() {
    if (!trusted) return;
    origin = monotonic();
    first = __rdtsc();
    Tick t = origin;
    std::uint64_t c = first;
    while (t - origin < 20 * kMillisecond) {  // 20 ms: about 1 ppm
      t = monotonic();
      c = __rdtsc();
    }
    scale = static_cast<std::uint64_t>(
        (static_cast<unsigned __int128>(static_cast<std::uint64_t>(t - origin)) << 32) /
        (c - first));
  }
};

const Calibration calibration;

}  // namespace

Tick now() noexcept {
  if (!calibration.trusted) return monotonic();
  const std::uint64_t counts = __rdtsc() - calibration.first;
  return calibration.origin +
         static_cast<Tick>((static_cast<unsigned __int128>(counts) * calibration.scale) >> 32);
}

bool now_is_tsc() noexcept { return calibration.trusted; }

}  // namespace carillon
