#include "dsp/fir/fir.hpp"

namespace carillon::dsp {

Fir::Fir(FirKind kind, std::span<const float> taps, std::size_t decimation)
    : kind_(kind),
      length_(kind == FirKind::ComplexTaps ? taps.size() / 2 : taps.size()),
      decimation_(decimation),
      taps_(decimation == 1 ? taps.size() : 2 * length_ * floats_a_sample()) {
  set_taps(taps);
}

void Fir::set_taps(std::span<const float> taps) noexcept {
  if (decimation_ == 1) {
    for (std::size_t i = 0; i < taps.size(); ++i) taps_[i] = taps[i];
    return;
  }
  const std::size_t parts = kind_ == FirKind::ComplexTaps ? 2 : 1, each = floats_a_sample();
  for (std::size_t part = 0; part < parts; ++part)
    for (std::size_t k = 0; k < length_; ++k)
      for (std::size_t i = 0; i < each; ++i)
        taps_[(part * length_ + length_ - 1 - k) * each + i] = taps[k * parts + part];
}

const FirKernels& fir_kernels(Isa isa) {
  return isa == Isa::Avx2 ? avx2::fir_kernels : avx512::fir_kernels;
}

}  // namespace carillon::dsp
