#include "dsp/channelize/channelize.hpp"

namespace carillon::dsp {
namespace {

constexpr std::size_t kMostLanes = 16;

}  // namespace

Channelizer::Channelizer(std::span<const float> taps, std::size_t channels)
    : tables_(row_tables(static_cast<std::uint32_t>(channels))),
      length_((taps.size() + channels - 1) / channels),
      taps_(length_ * channels),
      samples_(2 * channels * samples_of_branch()),
      scratch_(2 * channels * kMostLanes) {
  for (std::size_t k = 0; k < taps.size(); ++k)
    taps_[k % channels * length_ + k / channels] = taps[k];
}

const ChannelizeKernels& channelize_kernels(Isa isa) {
  return isa == Isa::Avx2 ? avx2::channelize_kernels : avx512::channelize_kernels;
}

}  // namespace carillon::dsp
