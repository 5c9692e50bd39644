#include "dsp/rotate/rotate.hpp"
#include "dsp/simd/headers.hpp"
//
#include "dsp/simd/avx2_begin.inl"
//
#include "dsp/rotate/rotate.inl"
//
#include "dsp/simd/end.inl"
