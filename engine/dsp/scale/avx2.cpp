#include "dsp/scale/scale.hpp"
#include "dsp/simd/headers.hpp"
//
#include "dsp/simd/avx2_begin.inl"
//
#include "dsp/scale/scale.inl"
//
#include "dsp/simd/end.inl"
