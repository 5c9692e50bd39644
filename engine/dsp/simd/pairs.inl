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

/// -1, 1 in turn.
[[gnu::always_inline]] inline Vf alternating() {
  Vf signs{};
  for (std::uint32_t i = 0; i < kLanes; ++i) signs[i] = i % 2 == 0 ? -1.0F : 1.0F;
  return signs;
}

[[gnu::always_inline]] inline Vf product(Vf a, Vf b) {
  return real_parts(a) * b + alternating() * imaginary_parts(a) * swapped(b);
}

}  // namespace
