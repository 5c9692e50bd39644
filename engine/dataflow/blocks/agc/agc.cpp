// Automatic gain control.
#include <algorithm>
#include <cmath>

#include "dataflow/blocks/finite.hpp"
#include "dataflow/blocks/types.hpp"

namespace carillon::dataflow {
namespace {

struct Control {
  double rate, reference, most_gain;
};

/// y[n] = g·x[n], then g ← g + rate·(reference - |y[n]|), between 0 and most_gain. |y| is g·|x|: no
/// root waits for the gain.
class Agc final : public Block {
 public:
  Agc(Items items, Control control) : Block({{{items}}, Output{items}}), control_(control) {}

  void execute(const float* const* in, float* out, std::size_t count) noexcept override {
    if (ports().output->items == Items::Complex)
      follow<2>(*in, out, count);
    else
      follow<1>(*in, out, count);
  }
  void set(std::string_view, double reference) noexcept override { control_.reference = reference; }
  std::vector<Figure> figures() const override {
    return {{"gain", "dB", 20 * std::log10(gain_.load(std::memory_order_relaxed) + 1e-30)},
            finite_.figure()};
  }

 private:
  template <std::size_t kParts>
  void follow(const float* x, float* y, std::size_t count) noexcept {
    double gain = gain_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < count; ++i) {
      double square = 0;
      for (std::size_t part = 0; part < kParts; ++part) {
        const double now = finite_(x[kParts * i + part]);
        square += now * now;
        y[kParts * i + part] = static_cast<float>(gain * now);
      }
      const double error = control_.reference - gain * std::sqrt(square);
      gain = std::clamp(gain + control_.rate * error, 0.0, control_.most_gain);
    }
    gain_.store(gain, std::memory_order_relaxed);
  }

  Control control_;
  std::atomic<double> gain_{1};
  Finite finite_;
};

}  // namespace

BlockType agc_type() {
  return {"agc",
          "filters",
          "Multiplies so that magnitudes come near a reference. NaN and infinity count as 0.",
          {{.name = "rate",
            .text = "What the gain gains with each sample, of what the magnitude lacks.",
            .standard = 1e-4,
            .least = 0,
            .most = 1},
           {.name = "reference",
            .text = "The magnitude to come to.",
            .standard = 1.0,
            .least = 0,
            .most = 1e6,
            .changes = true},
           {.name = "most_gain",
            .text = "The gain is at most this.",
            .standard = 65536.0,
            .least = 1e-6,
            .most = 1e12},
           samples_parameter()},
          [](const Values& values) {
            return std::make_unique<Agc>(
                items(values), Control{number(values, "rate"), number(values, "reference"),
                                       number(values, "most_gain")});
          }};
}

}  // namespace carillon::dataflow
