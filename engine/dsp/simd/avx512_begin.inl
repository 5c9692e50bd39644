// Opens carillon::dsp::avx512 with code generation for x86-64-v4. Close with end.inl.
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4,prefer-vector-width=512")
#define CARILLON_SIMD_AVX512 1
namespace carillon::dsp::avx512 {
#include "base/simd/vector.inl"
#include "dsp/simd/pairs.inl"
