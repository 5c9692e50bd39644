// Opens carillon::phy::avx512fp16 with code generation for AVX-512-FP16. Close with end.inl.
// (GCC 12 does not define __AVX512FP16__ after the pragma in C++: hence a macro of our own.)
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4,avx512vbmi,avx512vnni,avx512fp16,prefer-vector-width=512")
#define CARILLON_SIMD_AVX512 1
#define CARILLON_SIMD_FP16 1
namespace carillon::phy::avx512fp16 {
#include "base/simd/vector.inl"
