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
  vector_matrix(w, Own{}, shape.antenna_stride, shape.antennas, shape.users, s, x);
}
void precode_groups(ArrayShape shape, LaneGroups of, const Tile* w, const Tile* s,
                    Tile* x) noexcept {
  if (of.group == 1) return precode(shape, w, s, x);
  vector_matrix(w, Grouped(of), shape.antenna_stride, shape.antennas, shape.users, s, x);
}

template <typename T>
void precode_int16(ArrayShape shape, const T* w, const float* scale, const Tile* s,
                   Tile* x) noexcept {
  int16_product<T>({w, 1, shape.antenna_stride}, Own{}, scale, shape.antennas, shape.users, s, x);
}
void precode_groups_int16(ArrayShape shape, LaneGroups of, const Int16Tile* w, const float* scale,
                          const Tile* s, Tile* x) noexcept {
  if (of.group == 1) return precode_int16(shape, w, scale, s, x);
  int16_product<Int16Tile>({w, 1, shape.antenna_stride}, Grouped(of), scale, shape.antennas,
                           shape.users, s, x);
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
const PrecodeKernels precode_kernels = {.per_subcarrier = precode<Tile>,
                                        .per_group = precode_groups,
                                        .per_tile = precode<Complex>,
                                        .per_subcarrier_int16 = precode_int16<Int16Tile>,
                                        .per_group_int16 = precode_groups_int16,
                                        .per_tile_int16 = precode_int16<Int16Complex>,
                                        .per_tile_digits = precode_digits};
