#include "phy/demap/demap.hpp"
#include "phy/simd/headers.hpp"
//
#include "phy/simd/avx512fp16_begin.inl"
//
#include "phy/demap/demap.inl"
//
#include "phy/simd/end.inl"
