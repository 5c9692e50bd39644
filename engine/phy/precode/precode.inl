#include "phy/simd/product.inl"
// clang-format off
#include "phy/simd/int16.inl"
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

}  // namespace

extern const PrecodeKernels precode_kernels;
const PrecodeKernels precode_kernels = {precode<Tile>, precode<Complex>, precode_int16<Int16Tile>,
                                        precode_int16<Int16Complex>};
