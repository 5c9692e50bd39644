#include "support/peaks.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <utility>

#include "base/aligned.hpp"
#include "base/tick.hpp"
#include "phy/simd/headers.hpp"
#include "support/bench.hpp"

namespace carillon::bench {

using PeakLoop = void (*)();

constexpr int kRounds = 2000;
// Enough independent chains to fill every pipe of any x86 core: latency 4, two a cycle, spared.
constexpr int kChains = 12;

// The loops of peaks.inl, compiled for one instruction set; each does kRounds * kChains operations.
struct PeakLoops {
  double lanes;                      // bytes in a vector
  PeakLoop fp32, fp16, int16, int8;  // fp16 is null where there is none
  std::array<std::pair<const char*, PeakLoop>, 4> single;
  std::array<PeakLoop, 2> edges;  // two ways; the faster one counts
  void (*read)(const std::int8_t* from, std::size_t bytes);
};

}  // namespace carillon::bench

#include "phy/simd/avx2_begin.inl"
//
#include "phy/ldpc/bytes.inl"
//
#include "phy/simd/int16_pairs.inl"
//
#include "support/peaks.inl"
//
#include "phy/simd/end.inl"
//
#include "phy/simd/avx512_begin.inl"
//
#include "phy/ldpc/bytes.inl"
//
#include "phy/simd/int16_pairs.inl"
//
#include "support/peaks.inl"
//
#include "phy/simd/end.inl"
//
#include "phy/simd/avx512fp16_begin.inl"
//
#include "phy/ldpc/bytes.inl"
//
#include "phy/simd/int16_pairs.inl"
//
#include "support/peaks.inl"
//
#include "phy/simd/end.inl"

namespace carillon::bench {
namespace {

const PeakLoops& loops_of(Isa isa) {
  switch (isa) {
    case Isa::Avx2: return phy::avx2::kPeakLoops;
    case Isa::Avx512: return phy::avx512::kPeakLoops;
    case Isa::Avx512Fp16: return phy::avx512fp16::kPeakLoops;
  }
  std::abort();
}

// The fastest of many calls: a peak is what the core can do, not what a busy machine leaves of it.
template <typename Call>
double best_ns(Call&& call) {
  double best = 1e30;
  const Tick end = now() + 200 * kMillisecond;
  do {
    const Tick start = now();
    call();
    best = std::min(best, static_cast<double>(now() - start));
  } while (now() < end);
  return best;
}

// Vector operations per ns.
double rate(PeakLoop loop) {
  static std::map<PeakLoop, double> known;
  const auto [entry, is_new] = known.try_emplace(loop);
  if (is_new) entry->second = kRounds * kChains / best_ns(loop);
  return entry->second;
}

// A multiplication waits for the one before it: three cycles on every x86-64 core with AVX2.
constexpr int kMultiplications = 4000;
void multiply_integers() {
  std::uint64_t x = 3;
  for (int i = 0; i < kMultiplications; ++i) asm volatile("imul %0, %0" : "+r"(x));
}

// Where a core finds what it reads again and again.
struct Level {
  const char* name;
  std::size_t holds;     // footprints up to here
  std::size_t measured;  // with this one
};

// sysconf() is wrong on some virtual machines.
std::size_t cache_bytes(int level, std::size_t otherwise) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
    std::ifstream levels(folder + "/level"), types(folder + "/type"), sizes(folder + "/size");
    int found = 0;
    std::size_t kilobytes = 0;
    std::string type;
    if (levels >> found && types >> type && sizes >> kilobytes && found == level &&
        type != "Instruction")
      return kilobytes << 10;
  }
  return otherwise;
}

// A quarter of a core's own caches is left to other data; of the L3, which cores share, three.
const std::array<Level, 4>& levels() {
  static const std::array<Level, 4> all = [] {
    const std::size_t l1 = cache_bytes(1, 32 << 10), l2 = cache_bytes(2, 512 << 10),
                      l3 = cache_bytes(3, 16 << 20);
    return std::array<Level, 4>{
        {{"L1", l1 / 4 * 3, l1 / 2},
         {"L2", l2 / 4 * 3, l2 / 2},
         {"L3", l3 / 4, l3 / 8},
         {"memory", ~std::size_t{0}, std::max<std::size_t>(256 << 20, 4 * l3)}}};
  }();
  return all;
}

const Level& level_of(std::size_t footprint) {
  return *std::find_if(levels().begin(), levels().end(),
                       [&](const Level& level) { return footprint <= level.holds; });
}

double measure_read(std::size_t footprint) {
  AlignedArray<std::int8_t> array(footprint);
  std::fill(array.begin(), array.end(), std::int8_t{1});  // or all its pages may be the same one
  const auto read = loops_of(available_isas().back()).read;
  const std::size_t times = 1 + (256 << 10) / array.size();
  const double ns = best_ns([&] {
    for (std::size_t i = 0; i < times; ++i) read(array.data(), array.size());
  });
  return static_cast<double>(times * array.size()) / ns;
}

}  // namespace

double clock_ghz() {
  static const double ghz = 3.0 * kMultiplications / best_ns(multiply_integers);
  return ghz;
}

double peak_fp32(Isa isa) {
  const PeakLoops& loops = loops_of(isa);
  return rate(loops.fp32) * 2 * loops.lanes / 4;
}

double peak_fp16(Isa isa) {
  const PeakLoops& loops = loops_of(isa);
  return loops.fp16 == nullptr ? 0 : rate(loops.fp16) * 2 * loops.lanes / 2;
}

double peak_int16(Isa isa) { return rate(loops_of(isa).int16) * 2 * loops_of(isa).lanes / 2; }

double peak_int8(Isa isa) { return rate(loops_of(isa).int8) * loops_of(isa).lanes; }

double peak_edges(Isa isa) {
  const PeakLoops& loops = loops_of(isa);
  return std::max(rate(loops.edges[0]), rate(loops.edges[1])) * loops.lanes;
}

double peak_read(std::size_t footprint) {
  static std::map<const Level*, double> known;
  const Level& level = level_of(footprint);
  const auto [entry, is_new] = known.try_emplace(&level);
  if (is_new) entry->second = measure_read(level.measured);
  return entry->second;
}

std::string_view read_level(std::size_t footprint) { return level_of(footprint).name; }

namespace {

void run(Bench& bench) {
  const auto row = [&](const Case& c, auto&& peak) {
    if (!bench.begin(c)) return;
    const double ns = 1 / peak();
    bench.report(c, {ns, ns});
  };
  row({.kernel = "clock", .shape = "integer", .per = "cycle"}, clock_ghz);
  for (const Isa isa : bench.isas()) {
    const PeakLoops& loops = loops_of(isa);
    const auto peak = [&](const char* shape, const char* per, const Work& work, auto&& measure) {
      const std::string name(to_string(isa));
      row({.kernel = "peak", .shape = shape, .isa = name, .per = per, .work = work}, measure);
    };
    peak("fp32", "operation", {.flops = 1}, [&] { return peak_fp32(isa); });
    if (loops.fp16 != nullptr)
      peak("fp16", "operation", {.half_flops = 1}, [&] { return peak_fp16(isa); });
    peak("int16", "operation", {.int16_ops = 1}, [&] { return peak_int16(isa); });
    peak("int8", "operation", {.int8_ops = 1}, [&] { return peak_int8(isa); });
    for (const auto& [name, loop] : loops.single)
      peak(name, "operation", {.int8_ops = 1}, [&] { return rate(loop) * loops.lanes; });
    peak("LDPC edge", "edge", {.edges = 1}, [&] { return peak_edges(isa); });
  }
  for (const Level& level : levels())
    row({.kernel = "read",
         .shape = level.name,
         .per = "byte",
         .work = {.read_bytes = 1, .footprint = level.measured}},
        [&] { return peak_read(level.measured); });
}

const Group group("peaks", run);

}  // namespace
}  // namespace carillon::bench
