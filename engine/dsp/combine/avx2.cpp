#include "dsp/combine/combine.hpp"
#include "dsp/simd/headers.hpp"
//
#include "dsp/simd/avx2_begin.inl"
//
#include "dsp/combine/combine.inl"
//
#include "dsp/simd/end.inl"
