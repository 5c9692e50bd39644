#include "phy/simd/product.inl"
// clang-format off
#include "phy/equalize/half.inl"
#include "phy/simd/int16.inl"
#if CARILLON_SIMD_FP16
#include "phy/simd/digit_product.inl"
#endif
// clang-format on

namespace {

template <typename T>
void equalize(ArrayShape shape, const T* w, const Tile* y, Tile* s) noexcept {
  matrix_vector<T>({w, shape.antenna_stride, 1}, shape.users, shape.antennas, y, s);
}

template <typename T>
void equalize_int16(ArrayShape shape, const T* w, const float* scale, const Tile* y,
                    Tile* s) noexcept {
  int16_product<T>({w, shape.antenna_stride, 1}, scale, shape.users, shape.antennas, y, s);
}

#if CARILLON_SIMD_FP16
void equalize_digits(ArrayShape shape, const DigitBlock* w, const float* scale, const Tile* y,
                     Tile* s) noexcept {
  digit_product(w, scale, shape.users, shape.antennas, y, s);
}
#else
constexpr decltype(EqualizeKernels::per_tile_digits) equalize_digits = nullptr;
#endif

}  // namespace

extern const EqualizeKernels equalize_kernels;
const EqualizeKernels equalize_kernels = {equalize<Tile>,
                                          equalize<Complex>,
                                          equalize_half<HalfTile>,
                                          equalize_half<HalfComplex>,
                                          equalize_int16<Int16Tile>,
                                          equalize_int16<Int16Complex>,
                                          equalize_digits};
