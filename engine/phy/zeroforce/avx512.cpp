#include "phy/simd/headers.hpp"
#include "phy/zeroforce/zeroforce.hpp"
// clang-format off
#include "phy/simd/avx512_begin.inl"
#include "phy/zeroforce/zeroforce.inl"
#include "phy/simd/end.inl"
