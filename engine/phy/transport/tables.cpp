// Tables and formulas of TS 38.214 5.1.3: MCS and transport block size.
#include <algorithm>
#include <array>
#include <cmath>

#include "phy/transport/transport.hpp"

namespace carillon::phy {
namespace {

struct Entry {
  std::uint8_t Qm;
  float rate1024;
};

constexpr std::array<Entry, 29> kQam64Table{{
    {2, 120}, {2, 157}, {2, 193}, {2, 251}, {2, 308}, {2, 379}, {2, 449}, {2, 526},
    {2, 602}, {2, 679}, {4, 340}, {4, 378}, {4, 434}, {4, 490}, {4, 553}, {4, 616},
    {4, 658}, {6, 438}, {6, 466}, {6, 517}, {6, 567}, {6, 616}, {6, 666}, {6, 719},
    {6, 772}, {6, 822}, {6, 873}, {6, 910}, {6, 948},
}};
constexpr std::array<Entry, 28> kQam256Table{{
    {2, 120}, {2, 193}, {2, 308}, {2, 449}, {2, 602}, {4, 378},    {4, 434},
    {4, 490}, {4, 553}, {4, 616}, {4, 658}, {6, 466}, {6, 517},    {6, 567},
    {6, 616}, {6, 666}, {6, 719}, {6, 772}, {6, 822}, {6, 873},    {8, 682.5F},
    {8, 711}, {8, 754}, {8, 797}, {8, 841}, {8, 885}, {8, 916.5F}, {8, 948},
}};
constexpr std::array<Entry, 29> kLowSeTable{{
    {2, 30},  {2, 40},  {2, 50},  {2, 64},  {2, 78},  {2, 99},  {2, 120}, {2, 157},
    {2, 193}, {2, 251}, {2, 308}, {2, 379}, {2, 449}, {2, 526}, {2, 602}, {4, 340},
    {4, 378}, {4, 434}, {4, 490}, {4, 553}, {4, 616}, {6, 438}, {6, 466}, {6, 517},
    {6, 567}, {6, 616}, {6, 666}, {6, 719}, {6, 772},
}};

// Table 5.1.3.2-1.
constexpr std::array<std::uint16_t, 93> kSmallBlocks{
    24,   32,   40,   48,   56,   64,   72,   80,   88,   96,   104,  112,  120,  128,  136,  144,
    152,  160,  168,  176,  184,  192,  208,  224,  240,  256,  272,  288,  304,  320,  336,  352,
    368,  384,  408,  432,  456,  480,  504,  528,  552,  576,  608,  640,  672,  704,  736,  768,
    808,  848,  888,  928,  984,  1032, 1064, 1128, 1160, 1192, 1224, 1256, 1288, 1320, 1352, 1416,
    1480, 1544, 1608, 1672, 1736, 1800, 1864, 1928, 2024, 2088, 2152, 2216, 2280, 2408, 2472, 2536,
    2600, 2664, 2728, 2792, 2856, 2976, 3104, 3240, 3368, 3496, 3624, 3752, 3824};

std::uint32_t small_block_bits(double info) {
  const double step = std::exp2(std::max(3, std::ilogb(info) - 6));
  const double quantized = std::max(24.0, step * std::floor(info / step));
  for (const std::uint16_t bits : kSmallBlocks)
    if (bits >= quantized) return bits;
  return kSmallBlocks.back();
}

std::uint32_t large_block_bits(double info, double rate) {
  const double step = std::exp2(std::ilogb(info - 24) - 5);
  const double quantized = std::max(3840.0, step * std::round((info - 24) / step));
  double blocks = 1;
  if (rate <= 0.25)
    blocks = std::ceil((quantized + 24) / 3816);
  else if (quantized > 8424)
    blocks = std::ceil((quantized + 24) / 8424);
  return static_cast<std::uint32_t>(8 * blocks * std::ceil((quantized + 24) / (8 * blocks)) - 24);
}

// A rate such as 1/3 is rounded to a double, and all limits are whole: what lies this close to a
// whole number is meant to be one.
double info_bits(std::uint32_t re_count, Modulation modulation, double rate) {
  const double info = re_count * rate * bits_per_symbol(modulation);
  return std::abs(info - std::round(info)) < 1e-6 ? std::round(info) : info;
}

}  // namespace

std::uint32_t transport_block_bits(std::uint32_t re_count, Modulation modulation,
                                   double rate) noexcept {
  const double info = info_bits(re_count, modulation, rate);
  if (info < 1) return kSmallBlocks.front();
  return info <= 3824 ? small_block_bits(info) : large_block_bits(info, rate);
}

std::optional<Mcs> mcs(McsTable table, std::uint32_t index) noexcept {
  const std::span<const Entry> entries = table == McsTable::Qam64 ? std::span(kQam64Table)
                                         : table == McsTable::Qam256
                                             ? std::span<const Entry>(kQam256Table)
                                             : std::span<const Entry>(kLowSeTable);
  if (index >= entries.size()) return {};
  const Entry entry = entries[index];
  return Mcs{static_cast<Modulation>(entry.Qm), static_cast<double>(entry.rate1024) / 1024};
}

}  // namespace carillon::phy
