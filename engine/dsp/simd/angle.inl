// Angles of complex numbers. Included inside an instruction set's namespace, after
// base/simd/vector.inl.

namespace {

// atan(t)/t over t², by interpolation in Chebyshev's points of [0, 1]: within 1e-8.
constexpr float kArctangent[] = {0.0027662835F, -0.015731249F, 0.042137624F,
                                 -0.074568548F, 0.10618371F,   -0.14197798F,
                                 0.19991872F,   -0.33333037F,  0.99999998F};

template <typename Mask>
[[gnu::always_inline]] inline Vf chosen(Mask where, Vf yes, Vf no) {
  return where ? yes : no;
}

[[gnu::always_inline]] inline Vf absolute(Vf v) {
  return (Vf)((Vi)v & std::numeric_limits<std::int32_t>::max());
}

// The angle of each (re, im), 0 where both are.
[[gnu::always_inline]] inline Vf angle(Vf re, Vf im) {
  const Vf a = absolute(re), b = absolute(im);
  const auto steep = b > a;
  const Vf larger = chosen(steep, b, a), smaller = chosen(steep, a, b);
  const Vf t = smaller / chosen(larger > Vf{}, larger, broadcast(1.0F));
  const Vf square = t * t;
  Vf sum = broadcast(kArctangent[0]);
  for (std::size_t i = 1; i < std::size(kArctangent); ++i) sum = sum * square + kArctangent[i];
  Vf found = sum * t;
  found = chosen(steep, static_cast<float>(M_PI / 2) - found, found);
  found = chosen(re < Vf{}, static_cast<float>(M_PI) - found, found);
  return (Vf)((Vi)found | ((Vi)im & std::numeric_limits<std::int32_t>::min()));
}

}  // namespace
