// A filter of finite impulse response that may divide the rate.
#include "dsp/fir/fir.hpp"

#include <stdexcept>
#include <vector>

#include "dataflow/blocks/types.hpp"

namespace carillon::dataflow {
namespace {

constexpr std::size_t kMostTaps = 8192;

dsp::FirKind kind_of(const Values& values) {
  const bool complex_taps = flag(values, "complex_taps");
  if (items(values) == Items::Complex)
    return complex_taps ? dsp::FirKind::ComplexTaps : dsp::FirKind::RealTaps;
  if (complex_taps) throw std::invalid_argument("complex_taps: of complex samples only");
  return dsp::FirKind::Real;
}

dsp::Fir fir_of(const Values& values) {
  const std::vector<double>& given = numbers(values, "taps");
  const dsp::FirKind kind = kind_of(values);
  if (kind == dsp::FirKind::ComplexTaps && given.size() % 2 != 0)
    throw std::invalid_argument("taps: complex ones are two numbers each");
  if (given.size() > kMostTaps) throw std::invalid_argument("taps: at most 8192 numbers");
  std::vector<float> taps;
  for (const double tap : given) taps.push_back(static_cast<float>(tap));
  return {kind, taps, static_cast<std::size_t>(whole(values, "decimation"))};
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

}  // namespace

BlockType fir_type() {
  return {"fir",
          "filters",
          "Filters, and makes one sample of the first of each `decimation`, as if zeros were "
          "before the first.",
          {{.name = "taps",
            .text = "The impulse response; complex taps are two numbers each.",
            .kind = ParameterKind::Numbers},
           {.name = "decimation",
            .text = "Samples that it takes for one that it makes.",
            .kind = ParameterKind::Whole,
            .standard = 1,
            .least = 1,
            .most = 4096},
           samples_parameter(),
           {.name = "complex_taps",
            .text = "That taps are complex.",
            .kind = ParameterKind::Flag,
            .standard = false}},
          [](const Values& values) {
            return std::make_unique<FirBlock>(items(values), fir_of(values));
          }};
}

}  // namespace carillon::dataflow
