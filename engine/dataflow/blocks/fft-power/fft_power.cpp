// Spectra.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "dataflow/blocks/types.hpp"
#include "dsp/spectrum/spectrum.hpp"

namespace carillon::dataflow {
namespace {

constexpr std::size_t kMostSamples = std::size_t{1} << 22;

// a0 - a1·cos + a2·cos of the double angle, periodic.
std::vector<double> window_of(const std::string& name, std::size_t size) {
  const bool hann = name == "hann", blackman = name == "blackman";
  const double a0 = hann ? 0.5 : blackman ? 0.42 : 1, a1 = hann || blackman ? 0.5 : 0;
  const double a2 = blackman ? 0.08 : 0;
  std::vector<double> window;
  for (std::size_t n = 0; n < size; ++n) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(n) / static_cast<double>(size);
    window.push_back(a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle));
  }
  return window;
}

// So that the mean of `averages` powers is 1 for a complex exponential of magnitude 1 on a bin.
dsp::Spectrum spectrum_of(const std::vector<double>& window, std::size_t averages) {
  const double sum = std::reduce(window.begin(), window.end());
  std::vector<float> scaled;
  for (const double weight : window)
    scaled.push_back(static_cast<float>(weight / sum / std::sqrt(static_cast<double>(averages))));
  return dsp::Spectrum(scaled);
}

class FftPower final : public Block {
 public:
  FftPower(dsp::Spectrum spectrum, std::size_t averages)
      : Block({{{Items::Complex, spectrum.size() * averages, spectrum.size() * averages}},
               Output{Items::Real, spectrum.size()}}),
        spectrum_(std::move(spectrum)),
        averages_(averages) {}

  void execute(const float* const* in, float* out, std::size_t count) noexcept override {
    const std::size_t size = spectrum_.size();
    const auto* x = reinterpret_cast<const dsp::Complex*>(*in);
    std::fill_n(out, size * count, 0.0F);
    for (std::size_t n = 0; n < count; ++n)
      for (std::size_t i = 0; i < averages_; ++i, x += size)
        dsp::spectrum_kernels().add_power(spectrum_, x, out + n * size);
  }

 private:
  dsp::Spectrum spectrum_;
  std::size_t averages_;
};

std::unique_ptr<Block> made(const Values& values) {
  const auto size = static_cast<std::size_t>(whole(values, "size"));
  const auto averages = static_cast<std::size_t>(whole(values, "averages"));
  if (!std::has_single_bit(size)) throw std::invalid_argument("size: must be a power of two");
  if (size * averages > kMostSamples)
    throw std::invalid_argument("averages: of at most 4194304 samples in all");
  return std::make_unique<FftPower>(spectrum_of(window_of(text(values, "window"), size), averages),
                                    averages);
}

}  // namespace

BlockType fft_power_type() {
  return {"fft-power",
          "measurement",
          "Makes spectra: of each `size` times `averages` samples the mean power at `size` "
          "frequencies, the lowest first.",
          {{.name = "size",
            .text = "Frequencies: a power of two.",
            .kind = ParameterKind::Whole,
            .standard = 1024,
            .least = 256,
            .most = 65536},
           {.name = "averages",
            .text = "Spectra that one is the mean of.",
            .kind = ParameterKind::Whole,
            .standard = 1,
            .least = 1,
            .most = 16384},
           {.name = "window",
            .text = "What samples are weighted by. A complex exponential of magnitude 1 on one of "
                    "the frequencies has power 1.",
            .kind = ParameterKind::Text,
            .standard = "hann",
            .choices = {"hann", "blackman", "rectangular"}}},
          made};
}

}  // namespace carillon::dataflow
