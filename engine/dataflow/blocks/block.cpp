#include "dataflow/blocks/block.hpp"

#include <stdexcept>
#include <vector>

#include "dsp/demodulate/demodulate.hpp"
#include "dsp/fir/fir.hpp"
#include "dsp/rotate/rotate.hpp"
#include "dsp/scale/scale.hpp"

namespace carillon::dataflow {
namespace {

const dsp::Complex* complex(const float* x) { return reinterpret_cast<const dsp::Complex*>(x); }
dsp::Complex* complex(float* x) { return reinterpret_cast<dsp::Complex*>(x); }

class Rotator final : public Block {
 public:
  void execute(const float* const* in, float* out, std::size_t count) noexcept override {
    dsp::rotate_kernels().rotate(&rotation_, complex(*in), complex(out), count);
  }
  std::size_t reads(std::size_t, std::size_t count) const override { return 2 * count; }
  std::size_t writes(std::size_t count) const override { return 2 * count; }

 private:
  dsp::Rotation rotation_{0.1};
};

class Filter final : public Block {
 public:
  explicit Filter(const BlockSpec& spec) : fir_(kind_of(spec), taps_of(spec), spec.decimation) {}
  void execute(const float* const* in, float* out, std::size_t count) noexcept override {
    dsp::fir_kernels().filter(fir_, *in, out, count);
  }
  std::size_t reads(std::size_t, std::size_t count) const override {
    return fir_.reads(count) * fir_.floats_a_sample();
  }
  std::size_t writes(std::size_t count) const override { return count * fir_.floats_a_sample(); }

 private:
  static dsp::FirKind kind_of(const BlockSpec& spec) {
    if (!spec.complex_samples) return dsp::FirKind::Real;
    return spec.complex_taps ? dsp::FirKind::ComplexTaps : dsp::FirKind::RealTaps;
  }
  static std::vector<float> taps_of(const BlockSpec& spec) {
    const bool pairs = kind_of(spec) == dsp::FirKind::ComplexTaps;
    std::vector<float> taps(spec.taps * (pairs ? 2 : 1));
    for (std::size_t k = 0; k < taps.size(); k += pairs ? 2 : 1)
      taps[k] = 1.0F / static_cast<float>(spec.taps);
    return taps;
  }

  dsp::Fir fir_;
};

// Multiplication by a constant, or its addition.
class Constant final : public Block {
 public:
  Constant(bool add, bool complex_samples) : add_(add), complex_(complex_samples) {}
  void execute(const float* const* in, float* out, std::size_t count) noexcept override {
    const dsp::ScaleKernels& kernels = dsp::scale_kernels();
    if (!complex_)
      (add_ ? kernels.add : kernels.multiply)(*in, add_ ? 0.0F : 1.0F, out, count);
    else if (add_)
      kernels.add_complex(complex(*in), {}, complex(out), count);
    else
      kernels.multiply_complex(complex(*in), {0.6F, 0.8F}, complex(out), count);
  }
  std::size_t reads(std::size_t, std::size_t count) const override {
    return count * (complex_ ? 2 : 1);
  }
  std::size_t writes(std::size_t count) const override { return reads(0, count); }

 private:
  bool add_, complex_;
};

class Demodulator final : public Block {
 public:
  void execute(const float* const* in, float* out, std::size_t count) noexcept override {
    dsp::demodulate_kernels().quadrature(complex(*in), 1, out, count);
  }
  std::size_t reads(std::size_t, std::size_t count) const override { return 2 * (count + 1); }
  std::size_t writes(std::size_t count) const override { return count; }
};

}  // namespace

std::unique_ptr<Block> make_block(const BlockSpec& spec) {
  if (spec.taps < 1 || spec.decimation < 1)
    throw std::invalid_argument("a filter has a tap at least, and divides by one at least");
  if (spec.type == "rotator") return std::make_unique<Rotator>();
  if (spec.type == "fir") return std::make_unique<Filter>(spec);
  if (spec.type == "multiply") return std::make_unique<Constant>(false, spec.complex_samples);
  if (spec.type == "add") return std::make_unique<Constant>(true, spec.complex_samples);
  if (spec.type == "quadrature-demodulator") return std::make_unique<Demodulator>();
  throw std::invalid_argument("there is no block " + spec.type);
}

}  // namespace carillon::dataflow
