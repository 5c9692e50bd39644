#include "phy/crc/crc.hpp"
#include "phy/ldpc/ldpc.hpp"
#include "phy/ldpc/workspace.hpp"
#include "phy/simd/headers.hpp"
//
#include "phy/simd/avx2_begin.inl"
//
#include "phy/ldpc/ldpc.inl"
//
#include "phy/simd/end.inl"
