// A channel out of a band: shifted to the centre, filtered and decimated.
#include <vector>

#include "dataflow/blocks/fir/taps.hpp"
#include "dataflow/blocks/types.hpp"
#include "dsp/fir/fir.hpp"
#include "dsp/rotate/rotate.hpp"

namespace carillon::dataflow {
namespace {

/// With w the centre, in turns a sample, and e(t) = exp(2πjt):
///   Σ h[k]·x[nD-k]·e(-w(nD-k)) = e(-wDn) · Σ (h[k]·e(wk))·x[nD-k],
/// so that only what is made has to be turned.
class TranslatingFir final : public Block {
 public:
  TranslatingFir(std::vector<float> taps, std::size_t decimation, double centre_hz, double rate_hz)
      : Block(
            {{{Items::Complex, decimation, decimation, taps.size() - 1}}, Output{Items::Complex}}),
        low_pass_(std::move(taps)),
        band_pass_(2 * low_pass_.size()),
        rate_hz_(rate_hz),
        fir_(dsp::FirKind::ComplexTaps, band_pass_, decimation),
        rotation_(0) {
    set("centre_hz", centre_hz);
  }

  void execute(const float* const* in, float* out, std::size_t count) noexcept override {
    dsp::fir_kernels().filter(fir_, *in, out, count);
    auto* const y = reinterpret_cast<dsp::Complex*>(out);
    dsp::rotate_kernels().rotate(&rotation_, y, y, count);
  }

  // The phase goes on from where it is.
  void set(std::string_view, double centre_hz) noexcept override {
    const double turns = centre_hz / rate_hz_;
    const std::uint64_t step = dsp::phase_of(turns);
    for (std::size_t k = 0; k < low_pass_.size(); ++k) {
      const dsp::Complex factor = dsp::turned(step * k);
      band_pass_[2 * k] = low_pass_[k] * factor.re;
      band_pass_[2 * k + 1] = low_pass_[k] * factor.im;
    }
    fir_.set_taps(band_pass_);
    const std::uint64_t phase = rotation_.phase;
    rotation_ = dsp::Rotation(-turns * static_cast<double>(fir_.decimation()));
    rotation_.phase = phase;
  }

 private:
  std::vector<float> low_pass_, band_pass_;
  double rate_hz_;
  dsp::Fir fir_;
  dsp::Rotation rotation_;
};

}  // namespace

BlockType translating_fir_type() {
  return {"translating-fir",
          "filters",
          "Brings a frequency to the centre, filters, and makes one sample of the first of each "
          "`decimation`, as if zeros were before the first.",
          {taps_parameter("The low-pass filter's impulse response, real."),
           {.name = "centre_hz",
            .text = "The frequency that comes to the centre.",
            .unit = "Hz",
            .least = -1e12,
            .most = 1e12,
            .changes = true},
           decimation_parameter(),
           rate_parameter()},
          [](const Values& values) {
            return std::make_unique<TranslatingFir>(
                taps_of(values), static_cast<std::size_t>(whole(values, "decimation")),
                number(values, "centre_hz"), number(values, "rate_hz"));
          }};
}

}  // namespace carillon::dataflow
