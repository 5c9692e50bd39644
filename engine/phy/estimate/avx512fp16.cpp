#include "phy/estimate/estimate.hpp"
#include "phy/simd/headers.hpp"
//
#include "phy/simd/avx512fp16_begin.inl"
//
#include "phy/estimate/estimate.inl"
//
#include "phy/simd/end.inl"
