// Filters of one pole, by the bilinear transform: they keep low frequencies, or remove them.
#include <array>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "dataflow/blocks/finite.hpp"
#include "dataflow/blocks/types.hpp"

namespace carillon::dataflow {
namespace {

/// y[n] = now·x[n] + before·x[n-1] + back·y[n-1]
struct Coefficients {
  double now, before, back;
};

/// 3 dB at a frequency below half the rate, where the bilinear transform puts it exactly.
double warped(double frequency_hz, double rate_hz) {
  return std::tan(std::numbers::pi * frequency_hz / rate_hz);
}
Coefficients low_pass(double k) { return {k / (1 + k), k / (1 + k), (1 - k) / (1 + k)}; }
Coefficients high_pass(double k) { return {1 / (1 + k), -1 / (1 + k), (1 - k) / (1 + k)}; }

class OnePole final : public Block {
 public:
  OnePole(Items items, Coefficients c) : Block({{{items}}, Output{items}}), c_(c) {}

  void execute(const float* const* in, float* out, std::size_t count) noexcept override {
    if (ports().output->items == Items::Complex)
      filter<2>(*in, out, count);
    else
      filter<1>(*in, out, count);
  }
  std::vector<Figure> figures() const override { return {finite_.figure()}; }

 private:
  // Double precision: no finite input overflows it, and slow filters settle where they should.
  template <std::size_t kParts>
  void filter(const float* x, float* y, std::size_t count) noexcept {
    std::array<double, 2> last = last_, sum = sum_;
    for (std::size_t i = 0; i < count; ++i)
#pragma GCC unroll 2
      for (std::size_t part = 0; part < kParts; ++part) {
        const double now = finite_(x[kParts * i + part]);
        sum[part] = c_.back * sum[part] + (c_.now * now + c_.before * last[part]);
        last[part] = now;
        y[kParts * i + part] = static_cast<float>(sum[part]);
      }
    last_ = last;
    sum_ = sum;
  }

  Coefficients c_;
  std::array<double, 2> last_{}, sum_{};
  Finite finite_;
};

double below_half(double frequency_hz, double rate_hz, const char* name, const char* limit) {
  if (frequency_hz < rate_hz / 2) return frequency_hz;
  throw std::invalid_argument(std::string(name) + ": must be " + limit);
}

}  // namespace

BlockType deemphasis_type() {
  return {"deemphasis",
          "filters",
          "Lowers the treble that a transmitter raised, by a filter of one pole. NaN and infinity "
          "count as 0.",
          {{.name = "time_s",
            .text = "The pole's time constant: 75e-6 in America, 50e-6 elsewhere.",
            .unit = "s",
            .least = 1e-9,
            .most = 1e3},
           rate_parameter(),
           samples_parameter("What it reads.", "real")},
          [](const Values& values) {
            const double rate = number(values, "rate_hz");
            const double corner = below_half(1 / (2 * std::numbers::pi * number(values, "time_s")),
                                             rate, "time_s", "more than 1/(π rate_hz)");
            return std::make_unique<OnePole>(items(values), low_pass(warped(corner, rate)));
          }};
}

BlockType dc_blocker_type() {
  return {"dc-blocker",
          "filters",
          "Removes what does not change, by a filter of one pole. NaN and infinity count as 0.",
          {{.name = "cutoff_hz",
            .text = "Where it lowers power by half.",
            .unit = "Hz",
            .least = 1e-6,
            .most = 1e12},
           rate_parameter(),
           samples_parameter()},
          [](const Values& values) {
            const double rate = number(values, "rate_hz");
            const double cutoff = below_half(number(values, "cutoff_hz"), rate, "cutoff_hz",
                                             "less than half of rate_hz");
            return std::make_unique<OnePole>(items(values), high_pass(warped(cutoff, rate)));
          }};
}

}  // namespace carillon::dataflow
