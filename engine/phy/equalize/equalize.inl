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
  matrix_vector<T>({w, shape.antenna_stride, 1}, Own{}, shape.users, shape.antennas, y, s);
}
void equalize_groups(ArrayShape shape, LaneGroups of, const Tile* w, const Tile* y,
                     Tile* s) noexcept {
  if (of.group == 1) return equalize(shape, w, y, s);
  matrix_vector<Tile>({w, shape.antenna_stride, 1}, Grouped(of), shape.users, shape.antennas, y, s);
}

template <typename T>
void equalize_half(ArrayShape shape, const T* w, const float* scale, const HalfTile* y,
                   Tile* s) noexcept {
  product_of_halves(shape, w, HalfOwn{}, scale, y, s);
}
void equalize_groups_half(ArrayShape shape, LaneGroups of, const HalfTile* w, const float* scale,
                          const HalfTile* y, Tile* s) noexcept {
  if (of.group == 1) return equalize_half(shape, w, scale, y, s);
  product_of_halves(shape, w, HalfGrouped(of), scale, y, s);
}

template <typename T>
void equalize_int16(ArrayShape shape, const T* w, const float* scale, const Tile* y,
                    Tile* s) noexcept {
  int16_product<T>({w, shape.antenna_stride, 1}, Own{}, scale, shape.users, shape.antennas, y, s);
}
void equalize_groups_int16(ArrayShape shape, LaneGroups of, const Int16Tile* w, const float* scale,
                           const Tile* y, Tile* s) noexcept {
  if (of.group == 1) return equalize_int16(shape, w, scale, y, s);
  int16_product<Int16Tile>({w, shape.antenna_stride, 1}, Grouped(of), scale, shape.users,
                           shape.antennas, y, s);
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
const EqualizeKernels equalize_kernels = {.per_subcarrier = equalize<Tile>,
                                          .per_group = equalize_groups,
                                          .per_tile = equalize<Complex>,
                                          .per_subcarrier_half = equalize_half<HalfTile>,
                                          .per_group_half = equalize_groups_half,
                                          .per_tile_half = equalize_half<HalfComplex>,
                                          .per_subcarrier_int16 = equalize_int16<Int16Tile>,
                                          .per_group_int16 = equalize_groups_int16,
                                          .per_tile_int16 = equalize_int16<Int16Complex>,
                                          .per_tile_digits = equalize_digits};
