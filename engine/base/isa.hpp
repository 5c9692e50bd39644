// Which instruction set the kernels use: chosen once at start, overridable for tests.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace carillon {

/// Instruction-set tiers that kernels are compiled for, in ascending order.
/// Avx2 is x86-64-v3; Avx512 is x86-64-v4 plus VBMI and VNNI; Avx512Fp16 adds half-precision
/// arithmetic.
enum class Isa : std::uint8_t { Avx2, Avx512, Avx512Fp16 };

std::string_view to_string(Isa isa);

/// Tiers that this CPU and operating system can run, ascending; empty below AVX2.
std::span<const Isa> available_isas();

/// The tier in use: the highest available one, or the one named by the environment variable
/// CARILLON_ISA (avx2, avx512, avx512fp16). The choice is made at the first call.
/// Throws std::runtime_error, saying what to do, on a CPU without AVX2 or when CARILLON_ISA names a
/// tier that is unknown or that this machine lacks.
Isa active_isa();

}  // namespace carillon
