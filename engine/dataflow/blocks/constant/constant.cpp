// Multiplication by a constant, and its addition.
#include <stdexcept>

#include "dataflow/blocks/types.hpp"
#include "dsp/scale/scale.hpp"

namespace carillon::dataflow {
namespace {

class Constant final : public Block {
 public:
  Constant(Items items, bool adds, dsp::Complex value)
      : Block({{{items}}, Output{items}}), adds_(adds), value_(value) {}
  void execute(const float* const* in, float* out, std::size_t count) noexcept override {
    const dsp::ScaleKernels& kernels = dsp::scale_kernels();
    const bool pairs = ports().output->items == Items::Complex;
    const auto* const x = reinterpret_cast<const dsp::Complex*>(*in);
    auto* const y = reinterpret_cast<dsp::Complex*>(out);
    if (pairs && adds_)
      kernels.add_complex(x, value_, y, count);
    else if (pairs && value_.im != 0)
      kernels.multiply_complex(x, value_, y, count);
    else
      (adds_ ? kernels.add : kernels.multiply)(*in, value_.re, out, reads(0, count));
  }
  void set(std::string_view parameter, double value) noexcept override {
    (parameter == "value" ? value_.re : value_.im) = static_cast<float>(value);
  }

 private:
  bool adds_;
  dsp::Complex value_;
};

BlockType type(const char* name, const char* text, bool adds) {
  const auto part = [](const char* part_name, const char* about) {
    return Parameter{.name = part_name,
                     .text = about,
                     .standard = 0.0,
                     .least = -3e38,
                     .most = 3e38,
                     .changes = true};
  };
  Parameter real = part("value", "The constant, or its real part.");
  real.standard = std::nullopt;
  return {name,
          "arithmetic",
          text,
          {real, part("imaginary", "Its imaginary part, of complex samples."), samples_parameter()},
          [adds](const Values& values) {
            const dsp::Complex value{static_cast<float>(number(values, "value")),
                                     static_cast<float>(number(values, "imaginary"))};
            if (items(values) == Items::Real && value.im != 0)
              throw std::invalid_argument("imaginary: of complex samples only");
            return std::make_unique<Constant>(items(values), adds, value);
          }};
}

}  // namespace

BlockType add_type() { return type("add", "Adds a constant.", true); }
BlockType multiply_type() { return type("multiply", "Multiplies by a constant.", false); }

}  // namespace carillon::dataflow
