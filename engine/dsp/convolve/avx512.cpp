#include "dsp/convolve/convolve.hpp"
#include "dsp/simd/headers.hpp"
//
#include "dsp/simd/avx512_begin.inl"
//
#include "dsp/convolve/convolve.inl"
//
#include "dsp/simd/end.inl"
