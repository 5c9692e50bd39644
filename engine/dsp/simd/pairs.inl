// Vectors of complex samples: re and im in turn. Included inside an instruction set's namespace,
// after base/simd/vector.inl.

namespace {

// The vectors' lanes that `lane` names for each.
template <typename F>
[[gnu::always_inline]] inline Vf pick(Vf v, F&& lane) {
  Vi from{};
  for (std::uint32_t i = 0; i < kLanes; ++i) from[i] = static_cast<std::int32_t>(lane(i));
  return __builtin_shuffle(v, from);
}

/// re, re of each sample; im, im; im, re.
[[gnu::always_inline]] inline Vf real_parts(Vf v) {
  return pick(v, [](std::uint32_t i) { return i & ~1U; });
}
[[gnu::always_inline]] inline Vf imaginary_parts(Vf v) {
  return pick(v, [](std::uint32_t i) { return i | 1U; });
}
[[gnu::always_inline]] inline Vf swapped(Vf v) {
  return pick(v, [](std::uint32_t i) { return i ^ 1U; });
}

/// Of kLanes samples in two vectors, their parts apart.
struct Parts {
  Vf re, im;
};
[[gnu::always_inline]] inline Parts parts(Vf low, Vf high) {
  Vi even{}, odd{};
  for (std::uint32_t i = 0; i < kLanes; ++i) {
    even[i] = static_cast<std::int32_t>(2 * i);
    odd[i] = static_cast<std::int32_t>(2 * i + 1);
  }
  return {__builtin_shuffle(low, high, even), __builtin_shuffle(low, high, odd)};
}

/// The samples of half the lanes, from the first of these on.
[[gnu::always_inline]] inline Vf interleaved(Parts both, std::uint32_t first) {
  Vi from{};
  for (std::uint32_t i = 0; i < kLanes; ++i)
    from[i] = static_cast<std::int32_t>(first + i / 2 + (i % 2) * kLanes);
  return __builtin_shuffle(both.re, both.im, from);
}

/// -1, 1 in turn.
[[gnu::always_inline]] inline Vf alternating() {
  Vf signs{};
  for (std::uint32_t i = 0; i < kLanes; ++i) signs[i] = i % 2 == 0 ? -1.0F : 1.0F;
  return signs;
}

[[gnu::always_inline]] inline Vf product(Vf a, Vf b) {
  return real_parts(a) * b + alternating() * imaginary_parts(a) * swapped(b);
}

/// The same sample everywhere.
[[gnu::always_inline]] inline Vf repeated(Complex value) {
  Vf both{};
  for (std::uint32_t i = 0; i < kLanes; ++i) both[i] = i % 2 == 0 ? value.re : value.im;
  return both;
}

inline const float* floats_of(const Complex* x) { return reinterpret_cast<const float*>(x); }
inline float* floats_of(Complex* x) { return reinterpret_cast<float*>(x); }

/// f(vector, place of its first float): whole vectors, then what is left through one of its own.
template <typename F>
[[gnu::always_inline]] inline void each_vector(const float* x, float* y, std::size_t floats,
                                               F&& f) {
  std::size_t i = 0;
  for (; i + kLanes <= floats; i += kLanes) store(y + i, f(load(x + i), i));
  if (i == floats) return;
  float rest[kLanes] = {};
  std::memcpy(rest, x + i, (floats - i) * sizeof(float));
  store(rest, f(load(rest), i));
  std::memcpy(y + i, rest, (floats - i) * sizeof(float));
}

}  // namespace
