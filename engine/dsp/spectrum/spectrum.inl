// Included inside an instruction set's namespace (dsp/simd/*_begin.inl).
#include "base/simd/fft.inl"

namespace {

void add_power(Spectrum& spectrum, const Complex* x, float* power) noexcept {
  const FftTables& tables = spectrum.tables(kLanes);
  const float *const from = floats_of(x), *const window = spectrum.window();
  float* const work = spectrum.scratch();
  samples_to_rows<kLanes>(
      tables, work,
      [=](std::size_t n) __attribute__((always_inline)) {
        const Vf weight = load(window + n);
        const Parts both = parts(load(from + 2 * n), load(from + 2 * n + kLanes));
        return Cx<kLanes>{weight * both.re, weight * both.im};
      },
      [] {});
  const std::uint16_t* frequency = tables.frequency_at.data();
  transform_rows<kLanes>(
      tables, work, WorkRows<kLanes>{work},
      [=](std::uint32_t place, Cx<kLanes> bins) __attribute__((always_inline)) {
        float* const to = power + std::size_t{frequency[place]} * kLanes;
        store(to, load(to) + (bins.re * bins.re + bins.im * bins.im));
      });
}

}  // namespace

const SpectrumKernels spectrum_kernels{.add_power = add_power};
