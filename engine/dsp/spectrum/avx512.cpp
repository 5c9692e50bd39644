#include "dsp/simd/headers.hpp"
#include "dsp/spectrum/spectrum.hpp"
//
#include "dsp/simd/avx512_begin.inl"
//
#include "dsp/spectrum/spectrum.inl"
//
#include "dsp/simd/end.inl"
