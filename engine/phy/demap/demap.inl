// Included inside an instruction set's namespace (phy/simd/*_begin.inl).

namespace {

#if CARILLON_SIMD_AVX512
// With all lanes: GCC 12 warns of the undefined source of the unmasked forms.
[[gnu::always_inline]] inline Vf round_down(Vf x) { return _mm512_floor_ps(x); }
[[gnu::always_inline]] inline Vf smaller(Vf a, Vf b) { return _mm512_maskz_min_ps(0xFFFF, a, b); }
[[gnu::always_inline]] inline Vf larger(Vf a, Vf b) { return _mm512_maskz_max_ps(0xFFFF, a, b); }
#else
[[gnu::always_inline]] inline Vf round_down(Vf x) { return _mm256_floor_ps(x); }
[[gnu::always_inline]] inline Vf smaller(Vf a, Vf b) { return _mm256_min_ps(a, b); }
[[gnu::always_inline]] inline Vf larger(Vf a, Vf b) { return _mm256_max_ps(a, b); }
#endif

inline float sum(Vf x) {
  __m256 halves[kLanes / 8];
  std::memcpy(halves, &x, sizeof x);
  const __m256 y = kLanes == 8 ? halves[0] : _mm256_add_ps(halves[0], halves[kLanes / 8 - 1]);
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

inline constexpr std::uint32_t kVectors = kTileLanes / kLanes;
inline constexpr std::int32_t kSignBit = std::numeric_limits<std::int32_t>::min();

[[gnu::always_inline]] inline Vf magnitude(Vf x) { return (Vf)((Vi)x & ~kSignBit); }
[[gnu::always_inline]] inline Vf with_sign_of(Vf x, Vf sign) {
  return (Vf)((Vi)x ^ ((Vi)sign & kSignBit));
}

// kLevels bits for each component.
template <int kLevels>
inline constexpr float kAmplitude = half_distance(static_cast<Modulation>(2 * kLevels));

// The points of one component in units of the amplitude are ±1, ±3, … ±(2 kMost + 1): which pair of
// them lies nearest to magnitude x.
template <int kMost>
[[gnu::always_inline]] inline Vf nearest_pair(Vf x) {
  return smaller(round_down(x * 0.5F), broadcast(kMost));
}

// The soft bits of a plane for the real and of the next one for the imaginary parts: rounded,
// saturated. Packing takes the two in turns of four lanes; the permutation puts that right.
[[gnu::always_inline]] inline void store_soft(std::int8_t* planes, const Vf (&re)[kVectors],
                                              const Vf (&im)[kVectors]) {
#if CARILLON_SIMD_AVX512
  const __m512i words = _mm512_packs_epi32(_mm512_maskz_cvtps_epi32(0xFFFF, re[0]),
                                           _mm512_maskz_cvtps_epi32(0xFFFF, im[0]));
  const __m256i bytes = _mm512_maskz_cvtsepi16_epi8(~__mmask32{0}, words);
  const __m256i order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
#else
  const auto words = [](const Vf(&x)[kVectors]) {
    return _mm256_packs_epi32(_mm256_cvtps_epi32(x[0]), _mm256_cvtps_epi32(x[1]));
  };
  const __m256i bytes = _mm256_packs_epi16(words(re), words(im));
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
#endif
  const __m256i soft = _mm256_max_epi8(_mm256_permutevar8x32_epi32(bytes, order),
                                       _mm256_set1_epi8(-static_cast<std::int8_t>(kLlrLimit)));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(planes), soft);
}

// One component x, in units of the amplitude a, its points at ±1, ±3, …: the nearest point of the
// other sign is at 1 and that of the same sign at 2m + 1, so the sign bit's LLR is
// ((|x| + 1)² - (|x| - 2m - 1)²) a²/σ² = (m + 1) (|z| - m s) with s = 4 a²/σ² and z = s x. The next
// bit says on which side of the middle point |x| lies: the same constellation, half as large,
// around it. Only where m has more than two values is it worth computing.
struct Component {
  Vf x, z, s;

  // Takes off the outermost bit of 2 * kHalf points and returns its LLR.
  template <int kHalf>
  [[gnu::always_inline]] Vf next() {
    constexpr float half = kHalf;
    const Vf size = magnitude(z);
    Vf llr = z;
    if constexpr (kHalf == 2) {
      llr = 2 * z - larger(smaller(z, 2 * s), -2 * s);
    } else if constexpr (kHalf > 2) {
      const Vf distance = magnitude(x);
      const Vf m = nearest_pair<kHalf - 1>(distance);
      llr = with_sign_of((m + 1) * (size - m * s), z);
      x = half - distance;
    }
    z = half * s - size;
    return llr;
  }
};

// Limits that keep every LLR within an int32, far beyond those of an int8.
inline constexpr float kMaxPoint = 1000, kMaxSlope = 1e5;

template <int kHalf>
[[gnu::always_inline]] inline void demap_bits(std::int8_t (*planes)[16], Component (&re)[kVectors],
                                              Component (&im)[kVectors]) {
  Vf llr_re[kVectors], llr_im[kVectors];
  for (std::uint32_t v = 0; v < kVectors; ++v) {
    llr_re[v] = re[v].template next<kHalf>();
    llr_im[v] = im[v].template next<kHalf>();
  }
  store_soft(planes[0], llr_re, llr_im);
  if constexpr (kHalf > 1) demap_bits<kHalf / 2>(planes + 2, re, im);
}

template <int kLevels>
void demap_levels(const Tile& s, const float* noise, std::int8_t (*planes)[16]) {
  constexpr float a = kAmplitude<kLevels>;
  Component re[kVectors], im[kVectors];
  for (std::uint32_t v = 0; v < kVectors; ++v) {
    const Vf slope =
        smaller((kLlrScale * 4 * a * a) / load(noise + v * kLanes), broadcast(kMaxSlope));
    const auto component = [slope](const float* part) {
      const Vf x = load(part) * (1 / a);
      const Vf point = larger(smaller(x, broadcast(kMaxPoint)), broadcast(-kMaxPoint));
      return Component{point, point * slope, slope};
    };
    re[v] = component(s.re + v * kLanes);
    im[v] = component(s.im + v * kLanes);
  }
  demap_bits<1 << (kLevels - 1)>(planes, re, im);
}

void demap(Modulation modulation, const Tile& s, const float* noise,
           std::int8_t (*planes)[16]) noexcept {
  switch (modulation) {
    case Modulation::Qpsk: return demap_levels<1>(s, noise, planes);
    case Modulation::Qam16: return demap_levels<2>(s, noise, planes);
    case Modulation::Qam64: return demap_levels<3>(s, noise, planes);
    case Modulation::Qam256: return demap_levels<4>(s, noise, planes);
  }
}

template <int kLevels>
float error_power_levels(const Tile& s, std::uint32_t mask) {
  constexpr float a = kAmplitude<kLevels>;
  Vf total{};
  for (std::uint32_t v = 0; v < kVectors; ++v) {
    Vf lanes{};
    for (const float* part : {s.re, s.im}) {
      const Vf size = magnitude(load(part + v * kLanes)) * (1 / a);
      const Vf error = size - (2.0F * nearest_pair<(1 << (kLevels - 1)) - 1>(size) + 1.0F);
      lanes += error * error;
    }
    Vi wanted;
    for (std::uint32_t i = 0; i < kLanes; ++i) wanted[i] = 1 << (v * kLanes + i);
    total += (Vf)((Vi)lanes & (((static_cast<std::int32_t>(mask) & wanted)) != 0));
  }
  return sum(total) * (a * a);
}

float error_power(Modulation modulation, const Tile& s, std::uint32_t mask) noexcept {
  switch (modulation) {
    case Modulation::Qpsk: return error_power_levels<1>(s, mask);
    case Modulation::Qam16: return error_power_levels<2>(s, mask);
    case Modulation::Qam64: return error_power_levels<3>(s, mask);
    case Modulation::Qam256: return error_power_levels<4>(s, mask);
  }
  return 0;
}

// Negated where the lane's bit is set.
[[gnu::always_inline]] inline __m128i flip(__m128i soft, std::uint16_t signs) {
#if CARILLON_SIMD_AVX512
  return _mm_mask_sub_epi8(soft, signs, _mm_setzero_si128(), soft);
#else
  const __m128i byte_of = _mm_set_epi8(1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0);
  const __m128i bit_of = _mm_set1_epi64x(static_cast<long long>(0x8040201008040201));
  const __m128i spread = _mm_shuffle_epi8(_mm_cvtsi32_si128(signs), byte_of);
  const __m128i set = _mm_cmpeq_epi8(_mm_and_si128(spread, bit_of), bit_of);
  return _mm_sub_epi8(_mm_xor_si128(soft, set), set);
#endif
}

// Lanes [first, first + count) to `place`, and nothing else.
[[gnu::always_inline]] inline void store_lanes(std::int8_t* place, __m128i soft,
                                               std::uint32_t first, std::uint32_t count) {
#if CARILLON_SIMD_AVX512
  const auto lanes = static_cast<__mmask16>(((1U << count) - 1) << first);
  _mm_mask_storeu_epi8(place - first, lanes, soft);
#else
  std::int8_t all[kTileLanes];
  std::memcpy(all, &soft, sizeof all);
  std::memcpy(place, all + first, count);
#endif
}

// The lanes of one plane that a boundary between pieces divides: as many stores as pieces.
void store_divided(std::int8_t* soft, const SoftPiece* piece, std::uint32_t e, __m128i plane,
                   std::uint32_t first, std::uint32_t count) {
  for (std::uint32_t done = 0; done < count; ++piece) {
    const std::uint32_t into = e + done - piece->e;
    const std::uint32_t lanes = std::min(count - done, piece->count - into);
    store_lanes(soft + piece->d + into, plane, first + done, lanes);
    done += lanes;
  }
}

// Pieces and planes both ascend in e, so one pass over both finds each plane's place.
template <bool kWholeTile>
void store_tile(const SoftMap& map, std::uint32_t re, std::uint32_t first, std::uint32_t count,
                const std::int8_t (*planes)[16], const std::uint16_t* signs, std::int8_t* soft) {
  const SoftPiece as_sent{0, map.E, 0};
  const SoftPiece* piece = map.direct ? map.pieces.data() : &as_sent;
  // Kept in registers: to the compiler, a store of bytes may change the map.
  const std::uint32_t planes_left = map.bits, stride = map.plane_stride;
  std::uint32_t e = re, end = 0;
  std::int8_t* origin = soft;
  const auto enter = [&] {
    end = piece->e + piece->count;
    origin = soft + piece->d - piece->e;
  };
  enter();
  for (std::uint32_t i = 0; i < planes_left; ++i, e += stride) {
    for (; e >= end; enter()) ++piece;
    const __m128i plane =
        flip(_mm_loadu_si128(reinterpret_cast<const __m128i*>(planes[i])), signs[i]);
    if (e + count > end) [[unlikely]]
      store_divided(soft, piece, e, plane, first, count);
    else if (kWholeTile)
      _mm_storeu_si128(reinterpret_cast<__m128i*>(origin + e), plane);
    else
      store_lanes(origin + e, plane, first, count);
  }
}

void store_planes(const SoftMap& map, std::uint32_t re, std::uint32_t first, std::uint32_t count,
                  const std::int8_t (*planes)[16], const std::uint16_t* signs,
                  std::int8_t* soft) noexcept {
  if (count == kTileLanes)
    store_tile<true>(map, re, 0, kTileLanes, planes, signs, soft);
  else
    store_tile<false>(map, re, first, count, planes, signs, soft);
}

// place += from, kept within ±kLlrLimit.
[[gnu::always_inline]] inline void add_soft(std::int8_t* place, const std::int8_t* from,
                                            std::uint32_t count) {
  constexpr int kLimit = static_cast<int>(kLlrLimit);
  std::uint32_t i = 0;
  for (; i + 32 <= count; i += 32) {
    auto* const to = reinterpret_cast<__m256i*>(place + i);
    const __m256i sum = _mm256_adds_epi8(
        _mm256_loadu_si256(to), _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i)));
    _mm256_storeu_si256(to, _mm256_max_epi8(sum, _mm256_set1_epi8(-kLimit)));
  }
  for (; i < count; ++i)
    place[i] = static_cast<std::int8_t>(std::clamp(place[i] + from[i], -kLimit, kLimit));
}

void recover(const SoftMap& map, const std::int8_t* e, std::int8_t* d) noexcept {
  std::memset(d, 0, map.N);
  for (std::uint32_t lap = 0; lap < map.E; lap += map.lap)
    for (std::uint32_t p = 0; p < map.piece_count; ++p) {
      const SoftPiece& piece = map.pieces[p];
      if (lap + piece.e >= map.E) break;
      add_soft(d + piece.d, e + lap + piece.e, std::min(piece.count, map.E - lap - piece.e));
    }
}

}  // namespace

const DemapKernels demap_kernels{
    .demap = demap, .store = store_planes, .recover = recover, .error_power = error_power};
