#include "dsp/spectrum/spectrum.hpp"

#include <algorithm>

namespace carillon::dsp {

Spectrum::Spectrum(std::span<const float> window)
    : window_(window.size()), scratch_(2 * window.size()) {
  std::ranges::copy(window, window_.begin());
  const auto size = static_cast<std::uint32_t>(window.size());
  eight_ = fft_tables(size, 8, size / 2, 1);
  sixteen_ = fft_tables(size, 16, size / 2, 1);
}

const SpectrumKernels& spectrum_kernels(Isa isa) {
  return isa == Isa::Avx2 ? avx2::spectrum_kernels : avx512::spectrum_kernels;
}

}  // namespace carillon::dsp
