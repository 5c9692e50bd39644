// Frequency modulation.
#include <algorithm>
#include <array>
#include <cmath>

#include "dataflow/blocks/finite.hpp"
#include "dataflow/blocks/types.hpp"
#include "dsp/turn/turn.hpp"

namespace carillon::dataflow {
namespace {

// Turns of 2^-64, modulo one turn, to 2^-62. Beyond 2^52 turns there are whole ones only.
std::uint64_t units(double turns) {
  if (std::abs(turns) >= 0x1p52) return 0;
  const double part = turns - static_cast<double>(static_cast<std::int64_t>(turns));
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(part * 0x1p62)) << 2;
}

/// The phase is a sum of turns of 2^-64: it wraps exactly and never drifts.
class FmModulator final : public Block {
 public:
  explicit FmModulator(double turns)
      : Block({{{Items::Real}}, Output{Items::Complex}}), turns_(turns) {}

  void execute(const float* const* in, float* out, std::size_t count) noexcept override {
    auto* const y = reinterpret_cast<dsp::Complex*>(out);
    std::array<std::uint32_t, 256> phases;
    for (std::size_t done = 0; done < count; done += phases.size()) {
      const std::size_t now = std::min(phases.size(), count - done);
      for (std::size_t i = 0; i < now; ++i) {
        phase_ += units(turns_ * finite_((*in)[done + i]));
        phases[i] = static_cast<std::uint32_t>(phase_ >> 32);
      }
      dsp::turn_kernels().turn(phases.data(), y + done, now);
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
