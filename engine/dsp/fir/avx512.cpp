#include "dsp/fir/fir.hpp"
#include "dsp/simd/headers.hpp"
//
#include "dsp/simd/avx512_begin.inl"
//
#include "dsp/fir/fir.inl"
//
#include "dsp/simd/end.inl"
