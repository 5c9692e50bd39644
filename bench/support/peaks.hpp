// What this core can do at most, measured in the same run as the kernels that are held against it.
// Each is measured once, when first asked for.
#pragma once

#include "base/isa.hpp"

namespace carillon::bench {

double peak_fp32(Isa isa);  // GFLOP/s, multiply-adds that never wait for memory
double peak_int8(Isa isa);  // Gop/s, saturating and wrapping additions of bytes in turn
double peak_memory();       // GB/s, one core reading an array that no cache holds

}  // namespace carillon::bench
