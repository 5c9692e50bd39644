#include "dsp/simd/headers.hpp"
#include "dsp/turn/turn.hpp"
//
#include "dsp/simd/avx2_begin.inl"
//
#include "dsp/turn/turn.inl"
//
#include "dsp/simd/end.inl"
