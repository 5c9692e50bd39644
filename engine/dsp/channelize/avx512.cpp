#include "dsp/channelize/channelize.hpp"
#include "dsp/simd/headers.hpp"
//
#include "dsp/simd/avx512_begin.inl"
//
#include "dsp/channelize/channelize.inl"
//
#include "dsp/simd/end.inl"
