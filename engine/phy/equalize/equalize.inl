#include "phy/simd/product.inl"
// clang-format off
#include "phy/equalize/half.inl"
// clang-format on

namespace {

template <typename T>
void equalize(ArrayShape shape, const T* w, const Tile* y, Tile* s) noexcept {
  matrix_vector<T>({w, shape.antenna_stride, 1}, shape.users, shape.antennas, y, s);
}

}  // namespace

extern const EqualizeKernels equalize_kernels;
const EqualizeKernels equalize_kernels = {equalize<Tile>, equalize<Complex>,
                                          equalize_half<HalfTile>, equalize_half<HalfComplex>};
