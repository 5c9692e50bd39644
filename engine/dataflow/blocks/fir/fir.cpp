// A filter of finite impulse response that may divide the rate.
#include "dsp/fir/fir.hpp"

#include <stdexcept>
#include <vector>

#include "dataflow/blocks/fir/taps.hpp"
#include "dataflow/blocks/types.hpp"

namespace carillon::dataflow {
namespace {

dsp::FirKind kind_of(const Values& values) {
  const bool complex_taps = flag(values, "complex_taps");
  if (items(values) == Items::Complex)
    return complex_taps ? dsp::FirKind::ComplexTaps : dsp::FirKind::RealTaps;
  if (complex_taps) throw std::invalid_argument("complex_taps: of complex samples only");
  return dsp::FirKind::Real;
}

dsp::Fir fir_of(const Values& values) {
  const std::vector<float> taps = taps_of(values);
  const dsp::FirKind kind = kind_of(values);
  if (kind == dsp::FirKind::ComplexTaps && taps.size() % 2 != 0)
    throw std::invalid_argument("taps: complex ones are two numbers each");
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
          {taps_parameter("The impulse response; complex taps are two numbers each."),
           decimation_parameter(),
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
