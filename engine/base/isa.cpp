#include "base/isa.hpp"

#include <array>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace carillon {
namespace {

// All that a tier's kernels are compiled for (*/simd/*_begin.inl), besides the tier below: the
// compiler may use any of it, anywhere.
bool has_avx2() { return __builtin_cpu_supports("x86-64-v3"); }

bool has_avx512() {
  return __builtin_cpu_supports("x86-64-v4") && __builtin_cpu_supports("avx512vbmi") &&
         __builtin_cpu_supports("avx512vnni");
}

bool has_avx512fp16() { return __builtin_cpu_supports("avx512fp16"); }

struct Available {
  std::array<Isa, 3> tiers{};
  std::size_t count = 0;

  Available() {
    if (!has_avx2()) return;
    tiers[count++] = Isa::Avx2;
    if (!has_avx512()) return;
    tiers[count++] = Isa::Avx512;
    if (!has_avx512fp16()) return;
    tiers[count++] = Isa::Avx512Fp16;
  }
};

Isa choose() {
  const auto tiers = available_isas();
  if (tiers.empty())
    throw std::runtime_error(
        "this CPU lacks AVX2 or another part of x86-64-v3, which Carillon's kernels need; run it "
        "on a CPU from 2013 or later (in a virtual machine: pass the host's CPU model through)");
  const char* wanted = std::getenv("CARILLON_ISA");
  if (wanted == nullptr || *wanted == '\0') return tiers.back();
  std::string known;
  for (const Isa isa : tiers) {
    if (to_string(isa) == wanted) return isa;
    known += known.empty() ? "" : ", ";
    known += to_string(isa);
  }
  throw std::runtime_error("CARILLON_ISA=" + std::string(wanted) +
                           " is not available on this machine; choose one of: " + known);
}

}  // namespace

std::string_view to_string(Isa isa) {
  switch (isa) {
    case Isa::Avx2: return "avx2";
    case Isa::Avx512: return "avx512";
    case Isa::Avx512Fp16: return "avx512fp16";
  }
  return "unknown";
}

std::span<const Isa> available_isas() {
  static const Available available;
  return {available.tiers.data(), available.count};
}

Isa active_isa() {
  static const Isa isa = choose();
  return isa;
}

}  // namespace carillon
