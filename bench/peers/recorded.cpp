// srsRAN Project 25.10, AVX-512, measured on one core of a Sapphire Rapids server; its licence and
// its build keep it out of ours. docs/performance.md tells how the figures were got. They are
// scaled by this core's clock to the one they were measured at, which leaves out all else that
// differs.
#include "peers/peer.hpp"
#include "support/peaks.hpp"

namespace carillon::bench {
namespace {

struct Record {
  const char *kernel, *shape;
  double mbps;  // of the bits that the kernel's rate counts
  double bits;  // of an item
  double ghz;   // of the core while it was measured
};

// The decoder ran in the same minutes as another kernel whose speed at 4.08 GHz is known: the
// machine was busy, and the clock or what was left of it 12 % lower.
constexpr double kDecoderGhz = 3.6, kQuietGhz = 3.9;
constexpr double kInfo = 22 * 384, kTile = 16;
constexpr Record kRecords[] = {
    {"decode 5 iterations", "BG1 Z=384 R=1/3", 51, kInfo, kDecoderGhz},
    {"decode 10 iterations", "BG1 Z=384 R=1/3", 25, kInfo, kDecoderGhz},
    {"decode 5 iterations", "BG1 Z=384 R=0.92", 255, kInfo, kDecoderGhz},
    {"decode 10 iterations", "BG1 Z=384 R=0.92", 130, kInfo, kDecoderGhz},
    {"encode", "BG1 Z=384", 9200, kInfo, kQuietGhz},
    {"demap and store", "4QAM", 2717, 2 * kTile, kQuietGhz},
    {"demap and store", "16QAM", 2383, 4 * kTile, kQuietGhz},
    {"demap and store", "64QAM", 6769, 6 * kTile, kQuietGhz},
    {"demap and store", "256QAM", 7532, 8 * kTile, kQuietGhz},
};

}  // namespace

std::vector<Rival> recorded(const std::string& kernel, const std::string& shape) {
  std::vector<Rival> found;
  for (const Record& r : kRecords)
    if (kernel == r.kernel && shape == r.shape) {
      char source[48];
      std::snprintf(source, sizeof source, "%.0f Mb/s at %.1f GHz", r.mbps, r.ghz);
      const double ns = r.bits / r.mbps * 1e3 * r.ghz / clock_ghz();
      found.push_back({"srsRAN 25.10 AVX-512", "recorded", {}, 1, ns, source});
    }
  return found;
}

}  // namespace carillon::bench
