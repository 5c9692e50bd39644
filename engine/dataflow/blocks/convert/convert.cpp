// From complex samples to real ones, and back.
#include "dsp/convert/convert.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "dataflow/blocks/types.hpp"

namespace carillon::dataflow {
namespace {

using dsp::ConvertKernels;
using ToReal = ConvertKernels::ToReal ConvertKernels::*;

constexpr std::array<std::pair<std::string_view, ToReal>, 5> kToReal{
    {{"real", &ConvertKernels::real},
     {"imaginary", &ConvertKernels::imaginary},
     {"magnitude", &ConvertKernels::magnitude},
     {"power", &ConvertKernels::power},
     {"phase", &ConvertKernels::phase}}};

class RealOfComplex final : public Block {
 public:
  explicit RealOfComplex(ToReal kernel)
      : Block({{{Items::Complex}}, Output{Items::Real}}), kernel_(kernel) {}
  void execute(const float* const* in, float* out, std::size_t count) noexcept override {
    (dsp::convert_kernels().*kernel_)(reinterpret_cast<const dsp::Complex*>(*in), out, count);
  }

 private:
  ToReal kernel_;
};

class ComplexOfReal final : public Block {
 public:
  ComplexOfReal() : Block({{{Items::Real}}, Output{Items::Complex}}) {}
  void execute(const float* const* in, float* out, std::size_t count) noexcept override {
    dsp::convert_kernels().complex(*in, reinterpret_cast<dsp::Complex*>(out), count);
  }
};

std::unique_ptr<Block> made(const Values& values) {
  for (const auto& [to, kernel] : kToReal)
    if (to == text(values, "to")) return std::make_unique<RealOfComplex>(kernel);
  return std::make_unique<ComplexOfReal>();
}

}  // namespace

BlockType convert_type() {
  std::vector<std::string> choices;
  for (const auto& [to, kernel] : kToReal) choices.emplace_back(to);
  choices.emplace_back("complex");
  return {"convert",
          "arithmetic",
          "Makes real samples of complex ones, or complex ones of real ones.",
          {{.name = "to",
            .text = "A part of complex samples, their magnitude, its square (power), their phase "
                    "in rad; or complex, whose imaginary part is 0.",
            .kind = ParameterKind::Text,
            .choices = choices}},
          made};
}

}  // namespace carillon::dataflow
