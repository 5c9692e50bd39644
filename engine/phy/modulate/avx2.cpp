#include "phy/modulate/modulate.hpp"
#include "phy/simd/headers.hpp"
//
#include "phy/simd/avx2_begin.inl"
//
#include "phy/modulate/modulate.inl"
//
#include "phy/simd/end.inl"
