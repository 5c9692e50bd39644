// What this core can do at most, measured in the same run as the kernels that are held against it.
// Each is measured once, when first asked for.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/isa.hpp"

namespace carillon::bench {

double clock_ghz();          // while integer code runs
double peak_fp32(Isa isa);   // GFLOP/s, multiply-adds that never wait for memory
double peak_fp16(Isa isa);   // the same in half precision; 0 where the instruction set has none
double peak_int16(Isa isa);  // Gop/s, products of 16-bit integers and their sums
double peak_int8(Isa isa);   // Gop/s, wrapping additions of bytes: the cheapest operation
double peak_edges(Isa isa);  // 10⁹ edges of a parity check per second, see LdpcEdge in peaks.inl
/// GB/s of one core that reads the same `footprint` bytes again and again: of the smallest cache
/// that holds them, else of memory. L1 or L2 of the core, L3 as far as it is the core's to use.
double peak_read(std::size_t footprint);
std::string_view read_level(std::size_t footprint);  // "L1", "L2", "L3" or "memory"

}  // namespace carillon::bench
