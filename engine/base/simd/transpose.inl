// Vectors of L floats (L = 8 or 16) and squares of them with rows and columns exchanged.

namespace {

template <std::uint32_t L>
struct Simd {
  typedef float F __attribute__((vector_size(L * 4)));
  typedef std::int32_t I __attribute__((vector_size(L * 4)));

  [[gnu::always_inline]] static F load(const float* p) {
    F v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  [[gnu::always_inline]] static void store(float* p, F v) { std::memcpy(p, &v, sizeof v); }
};

// Lanes out of a and b: lane k of the result is lane Pick(k) of a, or of b from L on. (Where the
// pattern has an instruction, the compiler uses it; GCC 12 warns about its own AVX-512 intrinsics.)
template <auto Pick, typename F>
[[gnu::always_inline]] inline F shuffle(F a, F b) {
  return [&]<int... k>(std::integer_sequence<int, k...>) __attribute__((always_inline)) {
    return __builtin_shufflevector(a, b, Pick(k)...);
  }
  (std::make_integer_sequence<int, sizeof(F) / 4>());
}

/// out(j)[i] = in(i)[j] for L rows of L floats.
template <std::uint32_t L, typename In, typename Out>
[[gnu::always_inline]] inline void transpose(In in, Out out) {
  using F = typename Simd<L>::F;
  constexpr int n = L;
  // Within 128-bit parts: interleave numbers, then pairs of numbers; then gather whole parts.
  constexpr auto ones_low = [](int k) { return k / 4 * 4 + k % 4 / 2 + k % 2 * n; };
  constexpr auto ones_high = [](int k) { return k / 4 * 4 + k % 4 / 2 + k % 2 * n + 2; };
  constexpr auto twos_low = [](int k) { return k / 4 * 4 + k % 2 + k % 4 / 2 * n; };
  constexpr auto twos_high = [](int k) { return k / 4 * 4 + k % 2 + k % 4 / 2 * n + 2; };
  constexpr auto even = [](int k) { return k / 4 * 8 + k % 4; };
  constexpr auto odd = [](int k) { return k / 4 * 8 + k % 4 + 4; };
  F rows[L];
#pragma GCC unroll 4
  for (int g = 0; g < n; g += 4) {
    const F a = Simd<L>::load(in(g)), b = Simd<L>::load(in(g + 1)), c = Simd<L>::load(in(g + 2)),
            d = Simd<L>::load(in(g + 3));
    const F ab = shuffle<ones_low>(a, b), AB = shuffle<ones_high>(a, b);
    const F cd = shuffle<ones_low>(c, d), CD = shuffle<ones_high>(c, d);
    rows[g] = shuffle<twos_low>(ab, cd);
    rows[g + 1] = shuffle<twos_high>(ab, cd);
    rows[g + 2] = shuffle<twos_low>(AB, CD);
    rows[g + 3] = shuffle<twos_high>(AB, CD);
  }
  // Part l of rows[g + c] now holds column 4l + c of input rows g … g + 3.
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const F e = shuffle<even>(rows[c], rows[4 + c]), o = shuffle<odd>(rows[c], rows[4 + c]);
    if constexpr (L == 8) {
      Simd<L>::store(out(c), e);
      Simd<L>::store(out(4 + c), o);
    } else {
      const F E = shuffle<even>(rows[8 + c], rows[12 + c]);
      const F O = shuffle<odd>(rows[8 + c], rows[12 + c]);
      Simd<L>::store(out(c), shuffle<even>(e, E));
      Simd<L>::store(out(4 + c), shuffle<even>(o, O));
      Simd<L>::store(out(8 + c), shuffle<odd>(e, E));
      Simd<L>::store(out(12 + c), shuffle<odd>(o, O));
    }
  }
}

}  // namespace
