// Loops that keep a core's arithmetic busy and nothing else. Included inside an instruction set's
// namespace (phy/simd/*_begin.inl), after phy/ldpc/bytes.inl, phy/simd/int16_pairs.inl and, with
// AVX-512-FP16, phy/simd/matrix.inl.

namespace {

// The compiler may assume nothing about v from here on, and has to have computed it.
template <typename V>
[[gnu::always_inline]] inline void hold(V& v) {
  asm volatile("" : "+v"(v));
}

// v = operate(v, other) for kChains vectors in turn, kRounds times. They stay in registers, as
// every loop over them is unrolled.
template <typename V, typename Operate>
[[gnu::always_inline]] inline void chains(V other, Operate&& operate) {
  hold(other);
  V v[bench::kChains];
#pragma GCC unroll 12
  for (auto& chain : v) {
    chain = other;
    hold(chain);
  }
  for (int round = 0; round < bench::kRounds; ++round)
#pragma GCC unroll 12
    for (auto& chain : v) {
      chain = operate(chain, other);
      hold(chain);
    }
}

#define CARILLON_LOOP(name, start, expression)                                          \
  void name() {                                                                         \
    chains(                                                                             \
        start, [](auto v, [[maybe_unused]] auto other)                                  \
                   __attribute__((always_inline)) { return decltype(v)(expression); }); \
  }
CARILLON_LOOP(fused_fp32, broadcast(0.5F), v* other + other)
#if CARILLON_SIMD_FP16
CARILLON_LOOP(fused_fp16, _mm512_set1_ph(static_cast<_Float16>(0.5F)),
              _mm512_fmadd_ph(v, other, other))
#else
constexpr bench::PeakLoop fused_fp16 = nullptr;
#endif
CARILLON_LOOP(add_int16_pairs, Vi{} + 0x30005, add_pairs(v, v, other))
CARILLON_LOOP(add, broadcast_byte(3), v + other)
CARILLON_LOOP(add_one_saturated, broadcast_byte(3), add_saturated(v, other))
CARILLON_LOOP(take_smaller, broadcast_byte(3), smaller(v, other))
CARILLON_LOOP(take_magnitude, broadcast_byte(3), magnitude(v))
CARILLON_LOOP(compare_and_choose, broadcast_byte(3), choose_equal(v, other, other, v))
#undef CARILLON_LOOP

// What layered min-sum with the exact two smallest magnitudes has to do on bytes for one edge of a
// parity check, 11 operations: take the old message out of the posterior; parity; magnitude; the
// two smallest (3); is it the smallest itself; which of the two is its message; its sign (2); the
// new posterior. Offset and clipping are done once per check. Loads and stores are left out.
struct LdpcEdge {
  Vb parity, least, second;  // over the edges of a check
  Vb row_least, low, high;   // of the check whose messages are written

  // kMasked: the magnitude by a masked subtraction, on another port than vpabsb where there are
  // two.
  template <bool kMasked>
  [[gnu::always_inline]] void step(Vb& posterior, Vb& old_message) {
    hold(posterior);
    hold(old_message);
    Vb t = subtract_saturated(posterior, old_message);
    parity ^= t;
    const Vb strength = kMasked ? negated(t, t) : magnitude(t);
    second = smaller(second, larger(least, strength));
    least = smaller(least, strength);
    hold(t);  // a mask of its signs does not last from reading an edge to writing it
    Vb message = negated(choose_equal(strength, row_least, high, low), t);
    Vb updated = add_saturated(t, message);
    hold(message);
    hold(updated);
  }
};

// kMasked of three edges with the masked magnitude.
template <int kMasked>
void ldpc_edges() {
  LdpcEdge edge{broadcast_byte(0), broadcast_byte(127), broadcast_byte(127),
                broadcast_byte(5), broadcast_byte(3),   broadcast_byte(9)};
  for (int round = 0; round < bench::kRounds; ++round) {
#pragma GCC unroll 4
    for (int i = 0; i < bench::kChains / 3; ++i) {
      edge.step<(kMasked > 0)>(edge.low, edge.high);
      edge.step<(kMasked > 1)>(edge.high, edge.row_least);
      edge.step<(kMasked > 2)>(edge.row_least, edge.low);
    }
  }
  hold(edge.parity);
  hold(edge.least);
  hold(edge.second);
}

// Loads of `bytes`, a multiple of 512.
void read_all(const std::int8_t* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += 512)
#pragma GCC unroll 16
    for (std::size_t k = 0; k < 512; k += kByteLanes) {
      Vb v = load_bytes(from + i + k);
      asm volatile("" : : "v"(v));
    }
}

constexpr bench::PeakLoops kPeakLoops = {
    .lanes = kByteLanes,
    .fp32 = fused_fp32,
    .fp16 = fused_fp16,
    .int16 = add_int16_pairs,
    .int8 = add,
    .single = {{{"vpaddsb", add_one_saturated},
                {"vpminub", take_smaller},
                {"vpabsb", take_magnitude},
                {"vpcmpeqb and blend", compare_and_choose}}},
    .edges = {ldpc_edges<0>, ldpc_edges<1>},
    .read = read_all,
};

}  // namespace
