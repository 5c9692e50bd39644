// Frequency modulation.
#include <cmath>

#include "dataflow/blocks/finite.hpp"
#include "dataflow/blocks/types.hpp"
#include "dsp/turn/turn.hpp"

namespace carillon::dataflow {
namespace {

/// The phase is a sum of turns of 2^-64: it wraps exactly and never drifts.
class FmModulator final : public Block {
 public:
  explicit FmModulator(double turns)
      : Block({{{Items::Real}}, Output{Items::Complex}}), turns_(turns) {}

  void execute(const float* const* in, float* out, std::size_t count) noexcept override {
    auto* const y = reinterpret_cast<dsp::Complex*>(out);
    for (std::size_t i = 0; i < count; ++i) {
      const double step = turns_ * finite_((*in)[i]);
      // Modulo one turn, rounded to 2^-62, as dsp::Rotation does.
      const double part = step - std::nearbyint(step);
      phase_ += static_cast<std::uint64_t>(static_cast<std::int64_t>(part * 0x1p62)) << 2;
      y[i] = dsp::turned_fast(phase_);
    }
  }
  std::vector<Figure> figures() const override { return {finite_.figure()}; }

 private:
  double turns_;  // a sample, of 1
  std::uint64_t phase_ = 0;
  Finite finite_;
};

}  // namespace

BlockType fm_modulator_type() {
  return {"fm-modulator",
          "filters",
          "Modulates a frequency: `deviation_hz` above the centre where the sample is 1. NaN and "
          "infinity count as 0.",
          {{.name = "deviation_hz",
            .text = "Frequency that 1 becomes.",
            .unit = "Hz",
            .least = -1e12,
            .most = 1e12},
           rate_parameter()},
          [](const Values& values) {
            return std::make_unique<FmModulator>(number(values, "deviation_hz") /
                                                 number(values, "rate_hz"));
          }};
}

}  // namespace carillon::dataflow
