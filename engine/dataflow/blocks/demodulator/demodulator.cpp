// Frequency of a sample, by its phase against the one before.
#include <numbers>

#include "dataflow/blocks/types.hpp"
#include "dsp/demodulate/demodulate.hpp"

namespace carillon::dataflow {
namespace {

class Demodulator final : public Block {
 public:
  explicit Demodulator(float gain)
      : Block({{{Items::Complex, 1, 1, 1}}, Output{Items::Real}}), gain_(gain) {}
  void execute(const float* const* in, float* out, std::size_t count) noexcept override {
    dsp::demodulate_kernels().quadrature(reinterpret_cast<const dsp::Complex*>(*in), gain_, out,
                                         count);
  }

 private:
  float gain_;
};

}  // namespace

BlockType demodulator_type() {
  return {"quadrature-demodulator",
          "filters",
          "Demodulates frequency modulation: 1 where the frequency is `deviation_hz` above the "
          "centre.",
          {{.name = "deviation_hz",
            .text = "Frequency that becomes 1.",
            .unit = "Hz",
            .least = 1e-9,
            .most = 1e12},
           rate_parameter()},
          [](const Values& values) {
            const double turn = number(values, "rate_hz") / (2 * std::numbers::pi);
            return std::make_unique<Demodulator>(
                static_cast<float>(turn / number(values, "deviation_hz")));
          }};
}

}  // namespace carillon::dataflow
