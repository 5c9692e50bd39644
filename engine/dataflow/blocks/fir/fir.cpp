// A filter of finite impulse response that may divide the rate.
#include "dsp/fir/fir.hpp"

#include <stdexcept>
#include <vector>

#include "dataflow/blocks/fir/taps.hpp"
#include "dataflow/blocks/types.hpp"
#include "dsp/convolve/convolve.hpp"

namespace carillon::dataflow {
namespace {

dsp::FirKind kind_of(const Values& values, const std::vector<float>& taps) {
  const bool complex_taps = flag(values, "complex_taps");
  if (items(values) == Items::Real) {
    if (complex_taps) throw std::invalid_argument("complex_taps: of complex samples only");
    return dsp::FirKind::Real;
  }
  if (!complex_taps) return dsp::FirKind::RealTaps;
  if (taps.size() % 2 != 0) throw std::invalid_argument("taps: complex ones are two numbers each");
  return dsp::FirKind::ComplexTaps;
}

class FirBlock final : public Block {
 public:
  FirBlock(Items items, dsp::Fir fir)
      : Block({{{items, fir.decimation(), fir.decimation(), fir.length() - 1}}, Output{items}}),
        fir_(std::move(fir)) {}
  void execute(const float* const* in, float* out, std::size_t count) noexcept override {
    dsp::fir_kernels().filter(fir_, *in, out, count);
  }

 private:
  dsp::Fir fir_;
};

// As many taps as a transform's output costs: what it costs hardly depends on the taps.
std::size_t worth(dsp::FirKind kind) { return kind == dsp::FirKind::ComplexTaps ? 20 : 40; }

/// By transforms as far as they are full, or nearly; the rest directly.
class LongFirBlock final : public Block {
 public:
  LongFirBlock(Items items, dsp::Fir fir, dsp::Convolution convolution)
      : Block({{{items, 1, 1, convolution.history()}}, Output{items}}),
        fir_(std::move(fir)),
        convolution_(std::move(convolution)) {}

  void execute(const float* const* in, float* out, std::size_t count) noexcept override {
    const std::size_t each = floats_of(ports().output->items), first = transformed(count);
    if (first > 0) dsp::convolve_kernels().convolve(convolution_, *in, out, first);
    if (first == count) return;
    const std::size_t window = first + convolution_.history() - (fir_.length() - 1);
    dsp::fir_kernels().filter(fir_, *in + each * window, out + each * first, count - first);
  }

 private:
  // How many outputs are made by transforms.
  std::size_t transformed(std::size_t count) const noexcept {
    const std::size_t at_once = convolution_.outputs(), rest = count % at_once;
    if (count < at_once) return 0;
    return rest * fir_.length() > at_once * worth(fir_.kind()) ? count : count - rest;
  }

  dsp::Fir fir_;
  dsp::Convolution convolution_;
};

std::unique_ptr<Block> made(const Values& values) {
  const std::vector<float> taps = taps_of(values);
  const dsp::FirKind kind = kind_of(values, taps);
  dsp::Fir fir(kind, taps, static_cast<std::size_t>(whole(values, "decimation")));
  if (fir.decimation() > 1 || fir.length() <= worth(kind) ||
      fir.length() > dsp::Convolution::kMostTaps)
    return std::make_unique<FirBlock>(items(values), std::move(fir));
  return std::make_unique<LongFirBlock>(items(values), std::move(fir),
                                        dsp::Convolution(kind, taps));
}

}  // namespace

BlockType fir_type() {
  return {"fir",
          "filters",
          "Filters, and makes one sample of the first of each `decimation`, as if zeros were "
          "before the first. NaN may spoil 4096 samples on either side: of many taps it is done by "
          "Fourier transforms.",
          {taps_parameter("The impulse response; complex taps are two numbers each."),
           decimation_parameter(),
           samples_parameter(),
           {.name = "complex_taps",
            .text = "That taps are complex.",
            .kind = ParameterKind::Flag,
            .standard = false}},
          made};
}

}  // namespace carillon::dataflow
