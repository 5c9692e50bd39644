#include "phy/equalize/equalize.hpp"
#include "phy/simd/headers.hpp"
// clang-format off
#include "phy/simd/avx512fp16_begin.inl"
#include "phy/equalize/equalize.inl"
#include "phy/simd/end.inl"
