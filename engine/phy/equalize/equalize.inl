#include "phy/simd/product.inl"
// clang-format off
#include "phy/equalize/half.inl"
#include "phy/simd/int16.inl"
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

}  // namespace

extern const EqualizeKernels equalize_kernels;
const EqualizeKernels equalize_kernels = {equalize<Tile>,
                                          equalize<Complex>,
                                          equalize_half<HalfTile>,
                                          equalize_half<HalfComplex>,
                                          equalize_int16<Int16Tile>,
                                          equalize_int16<Int16Complex>};
