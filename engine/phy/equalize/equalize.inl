#include "phy/simd/product.inl"
// clang-format off
#include "phy/equalize/half.inl"
#include "phy/simd/int16.inl"
// clang-format on

namespace {

// W's entries, users being sums over antennas.
template <typename T>
Factor<T> combiner(ArrayShape shape, const T* w) {
  return {w, shape.antenna_stride, 1};
}

void equalize_group(ArrayShape shape, LaneGroups of, const Tile* w, const Tile* y,
                    Tile* s) noexcept {
  with_lanes<kLanes>(of, [&](const auto& lanes) {
    matrix_vector(combiner(shape, w), lanes, shape.users, shape.antennas, y, s);
  });
}
void equalize_tile(ArrayShape shape, const Complex* w, const Tile* y, Tile* s) noexcept {
  matrix_vector(combiner(shape, w), Own{}, shape.users, shape.antennas, y, s);
}

void equalize_group_half(ArrayShape shape, LaneGroups of, const HalfTile* w, const float* scale,
                         const HalfTile* y, Tile* s) noexcept {
  with_lanes<kPairs>(of,
                     [&](const auto& lanes) { product_of_halves(shape, w, lanes, scale, y, s); });
}
void equalize_tile_half(ArrayShape shape, const HalfComplex* w, const float* scale,
                        const HalfTile* y, Tile* s) noexcept {
  product_of_halves(shape, w, HalfOwn{}, scale, y, s);
}

void equalize_group_int16(ArrayShape shape, LaneGroups of, const Int16Tile* w, const float* scale,
                          const Tile* y, Tile* s) noexcept {
  with_lanes<kLanes>(of, [&](const auto& lanes) {
    int16_product(combiner(shape, w), lanes, scale, shape.users, shape.antennas, y, s);
  });
}
void equalize_tile_int16(ArrayShape shape, const Int16Complex* w, const float* scale, const Tile* y,
                         Tile* s) noexcept {
  int16_product(combiner(shape, w), Own{}, scale, shape.users, shape.antennas, y, s);
}

}  // namespace

extern const EqualizeKernels equalize_kernels;
const EqualizeKernels equalize_kernels = {equalize_group,       equalize_tile,
                                          equalize_group_half,  equalize_tile_half,
                                          equalize_group_int16, equalize_tile_int16};
