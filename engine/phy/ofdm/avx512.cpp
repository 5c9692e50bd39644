#include "phy/ofdm/ofdm.hpp"
#include "phy/simd/headers.hpp"
//
#include "phy/simd/avx512_begin.inl"
//
#include "phy/ofdm/ofdm.inl"
//
#include "phy/simd/end.inl"
