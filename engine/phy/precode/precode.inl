#include "phy/simd/product.inl"
// clang-format off
#include "phy/simd/int16.inl"
// clang-format on

namespace {

// W's entries, antennas being sums over users.
template <typename T>
Factor<T> precoder(ArrayShape shape, const T* w) {
  return {w, 1, shape.antenna_stride};
}

void precode_group(ArrayShape shape, LaneGroups of, const Tile* w, const Tile* s,
                   Tile* x) noexcept {
  with_lanes<kLanes>(of, [&](const auto& lanes) {
    vector_matrix(w, lanes, shape.antenna_stride, shape.antennas, shape.users, s, x);
  });
}
void precode_tile(ArrayShape shape, const Complex* w, const Tile* s, Tile* x) noexcept {
  vector_matrix(w, Own{}, shape.antenna_stride, shape.antennas, shape.users, s, x);
}

void precode_group_int16(ArrayShape shape, LaneGroups of, const Int16Tile* w, const float* scale,
                         const Tile* s, Tile* x) noexcept {
  with_lanes<kLanes>(of, [&](const auto& lanes) {
    int16_product(precoder(shape, w), lanes, scale, shape.antennas, shape.users, s, x);
  });
}
void precode_tile_int16(ArrayShape shape, const Int16Complex* w, const float* scale, const Tile* s,
                        Tile* x) noexcept {
  int16_product(precoder(shape, w), Own{}, scale, shape.antennas, shape.users, s, x);
}

}  // namespace

extern const PrecodeKernels precode_kernels;
const PrecodeKernels precode_kernels = {precode_group, precode_tile, precode_group_int16,
                                        precode_tile_int16};
