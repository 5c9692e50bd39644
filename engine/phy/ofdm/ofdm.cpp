#include "phy/ofdm/ofdm.hpp"

#include <bit>
#include <cmath>
#include <stdexcept>
#include <string>

namespace carillon::phy {
namespace avx2 {
extern const OfdmKernels ofdm_kernels;
}
namespace avx512 {
extern const OfdmKernels ofdm_kernels;
}
namespace avx512fp16 {
extern const OfdmKernels ofdm_kernels;
}

const OfdmKernels& ofdm_kernels(Isa isa) {
  switch (isa) {
    case Isa::Avx512Fp16: return avx512fp16::ofdm_kernels;
    case Isa::Avx512: return avx512::ofdm_kernels;
    case Isa::Avx2: break;
  }
  return avx2::ofdm_kernels;
}

namespace {

void check(OfdmShape shape) {
  const std::uint32_t size = shape.fft_size, most = shape.dc_hole ? size - 1 : size;
  if (!std::has_single_bit(size) || size < 128 || size > 4096)
    throw std::invalid_argument("fft_size " + std::to_string(size) +
                                " is not a power of two from 128 to 4096");
  if (shape.subcarriers < 1 || shape.subcarriers > most)
    throw std::invalid_argument(
        "subcarriers " + std::to_string(shape.subcarriers) + " is not within 1 to " +
        std::to_string(most) +
        (shape.dc_hole ? " (fft_size - 1: the bin at DC stays empty)" : " (fft_size)"));
}

FftTables tables_of(const OfdmShape& shape, std::uint32_t lanes) {
  // Samples are converted as int16 << 16, where 2^31 is 1.0.
  return fft_tables(shape.fft_size, lanes, shape.subcarriers / 2,
                    std::ldexp(1 / std::sqrt(shape.fft_size), -31));
}

}  // namespace

OfdmPlan::OfdmPlan(OfdmShape shape) : shape_(shape) {
  check(shape);
  const std::uint32_t band = shape.subcarriers + (shape.dc_hole ? 1 : 0);
  const std::uint32_t unused = shape.fft_size - band, margin = (unused + 7) / 8;
  noise_first_ = band + margin;
  noise_bins_ = unused > 2 * margin ? unused - 2 * margin : 0;
  eight_ = tables_of(shape, 8);
  if (shape.fft_size >= 256) sixteen_ = tables_of(shape, 16);
}

}  // namespace carillon::phy
