#include "frame/pool_profile.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace carillon::frame {
namespace {

using runtime::Footprint;
using runtime::Work;

// MegaStation's table 1 in the order of Op; CTAs follow from the cell.
constexpr Footprint kFft{.warps = 4, .registers = 56, .shared_bytes = 8448};
constexpr std::array<Footprint, kOps> kFootprints{{
    {},  // Load
    {},  // Store
    kFft,
    kFft,
    kFft,
    {.warps = 32, .registers = 30, .shared_bytes = 8448},   // ZeroForce
    {.warps = 1, .registers = 30},                          // EqualizeDemodulate
    {.warps = 1, .registers = 18},                          // Modulate
    {.warps = 1, .registers = 30},                          // Precode
    {.warps = 4, .registers = 168, .shared_bytes = 14144},  // Decode
    {.warps = 8, .registers = 56, .shared_bytes = 843},     // Encode
}};
constexpr KernelProfile kLibrary{.efficiency = 0.5, .floor = 3 * kMicrosecond};
constexpr KernelProfile kThird{.efficiency = 1.0 / 3, .traffic = 3};
constexpr KernelProfile kHalfThird{.efficiency = 1.0 / 3, .half = true, .traffic = 3};
constexpr KernelProfile kMegaFft{.efficiency = 0.5, .floor = 3500};
constexpr KernelProfile kMegaZeroForce{.efficiency = 0.5, .floor = 10 * kMicrosecond};
constexpr KernelProfile kMegaEqualize{.efficiency = 0.5, .floor = 3 * kMicrosecond, .term = 150};
constexpr KernelProfile kMegaPrecode{.efficiency = 0.5, .floor = 3 * kMicrosecond, .term = 270};
constexpr KernelProfile kMegaDecode{.efficiency = 0.25, .half = true, .floor = 3 * kMicrosecond};

constexpr std::array<PoolProfile, 2> kProfiles{{
    {.name = "megastation",
     .symbol_bytes = 8,
     .kernels = {{
         {},              // Load
         {},              // Store
         kMegaFft,        // PilotFft
         kMegaFft,        // UplinkFft
         kMegaFft,        // Ifft
         kMegaZeroForce,  // ZeroForce
         kMegaEqualize,   // EqualizeDemodulate
         kLibrary,        // Modulate
         kMegaPrecode,    // Precode
         kMegaDecode,     // Decode
         kLibrary,        // Encode
     }}},
    {.name = "roofline",
     .symbol_bytes = 4,
     .kernels = {{
         {},          // Load
         {},          // Store
         kThird,      // PilotFft
         kThird,      // UplinkFft
         kThird,      // Ifft
         kThird,      // ZeroForce
         kHalfThird,  // EqualizeDemodulate
         kThird,      // Modulate
         kHalfThird,  // Precode
         kThird,      // Decode
         kThird,      // Encode
     }}},
}};

// A kernel alone, in waves of CTAs that have room together: it takes waves × a CTA's serial part +
// turns × what a CTA needs of an SM.
struct Waves {
  Waves(const runtime::DeviceType& type, const Footprint& footprint, std::uint32_t ctas) {
    const std::uint32_t per_sm = std::max(ctas_per_sm(type, footprint), 1U);
    const std::uint32_t room = per_sm * type.sms, rest = ctas % room;
    count = static_cast<double>(ctas / room) + (rest != 0 ? 1 : 0);
    widest = std::min(ctas, room);
    turns = static_cast<double>(ctas / room) * per_sm + (rest != 0 ? of_wave(type, rest) : 0);
  }
  static double of_wave(const runtime::DeviceType& type, std::uint32_t ctas) {
    return std::max(1.0, static_cast<double>(ctas) / type.sms);
  }

  double count = 0, turns = 0;
  std::uint32_t widest = 0;  // CTAs
};

// ns of a CTA.
struct CtaTime {
  double serial = 0, of_sm = 0;
};

CtaTime cta_time(const MeasuredKernel& kernel, const runtime::DeviceType& type) {
  const Waves one(type, kernel.footprint, kernel.footprint.ctas);
  const auto time = static_cast<double>(kernel.time);
  double of_sm = time / one.turns;
  if (kernel.full_ctas != 0) {
    const Waves full(type, kernel.footprint, kernel.full_ctas);
    const double apart = one.count * full.turns - full.count * one.turns;
    const double both = one.count * static_cast<double>(kernel.full_time) - full.count * time;
    if (apart > 0) of_sm = std::clamp(both / apart, 0.0, of_sm);
  }
  return {(time - one.turns * of_sm) / one.count, of_sm};
}

// `flops` are what a host's cores would have to do instead. Memory is never what bounds a kernel
// alone: that is in its time.
Work measured_work(const MeasuredKernel& kernel, const runtime::DeviceType& type,
                   const KernelCost& cost) {
  const double all = kernel.footprint.ctas;
  const CtaTime time = cta_time(kernel, type);
  const std::uint32_t widest = Waves(type, kernel.footprint, kernel.footprint.ctas).widest;
  const double wave = time.serial + time.of_sm * Waves::of_wave(type, widest);
  const double peak = type.fp32_flops / type.sms * 1e-9;  // of an SM in a ns
  Work work{
      .footprint = kernel.footprint, .floor = std::llround(time.serial), .output = cost.output};
  work.footprint.ctas = static_cast<std::uint32_t>(std::ceil(all * cost.share));
  work.flops = std::max(cost.flops, 1.0) / (all * cost.share);
  work.efficiency = work.flops / (peak * std::max(time.of_sm, 1e-3));
  work.bytes = std::min(kernel.bytes / all, type.memory_bytes_per_s * 1e-9 * wave / widest);
  return work;
}

Work assumed_work(const KernelProfile& profile, const Footprint& footprint,
                  const KernelCost& cost) {
  Work work{.footprint = footprint,
            .efficiency = profile.efficiency,
            .half = profile.half,
            .floor = profile.floor + profile.term * cost.terms,
            .output = cost.output};
  const std::uint64_t ctas = std::max<std::uint64_t>(cost.ctas, 1);
  work.footprint.ctas = static_cast<std::uint32_t>(ctas);
  work.flops = cost.flops / static_cast<double>(ctas);
  work.bytes =
      profile.traffic * static_cast<double>(cost.read + cost.output) / static_cast<double>(ctas);
  return work;
}

}  // namespace

std::span<const PoolProfile> pool_profiles() { return kProfiles; }

const PoolProfile* find_pool_profile(std::string_view name) {
  const auto* found = std::ranges::find(kProfiles, name, &PoolProfile::name);
  return found == kProfiles.end() ? nullptr : found;
}

bool is_in(const PoolProfile& profile, Op op) {
  const MeasuredKernel& kernel = profile.measured[static_cast<std::size_t>(op)];
  return kernel.time > 0 && kernel.footprint.ctas != 0;
}

bool merged_modulate(const PoolProfile& profile) {
  return profile.device != nullptr &&
         profile.measured[static_cast<std::size_t>(Op::Modulate)].time == 0;
}

runtime::Work kernel_work(const PoolProfile& profile, Op op, const KernelCost& cost) {
  const auto index = static_cast<std::size_t>(op);
  if (profile.device == nullptr)
    return assumed_work(profile.kernels[index], kFootprints[index], cost);
  if (!is_in(profile, op))
    throw std::invalid_argument("the device profile has no time of " +
                                std::string(kOpNames[index]));
  return measured_work(profile.measured[index], *profile.device, cost);
}

}  // namespace carillon::frame
