#include "phy/precode/precode.hpp"
#include "phy/simd/headers.hpp"
// clang-format off
#include "phy/simd/avx512_begin.inl"
#include "phy/precode/precode.inl"
#include "phy/simd/end.inl"
