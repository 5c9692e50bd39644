// Included inside an instruction set's namespace (dsp/simd/*_begin.inl).

namespace {

// Minimax polynomials over ±π/4, of relative errors 3e-9 and 3e-8.
constexpr float kSine[] = {-0.00019504022F, 0.00833203688F, -0.166666507F, 0.999999997F};
constexpr float kCosine[] = {-0.00135859085F, 0.0416550269F, -0.499998567F, 0.999999972F};
constexpr float kRadians = 1.46291808e-9F;  // 2π·2^-32

template <std::size_t N>
[[gnu::always_inline]] inline Vf polynomial(const float (&c)[N], Vf x) {
  Vf sum = broadcast(c[0]);
  for (std::size_t i = 1; i < N; ++i) sum = sum * x + c[i];
  return sum;
}

using Vu [[gnu::vector_size(kLanes * 4)]] = std::uint32_t;  // wraps

// The nearest quarter of a turn, and what is left: at most an eighth.
[[gnu::always_inline]] inline Parts point(Vu phase) {
  const Vu quarter = (phase + (1U << 29)) >> 30;
  const Vf x = __builtin_convertvector((Vi)(phase - (quarter << 30)), Vf) * kRadians;
  const Vf square = x * x;
  const Vf sine = polynomial(kSine, square) * x, cosine = polynomial(kCosine, square);
  const auto odd = (quarter & 1) != 0;
  const Vu of_re = ((quarter + 1) & 2) << 30, of_im = (quarter & 2) << 30;  // signs
  return {(Vf)((Vu)(odd ? sine : cosine) ^ of_re), (Vf)((Vu)(odd ? cosine : sine) ^ of_im)};
}

[[gnu::always_inline]] inline void turn_vector(const std::uint32_t* phases, float* y) {
  Vu phase;
  std::memcpy(&phase, phases, sizeof phase);
  const Parts both = point(phase);
  store(y, interleaved(both, 0));
  store(y + kLanes, interleaved(both, kLanes / 2));
}

void turn(const std::uint32_t* phases, Complex* y, std::size_t count) noexcept {
  std::size_t n = 0;
  for (; n + kLanes <= count; n += kLanes) turn_vector(phases + n, floats_of(y + n));
  if (n == count) return;
  std::uint32_t rest[kLanes] = {};
  float made[2 * kLanes];
  std::memcpy(rest, phases + n, (count - n) * sizeof *phases);
  turn_vector(rest, made);
  std::memcpy(floats_of(y + n), made, 2 * (count - n) * sizeof(float));
}

}  // namespace

const TurnKernels turn_kernels{.turn = turn};
