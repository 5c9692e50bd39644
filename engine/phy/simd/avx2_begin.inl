// Opens carillon::phy::avx2 with code generation for x86-64-v3. Close with end.inl.
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
#define CARILLON_SIMD_AVX512 0
#define CARILLON_SIMD_FP16 0
namespace carillon::phy::avx2 {
#include "base/simd/vector.inl"
