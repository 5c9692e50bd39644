// Closes what one of the *_begin.inl files opened.
}
#undef CARILLON_SIMD_AVX512
#pragma GCC pop_options
