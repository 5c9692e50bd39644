// Shifts frequencies.
#include "dataflow/blocks/types.hpp"
#include "dsp/rotate/rotate.hpp"

namespace carillon::dataflow {
namespace {

class Rotator final : public Block {
 public:
  Rotator(double frequency, double rate)
      : Block({{{Items::Complex}}, Output{Items::Complex}}),
        rate_(rate),
        rotation_(frequency / rate) {}
  void execute(const float* const* in, float* out, std::size_t count) noexcept override {
    dsp::rotate_kernels().rotate(&rotation_, reinterpret_cast<const dsp::Complex*>(*in),
                                 reinterpret_cast<dsp::Complex*>(out), count);
  }
  // The phase goes on from where it is.
  void set(std::string_view, double value) noexcept override {
    const std::uint64_t phase = rotation_.phase;
    rotation_ = dsp::Rotation(value / rate_);
    rotation_.phase = phase;
  }

 private:
  double rate_;
  dsp::Rotation rotation_;
};

}  // namespace

BlockType rotator_type() {
  return {"rotator",
          "arithmetic",
          "Shifts all frequencies by so much.",
          {{.name = "frequency_hz",
            .text = "Added to every frequency.",
            .unit = "Hz",
            .least = -1e12,
            .most = 1e12,
            .changes = true},
           rate_parameter()},
          [](const Values& values) {
            return std::make_unique<Rotator>(number(values, "frequency_hz"),
                                             number(values, "rate_hz"));
          }};
}

}  // namespace carillon::dataflow
