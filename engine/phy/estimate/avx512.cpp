#include "phy/estimate/estimate.hpp"
#include "phy/simd/headers.hpp"
//
#include "phy/simd/avx512_begin.inl"
//
#include "phy/estimate/estimate.inl"
//
#include "phy/simd/end.inl"
