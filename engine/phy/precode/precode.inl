#include "phy/simd/product.inl"
// clang-format off
#include "phy/simd/int16.inl"
#if CARILLON_SIMD_FP16
#include "phy/simd/digit_product.inl"
#endif
// clang-format on

namespace {

template <typename T>
void precode(ArrayShape shape, const T* w, const Tile* s, Tile* x) noexcept {
  vector_matrix(w, shape.antenna_stride, shape.antennas, shape.users, s, x);
}

template <typename T>
void precode_int16(ArrayShape shape, const T* w, const float* scale, const Tile* s,
                   Tile* x) noexcept {
  int16_product<T>({w, 1, shape.antenna_stride}, scale, shape.antennas, shape.users, s, x);
}

#if CARILLON_SIMD_FP16
void precode_digits(ArrayShape shape, const DigitBlock* w, const float* scale, const Tile* s,
                    Tile* x) noexcept {
  digit_product(w, scale, shape.antennas, shape.users, s, x);
}
#else
constexpr decltype(PrecodeKernels::per_tile_digits) precode_digits = nullptr;
#endif

}  // namespace

extern const PrecodeKernels precode_kernels;
const PrecodeKernels precode_kernels = {precode<Tile>, precode<Complex>, precode_int16<Int16Tile>,
                                        precode_int16<Int16Complex>, precode_digits};
