// Included inside an instruction set's namespace (phy/simd/*_begin.inl).

namespace {

// Two tiles at a time in 16-bit fixed point: what leaves are bytes.
inline constexpr std::uint32_t kPair = 2 * kTileLanes;
inline constexpr std::uint32_t kTileVectors = kTileLanes / kLanes;
using Vw [[gnu::vector_size(kLanes * 4)]] = std::int16_t;
using Vu [[gnu::vector_size(kLanes * 4)]] = std::uint16_t;
/// A number for each lane of the pair, in the order that packing leaves them in.
struct Words {
  Vw v[kTileVectors];
};

#if CARILLON_SIMD_AVX512
// With all lanes: GCC 12 warns of the undefined source of the unmasked forms.
[[gnu::always_inline]] inline Vf round_down(Vf x) { return _mm512_floor_ps(x); }
[[gnu::always_inline]] inline Vf smaller(Vf a, Vf b) { return _mm512_maskz_min_ps(0xFFFF, a, b); }
[[gnu::always_inline]] inline Vf larger(Vf a, Vf b) { return _mm512_maskz_max_ps(0xFFFF, a, b); }
// To 14 bits (AVX2: 11 and a half), where an LLR has 7.
[[gnu::always_inline]] inline Vf reciprocal(Vf x) { return _mm512_maskz_rcp14_ps(0xFFFF, x); }
[[gnu::always_inline]] inline Vw pack(Vf a, Vf b) {
  return (Vw)_mm512_packs_epi32(_mm512_maskz_cvtps_epi32(0xFFFF, a),
                                _mm512_maskz_cvtps_epi32(0xFFFF, b));
}
// a·b / 2¹⁵, rounded.
[[gnu::always_inline]] inline Vw product(Vw a, Vw b) {
  return (Vw)_mm512_mulhrs_epi16((__m512i)a, (__m512i)b);
}
[[gnu::always_inline]] inline Vu added(Vu a, Vu b) {
  return (Vu)_mm512_adds_epu16((__m512i)a, (__m512i)b);
}
[[gnu::always_inline]] inline Vu excess(Vu a, Vu b) {
  return (Vu)_mm512_subs_epu16((__m512i)a, (__m512i)b);
}
[[gnu::always_inline]] inline Vu smaller(Vu a, Vu b) {
  return (Vu)_mm512_min_epu16((__m512i)a, (__m512i)b);
}
[[gnu::always_inline]] inline Vu magnitude(Vw a) { return (Vu)_mm512_abs_epi16((__m512i)a); }
#else
[[gnu::always_inline]] inline Vf round_down(Vf x) { return _mm256_floor_ps(x); }
[[gnu::always_inline]] inline Vf smaller(Vf a, Vf b) { return _mm256_min_ps(a, b); }
[[gnu::always_inline]] inline Vf larger(Vf a, Vf b) { return _mm256_max_ps(a, b); }
[[gnu::always_inline]] inline Vf reciprocal(Vf x) { return _mm256_rcp_ps(x); }
[[gnu::always_inline]] inline Vw pack(Vf a, Vf b) {
  return (Vw)_mm256_packs_epi32(_mm256_cvtps_epi32(a), _mm256_cvtps_epi32(b));
}
// a·b / 2¹⁵, rounded.
[[gnu::always_inline]] inline Vw product(Vw a, Vw b) {
  return (Vw)_mm256_mulhrs_epi16((__m256i)a, (__m256i)b);
}
[[gnu::always_inline]] inline Vu added(Vu a, Vu b) {
  return (Vu)_mm256_adds_epu16((__m256i)a, (__m256i)b);
}
[[gnu::always_inline]] inline Vu excess(Vu a, Vu b) {
  return (Vu)_mm256_subs_epu16((__m256i)a, (__m256i)b);
}
[[gnu::always_inline]] inline Vu smaller(Vu a, Vu b) {
  return (Vu)_mm256_min_epu16((__m256i)a, (__m256i)b);
}
[[gnu::always_inline]] inline Vu magnitude(Vw a) { return (Vu)_mm256_abs_epi16((__m256i)a); }
#endif

// ---- One component x of a symbol in units of the amplitude a, its points at ±1, ±3, …: the
// nearest point of the other sign is at 1 and that of the same sign at 2m + 1, so the sign bit's
// LLR is
// ((|x| + 1)² - (|x| - 2m - 1)²) a²/σ² = s·(m + 1)(|x| - m) with the slope s = 4 a²/σ². The next
// bit says on which side of the middle point |x| lies: the same constellation, half as large,
// around it.

// kLevels bits for each component.
template <int kLevels>
inline constexpr float kAmplitude = half_distance(static_cast<Modulation>(2 * kLevels));

// A variance as its bits: these ascend, and of what is none, negative or NaN, lie past infinity's.
using Vn [[gnu::vector_size(kLanes * 4)]] = std::uint32_t;
[[gnu::always_inline]] inline Vf within(Vf noise, float least) {
  const Vn floor = (Vn)broadcast(least), infinity = (Vn)broadcast(INFINITY);
  const Vn raised = (Vn)noise > floor ? (Vn)noise : floor;
  return (Vf)(raised < infinity ? raised : infinity);
}

// x and the slope as integers whose product over 2¹⁵ is an LLR: x in units of 2⁻⁸, within ±128, and
// the slope in 2⁻⁷, below 256. Rounding either one costs at most half a step of the LLR: x where
// the slope is largest, the slope where x lies farthest out.
inline constexpr int kPointBits = 8, kSlopeBits = 15 - kPointBits;

[[gnu::always_inline]] inline Vu all(int word) { return Vu{} + static_cast<std::uint16_t>(word); }
[[gnu::always_inline]] inline Vu point(int n) { return all(n << kPointBits); }

// (m + 1)(x - m) of a component with 2·kHalf points, kept below 128.
template <int kHalf>
[[gnu::always_inline]] inline Vu sign_distance(Vu x) {
  if constexpr (kHalf == 8) {
    const Vu m = smaller(x >> (kPointBits + 1), all(7));
    return (m + 1) * smaller(x - (m << kPointBits), all(0x7fff / 8));
  }
  Vu sum = x;
#pragma GCC unroll 4
  for (int m = 1; m < kHalf; ++m) sum = added(sum, excess(x, point(2 * m)));
  return smaller(sum, all(0x7fff));
}

// An LLR before it is saturated: its magnitude and a number of its sign, or (sign is null) itself.
struct Soft {
  Words llr;
  const Words* sign;
};

// The LLR of the outermost of x's bits, where x has 2·kHalf points.
template <int kHalf>
[[gnu::always_inline]] inline Soft outermost(const Words& x, const Words& slope) {
  Soft soft{{}, kHalf == 1 ? nullptr : &x};
  for (std::uint32_t i = 0; i < kTileVectors; ++i)
    if constexpr (kHalf == 1)
      soft.llr.v[i] = product(x.v[i], slope.v[i]);
    else
      soft.llr.v[i] = product((Vw)sign_distance<kHalf>(magnitude(x.v[i])), slope.v[i]);
  return soft;
}

// What is left of x without that bit.
template <int kHalf>
[[gnu::always_inline]] inline Words without_outermost(const Words& x) {
  Words rest;
  for (std::uint32_t i = 0; i < kTileVectors; ++i)
    rest.v[i] = (Vw)(point(kHalf) - magnitude(x.v[i]));
  return rest;
}

// ---- Soft bits to their places

// Packing takes its operands in turns of four lanes: permutations put that right.
#if CARILLON_SIMD_AVX512
// The upper byte of each word of two planes, in the lanes' order.
struct UpperBytes {
  alignas(64) std::uint8_t of[2 * kPair];
  constexpr UpperBytes() : of() {
    for (std::uint32_t i = 0; i < kPair; ++i) {
      const std::uint32_t turn = i / 4, word = turn % 4 * 8 + turn / 4 * 4 + i % 4;
      of[i] = static_cast<std::uint8_t>(2 * word + 1);
      of[kPair + i] = static_cast<std::uint8_t>(of[i] + 2 * kPair);
    }
  }
};
inline constexpr UpperBytes kUpperBytes;

/// Bytes of two planes, negated where the lane's bit is set.
template <typename Put>
[[gnu::always_inline]] inline void put_planes(const Soft& re, const Soft& im,
                                              const std::uint32_t (&signs)[2], const Put& put) {
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  __m512i bytes = _mm512_packs_epi16((__m512i)re.llr.v[0], (__m512i)im.llr.v[0]);
  std::uint64_t flips = signs[0] | std::uint64_t{signs[1]} << 32;
  if (re.sign != nullptr)
    flips ^= _mm512_movepi8_mask(_mm512_permutex2var_epi8(
        (__m512i)re.sign->v[0], _mm512_load_si512(kUpperBytes.of), (__m512i)im.sign->v[0]));
  else
    bytes = _mm512_max_epi8(bytes, _mm512_set1_epi8(-static_cast<std::int8_t>(kLlrLimit)));
  bytes = _mm512_maskz_permutexvar_epi32(0xFFFF, order, bytes);
  bytes = _mm512_mask_sub_epi8(bytes, flips, _mm512_setzero_si512(), bytes);
  __m256i planes[2];
  std::memcpy(planes, &bytes, sizeof bytes);
  put(0, planes[0]);
  put(1, planes[1]);
}
#else
[[gnu::always_inline]] inline __m256i packed(const Words& w) {
  return _mm256_packs_epi16((__m256i)w.v[0], (__m256i)w.v[1]);
}

// All ones in the bytes whose lane's bit is set, in the order of packed bytes.
[[gnu::always_inline]] inline __m256i spread(std::uint32_t signs) {
  const __m256i byte_of = _mm256_setr_epi32(0, 0x01010101, 0x02020202, 0x03030303, 0, 0x01010101,
                                            0x02020202, 0x03030303);
  const __m256i bit_of = _mm256_setr_epi32(
      0x08040201, 0x08040201, 0x08040201, 0x08040201, static_cast<int>(0x80402010),
      static_cast<int>(0x80402010), static_cast<int>(0x80402010), static_cast<int>(0x80402010));
  const __m256i bytes =
      _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<std::int32_t>(signs)), byte_of);
  return _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit_of), bit_of);
}

[[gnu::always_inline]] inline __m256i plane_of(const Soft& soft, std::uint32_t signs) {
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7), flip = spread(signs);
  __m256i bytes = packed(soft.llr);
  if (soft.sign != nullptr) {
    // No sign is zero but of an LLR of zero, or of one that rounds to it.
    bytes = _mm256_sign_epi8(bytes, _mm256_xor_si256(packed(*soft.sign), flip));
  } else {
    bytes = _mm256_max_epi8(bytes, _mm256_set1_epi8(-static_cast<std::int8_t>(kLlrLimit)));
    bytes = _mm256_sub_epi8(_mm256_xor_si256(bytes, flip), flip);
  }
  return _mm256_permutevar8x32_epi32(bytes, order);
}

/// Bytes of two planes, negated where the lane's bit is set.
template <typename Put>
[[gnu::always_inline]] inline void put_planes(const Soft& re, const Soft& im,
                                              const std::uint32_t (&signs)[2], const Put& put) {
  put(0, plane_of(re, signs[0]));
  put(1, plane_of(im, signs[1]));
}
#endif

// All bits of a pair of tiles from the i-th on: signs(i) are those to flip, put(i, plane) stores.
template <int kHalf, typename Signs, typename Put>
[[gnu::always_inline]] inline void demap_bits(std::uint32_t i, const Words& re, const Words& im,
                                              const Words& slope, const Signs& signs,
                                              const Put& put) {
  put_planes(outermost<kHalf>(re, slope), outermost<kHalf>(im, slope), {signs(i), signs(i + 1)},
             [&](std::uint32_t k, __m256i plane) { put(i + k, plane); });
  if constexpr (kHalf > 1)
    demap_bits<kHalf / 2>(i + 2, without_outermost<kHalf>(re), without_outermost<kHalf>(im), slope,
                          signs, put);
}

/// Neighbouring tiles of one user (strides in elements), and where the soft bits of their lanes go.
struct TileRun {
  const Tile* s;
  std::size_t stride;
  const float* noise;
  std::size_t noise_stride;
  const std::uint16_t* signs;
  std::size_t sign_stride;
  std::int8_t* to[kMaxBitsPerSymbol];
};

/// A pair of tiles in fixed point.
struct Pair {
  Words re, im, slope;
};

template <int kLevels>
constexpr float slope_times_noise() {
  constexpr float a = kAmplitude<kLevels>;
  return kLlrScale * 4 * a * a;
}

// The lanes of two tiles, as vectors.
[[gnu::always_inline]] inline Vf of_pair(const float* first, const float* second, std::uint32_t v) {
  return load((v < kTileVectors ? first : second) + v % kTileVectors * kLanes);
}

template <int kLevels>
[[gnu::always_inline]] inline Pair convert(const Tile& first, const Tile& second,
                                           const float* first_noise, const float* second_noise) {
  constexpr float numerator = slope_times_noise<kLevels>();
  const auto words = [](const auto& value) {
    Words words;
    for (std::uint32_t w = 0; w < kTileVectors; ++w)
      words.v[w] = pack(value(2 * w), value(2 * w + 1));
    return words;
  };
  const auto points = [&](const float* one, const float* other) {
    return words([&](std::uint32_t v) {
      return of_pair(one, other, v) * ((1 << kPointBits) / kAmplitude<kLevels>);
    });
  };
  return {points(first.re, second.re), points(first.im, second.im), words([&](std::uint32_t v) {
            const Vf noise =
                within(of_pair(first_noise, second_noise, v), numerator / kMostLlrSlope);
            return numerator * (1 << kSlopeBits) * reciprocal(noise);
          })};
}

// Pairs that are converted before their bits are taken: the chains of dependent instructions of
// either pass are short enough for several pairs to be under way at once. Not unrolled, so that the
// front end keeps them.
inline constexpr std::uint32_t kMostPairs = 8;

template <int kLevels>
void demap_pairs(const TileRun& run, std::uint32_t first, std::uint32_t count) {
  Pair pairs[kMostPairs];
#pragma GCC unroll 1
  for (std::uint32_t p = 0; p < count; ++p) {
    const std::size_t tile = 2 * (first + p);
    const Tile* s = run.s + tile * run.stride;
    const float* noise = run.noise + tile * run.noise_stride;
    pairs[p] = convert<kLevels>(s[0], s[run.stride], noise, noise + run.noise_stride);
  }
#pragma GCC unroll 1
  for (std::uint32_t p = 0; p < count; ++p) {
    const auto signs = [&](std::uint32_t i) {
      std::uint32_t both;
      std::memcpy(&both, run.signs + i * run.sign_stride + 2 * (first + p), sizeof both);
      return both;
    };
    const auto put = [&](std::uint32_t i, __m256i plane) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(run.to[i] + (first + p) * kPair), plane);
    };
    demap_bits<1 << (kLevels - 1)>(0, pairs[p].re, pairs[p].im, pairs[p].slope, signs, put);
  }
}

template <int kLevels>
void demap_pairs(const TileRun& run, std::uint32_t pairs) {
  for (std::uint32_t first = 0; first < pairs; first += kMostPairs)
    demap_pairs<kLevels>(run, first, std::min(kMostPairs, pairs - first));
}

void demap_pairs(Modulation modulation, const TileRun& run, std::uint32_t pairs) {
  switch (modulation) {
    case Modulation::Qpsk: return demap_pairs<1>(run, pairs);
    case Modulation::Qam16: return demap_pairs<2>(run, pairs);
    case Modulation::Qam64: return demap_pairs<3>(run, pairs);
    case Modulation::Qam256: return demap_pairs<4>(run, pairs);
  }
}

// The pieces that hold the coded bits of a block, in ascending e.
struct Pieces {
  SoftPiece as_sent;
  const SoftPiece* first;

  explicit Pieces(const SoftMap& map)
      : as_sent{0, map.E, 0}, first(map.direct ? map.pieces.data() : &as_sent) {}
};

// Lanes [first, end) of every plane, which begins at e, to however many pieces they lie in.
void copy_lanes(const SoftRun& run, const SoftPiece* piece, std::uint32_t e, std::uint32_t first,
                std::uint32_t end, const std::int8_t (*planes)[kPair]) {
  for (std::uint32_t i = 0; i < run.map.bits; ++i, e += run.map.plane_stride)
    for (std::uint32_t lane = first; lane < end;) {
      while (e + lane >= piece->e + piece->count) ++piece;
      const std::uint32_t into = e + lane - piece->e;
      const std::uint32_t lanes = std::min(end - lane, piece->count - into);
      std::memcpy(run.soft + piece->d + into, planes[i] + lane, lanes);
      lane += lanes;
    }
}

/// Where the lanes of each plane go from element e of the block on, and how many of the first
/// `lanes` go straight on in all of them, before any has to change pieces.
std::uint32_t find_places(const SoftRun& run, const SoftPiece* piece, std::uint32_t e,
                          std::uint32_t first, std::uint32_t lanes,
                          std::int8_t* (&to)[kMaxBitsPerSymbol]) {
  std::uint32_t straight = lanes;
  // Pieces and planes both ascend in e, so that one pass over both finds each plane's place.
  for (std::uint32_t i = 0; i < run.map.bits; ++i, e += run.map.plane_stride) {
    while (e + first >= piece->e + piece->count) ++piece;
    to[i] = run.soft + piece->d + (e - piece->e);
    straight = std::min(straight, piece->e + piece->count - e);
  }
  return straight;
}

void demap(Modulation modulation, const SoftRun& run) noexcept {
  const Pieces pieces(run.map);
  TileRun tiles{run.s, run.stride, run.noise, run.noise_stride, run.signs, run.sign_stride, {}};
  std::uint32_t first = run.first, lanes = first + run.count, e = run.re - first, pairs;
  for (; lanes > 0; lanes -= std::min(lanes, pairs * kPair), e += pairs * kPair, first = 0) {
    const std::uint32_t straight = find_places(run, pieces.first, e, first, lanes, tiles.to);
    pairs = first == 0 ? straight / kPair : 0;
    if (pairs > 0) {
      demap_pairs(modulation, tiles, pairs);
    } else {  // an end, or a change of pieces, within the pair
      pairs = 1;
      std::int8_t planes[kMaxBitsPerSymbol][kPair];
      if (lanes <= kTileLanes) tiles.stride = tiles.noise_stride = 0;  // there is no second tile
      for (std::uint32_t i = 0; i < run.map.bits; ++i) tiles.to[i] = planes[i];
      demap_pairs(modulation, tiles, 1);
      copy_lanes(run, pieces.first, e, first, std::min(lanes, kPair), planes);
    }
    tiles.s += 2 * pairs * tiles.stride;
    tiles.noise += 2 * pairs * tiles.noise_stride;
    tiles.signs += 2 * pairs;
  }
}

void fetch(const SoftRun& run) noexcept {
  std::int8_t* to[kMaxBitsPerSymbol];
  const std::uint32_t lanes = find_places(run, Pieces(run.map).first, run.re, 0, run.count, to);
  for (std::uint32_t i = 0; i < run.map.bits; ++i) fetch_to_store(to[i], lanes);
}

// ---- Error power

inline float sum(Vf x) {
  __m256 halves[kLanes / 8];
  std::memcpy(halves, &x, sizeof x);
  const __m256 y = kLanes == 8 ? halves[0] : _mm256_add_ps(halves[0], halves[kLanes / 8 - 1]);
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

[[gnu::always_inline]] inline Vf magnitude(Vf x) {
  return (Vf)((Vi)x & std::numeric_limits<std::int32_t>::max());
}

// The points of one component in units of the amplitude are ±1, ±3, … ±(2 kMost + 1): which pair of
// them lies nearest to magnitude x.
template <int kMost>
[[gnu::always_inline]] inline Vf nearest_pair(Vf x) {
  return smaller(round_down(x * 0.5F), broadcast(kMost));
}

template <int kLevels>
float error_power_levels(const Tile& s, std::uint32_t mask) {
  constexpr float a = kAmplitude<kLevels>;
  Vf total{};
  for (std::uint32_t v = 0; v < kTileVectors; ++v) {
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

// ---- Repetitions

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
    .demap = demap, .fetch = fetch, .recover = recover, .error_power = error_power};
