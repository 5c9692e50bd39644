// Sums and products of two inputs.
#include "dsp/combine/combine.hpp"

#include "dataflow/blocks/types.hpp"

namespace carillon::dataflow {
namespace {

class Combine final : public Block {
 public:
  Combine(Items items, bool adds) : Block({{{items}, {items}}, Output{items}}), adds_(adds) {}
  void execute(const float* const* in, float* out, std::size_t count) noexcept override {
    const dsp::CombineKernels& kernels = dsp::combine_kernels();
    if (!adds_ && ports().output->items == Items::Complex)
      kernels.multiply_complex(reinterpret_cast<const dsp::Complex*>(in[0]),
                               reinterpret_cast<const dsp::Complex*>(in[1]),
                               reinterpret_cast<dsp::Complex*>(out), count);
    else
      (adds_ ? kernels.add : kernels.multiply)(in[0], in[1], out, writes(count));
  }

 private:
  bool adds_;
};

BlockType type(const char* name, const char* text, bool adds) {
  return {name, "arithmetic", text, {samples_parameter()}, [adds](const Values& values) {
            return std::make_unique<Combine>(items(values), adds);
          }};
}

}  // namespace

BlockType add_two_type() { return type("add-two", "Adds two inputs.", true); }
BlockType multiply_two_type() { return type("multiply-two", "Multiplies two inputs.", false); }

}  // namespace carillon::dataflow
