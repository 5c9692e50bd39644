#include "phy/simd/product.inl"

namespace {

template <typename T>
void precode(ArrayShape shape, const T* w, const Tile* s, Tile* x) noexcept {
  vector_matrix(w, shape.antenna_stride, shape.antennas, shape.users, s, x);
}

}  // namespace

extern const PrecodeKernels precode_kernels;
const PrecodeKernels precode_kernels = {precode<Tile>, precode<Complex>};
