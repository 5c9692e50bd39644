// Opens carillon::phy::avx512 with code generation for x86-64-v4, VBMI and VNNI. Close with
// end.inl.
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4,avx512vbmi,avx512vnni,prefer-vector-width=512")
#define CARILLON_SIMD_AVX512 1
#define CARILLON_SIMD_FP16 0
namespace carillon::phy::avx512 {
#include "base/simd/vector.inl"
