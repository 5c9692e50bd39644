#include "dsp/demodulate/demodulate.hpp"
#include "dsp/simd/headers.hpp"
//
#include "dsp/simd/avx2_begin.inl"
//
#include "dsp/demodulate/demodulate.inl"
//
#include "dsp/simd/end.inl"
