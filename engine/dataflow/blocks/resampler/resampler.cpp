// Another rate, by a ratio of whole numbers.
#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "dataflow/blocks/fir/taps.hpp"
#include "dataflow/blocks/types.hpp"
#include "dsp/fir/fir.hpp"

namespace carillon::dataflow {
namespace {

constexpr std::size_t kMostTaps = 65536;

/// A ratio L/M in lowest terms.
struct Ratio {
  std::size_t up, down;
};

std::size_t history_of(std::size_t taps, Ratio ratio) {
  return (taps + ratio.up - 1) / ratio.up - 1;
}

/// The taps p, p + L, p + 2L, …, of all p equally many.
dsp::Fir branch(dsp::FirKind kind, const std::vector<float>& taps, std::size_t p, Ratio ratio) {
  std::vector<float> own(history_of(taps.size(), ratio) + 1);
  for (std::size_t j = 0; p + j * ratio.up < taps.size(); ++j) own[j] = taps[p + j * ratio.up];
  return {kind, own, ratio.down};
}

/// y[m] = Σ h[k]·u[mM-k] where u has x between L - 1 zeros each: y[eL + l] is what the taps of
/// phase lM mod L make of x up to eM + ⌊lM/L⌋. Each of these L filters decimates by M.
class Resampler final : public Block {
 public:
  Resampler(Items items, const std::vector<float>& taps, Ratio ratio)
      : Block({{{items, ratio.down, ratio.down, history_of(taps.size(), ratio)}},
               Output{items, ratio.up}}),
        ratio_(ratio) {
    const auto kind = items == Items::Complex ? dsp::FirKind::RealTaps : dsp::FirKind::Real;
    for (std::size_t l = 0; l < ratio.up; ++l)
      branches_.push_back(branch(kind, taps, l * ratio.down % ratio.up, ratio));
  }

  void execute(const float* const* in, float* out, std::size_t count) noexcept override {
    if (ports().output->items == Items::Complex)
      resample<dsp::Complex>(*in, reinterpret_cast<dsp::Complex*>(out), count);
    else
      resample<float>(*in, out, count);
  }

 private:
  template <typename Sample>
  void resample(const float* in, Sample* y, std::size_t count) noexcept {
    constexpr std::size_t kAtOnce = 256, kFloats = sizeof(Sample) / sizeof(float);
    std::array<Sample, kAtOnce> made;
    for (std::size_t done = 0; done < count; done += kAtOnce) {
      const std::size_t now = std::min(kAtOnce, count - done);
      for (std::size_t l = 0; l < ratio_.up; ++l) {
        const std::size_t first = done * ratio_.down + l * ratio_.down / ratio_.up;
        dsp::fir_kernels().filter(branches_[l], in + first * kFloats,
                                  reinterpret_cast<float*>(made.data()), now);
        for (std::size_t e = 0; e < now; ++e) y[(done + e) * ratio_.up + l] = made[e];
      }
    }
  }

  Ratio ratio_;
  std::vector<dsp::Fir> branches_;
};

Ratio ratio_of(const Values& values) {
  const auto up = static_cast<std::size_t>(whole(values, "interpolation"));
  const auto down = static_cast<std::size_t>(whole(values, "decimation"));
  const std::size_t common = std::gcd(up, down);
  return {up / common, down / common};
}

}  // namespace

BlockType resampler_type() {
  Parameter decimation = decimation_parameter("The ratio's lower number.");
  Parameter interpolation = decimation;
  interpolation.name = "interpolation";
  interpolation.text = "The ratio's upper number: the rate times this, over `decimation`.";
  return {"resampler",
          "filters",
          "Changes the rate by a ratio of whole numbers, as if zeros were between the samples and "
          "before the first; filters at `interpolation` times the rate.",
          {taps_parameter("The filter's impulse response, real; that levels stay, its sum is "
                          "`interpolation`."),
           interpolation, decimation, samples_parameter()},
          [](const Values& values) {
            return std::make_unique<Resampler>(items(values), taps_of(values, kMostTaps),
                                               ratio_of(values));
          }};
}

}  // namespace carillon::dataflow
