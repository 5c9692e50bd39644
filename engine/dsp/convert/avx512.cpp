#include "dsp/convert/convert.hpp"
#include "dsp/simd/headers.hpp"
//
#include "dsp/simd/avx512_begin.inl"
//
#include "dsp/convert/convert.inl"
//
#include "dsp/simd/end.inl"
