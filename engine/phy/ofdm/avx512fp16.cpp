#include "phy/ofdm/ofdm.hpp"
#include "phy/simd/headers.hpp"
//
#include "phy/simd/avx512fp16_begin.inl"
//
#include "phy/ofdm/ofdm.inl"
//
#include "phy/simd/end.inl"
