// Included inside an instruction set's namespace (phy/simd/*_begin.inl).

namespace {

inline constexpr std::int32_t kSignBit = std::numeric_limits<std::int32_t>::min();

// kLevels bits for each component.
template <int kLevels>
inline constexpr float kAmplitude = half_distance(static_cast<Modulation>(2 * kLevels));

// For the lanes from `lane` on: the sign bit where `bits` has the lane's bit set.
[[gnu::always_inline]] inline Vi lane_sign(std::uint32_t bits, std::uint32_t lane) {
  Vi to_top;
  for (std::uint32_t i = 0; i < kLanes; ++i) to_top[i] = static_cast<std::int32_t>(31 - i);
  return ((Vi{} + static_cast<std::int32_t>(bits >> lane)) << to_top) & kSignBit;
}

// Masked stores are slow on some CPUs: only for a part of the tile.
[[gnu::always_inline]] inline void store_lanes(float* lanes, Vf values, std::uint32_t wanted,
                                               std::uint32_t lane) {
  if (wanted == 0xFFFF) {
    store(lanes + lane, values);
    return;
  }
#if CARILLON_SIMD_AVX512
  _mm512_mask_storeu_ps(lanes + lane, static_cast<__mmask16>(wanted), values);
#else
  _mm256_maskstore_ps(lanes + lane, (__m256i)lane_sign(wanted, lane), values);
#endif
}

// 38.211 5.1.3–5.1.6: the innermost bit moves ±1 from the middle of ±2, that from the middle of ±4,
// …
template <int kLevels>
[[gnu::always_inline]] inline Vf component(const std::uint32_t* bits, std::uint32_t lane) {
  Vf point = broadcast(kAmplitude<kLevels>);
  for (int level = kLevels - 1; level >= 0; --level) {
    point = (Vf)((Vi)point ^ lane_sign(bits[2 * level], lane));
    if (level > 0) point = kAmplitude<kLevels> * static_cast<float>(1 << (kLevels - level)) - point;
  }
  return point;
}

template <int kLevels>
void modulate_levels(const std::uint8_t* coded, std::uint32_t plane_stride, std::uint32_t re,
                     std::uint32_t first, std::uint32_t count, const std::uint16_t* signs,
                     std::size_t sign_stride, Tile& s) {
  std::uint32_t bits[2 * kLevels];
  for (std::uint32_t i = 0; i < 2 * kLevels; ++i) {
    const std::uint32_t bit = i * plane_stride + re;
    std::uint32_t window;
    std::memcpy(&window, coded + bit / 8, sizeof window);
    bits[i] = (window >> bit % 8 << first) ^ signs[i * sign_stride];
  }
  const std::uint32_t wanted = ((1U << count) - 1) << first;
  for (std::uint32_t lane = 0; lane < kTileLanes; lane += kLanes) {
    store_lanes(s.re, component<kLevels>(bits, lane), wanted, lane);
    store_lanes(s.im, component<kLevels>(bits + 1, lane), wanted, lane);
  }
}

void modulate(Modulation modulation, const std::uint8_t* coded, std::uint32_t E, std::uint32_t re,
              std::uint32_t first, std::uint32_t count, const std::uint16_t* signs,
              std::size_t sign_stride, Tile* s) noexcept {
  const std::uint32_t plane_stride = E / bits_per_symbol(modulation);
  switch (modulation) {
    case Modulation::Qpsk:
      return modulate_levels<1>(coded, plane_stride, re, first, count, signs, sign_stride, *s);
    case Modulation::Qam16:
      return modulate_levels<2>(coded, plane_stride, re, first, count, signs, sign_stride, *s);
    case Modulation::Qam64:
      return modulate_levels<3>(coded, plane_stride, re, first, count, signs, sign_stride, *s);
    case Modulation::Qam256:
      return modulate_levels<4>(coded, plane_stride, re, first, count, signs, sign_stride, *s);
  }
}

}  // namespace

const ModulateKernels modulate_kernels{.modulate = modulate};
