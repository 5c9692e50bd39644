#include "phy/estimate/estimate.hpp"
#include "phy/simd/headers.hpp"
//
#include "phy/simd/avx2_begin.inl"
//
#include "phy/estimate/estimate.inl"
//
#include "phy/simd/end.inl"
