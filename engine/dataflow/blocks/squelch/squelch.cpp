// Silence where a signal is weak.
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "dataflow/blocks/finite.hpp"
#include "dataflow/blocks/types.hpp"

namespace carillon::dataflow {
namespace {

double power_of(double level_db) { return std::pow(10.0, level_db / 10); }

/// The power is averaged by p ← p + a·(|x|² - p). Where it reaches the level, the gain climbs from
/// 0 to 1 along a raised cosine of `ramp` samples, else it goes back the same way.
class Squelch final : public Block {
 public:
  Squelch(double level_db, double a, std::uint64_t ramp)
      : Block({{{Items::Complex}}, Output{Items::Complex}}),
        level_(power_of(level_db)),
        a_(a),
        ramp_(ramp) {}

  void execute(const float* const* in, float* out, std::size_t count) noexcept override {
    double power = power_.load(std::memory_order_relaxed);
    std::uint64_t passed = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const float re = finite_((*in)[2 * i]), im = finite_((*in)[2 * i + 1]);
      const double now = double{re} * re + double{im} * im;
      power += a_ * (now - power);
      if (power >= level_)
        step_ += step_ < ramp_;
      else
        step_ -= step_ > 0;
      passed += step_ > 0;
      const float gain = gain_at(step_);
      out[2 * i] = gain * re;
      out[2 * i + 1] = gain * im;
    }
    power_.store(power, std::memory_order_relaxed);
    passed_.fetch_add(passed, std::memory_order_relaxed);
    seen_.fetch_add(count, std::memory_order_relaxed);
  }
  void set(std::string_view, double level_db) noexcept override { level_ = power_of(level_db); }

  std::vector<Figure> figures() const override {
    const auto seen = static_cast<double>(seen_.load(std::memory_order_relaxed));
    const auto passed = static_cast<double>(passed_.load(std::memory_order_relaxed));
    return {{"passed", "%", seen > 0 ? 100 * passed / seen : 0},
            {"power", "dB", 10 * std::log10(power_.load(std::memory_order_relaxed) + 1e-30)},
            finite_.figure()};
  }

 private:
  float gain_at(std::uint64_t step) const noexcept {
    if (step == 0 || step == ramp_) [[likely]]
      return step == 0 ? 0.0F : 1.0F;
    const double turn = static_cast<double>(step) / static_cast<double>(ramp_);
    return static_cast<float>(0.5 - 0.5 * std::cos(std::numbers::pi * turn));
  }

  double level_, a_;
  std::uint64_t ramp_, step_ = 0;  // ramp ≥ 1
  std::atomic<double> power_{0};
  std::atomic<std::uint64_t> passed_{0}, seen_{0};
  Finite finite_;
};

}  // namespace

BlockType squelch_type() {
  return {"squelch",
          "filters",
          "Lets samples pass while their mean power is at least a level, and makes zeros of the "
          "others. NaN and infinity count as 0.",
          {{.name = "level_db",
            .text = "The power that opens it; 0 dB: of magnitude 1.",
            .unit = "dB",
            .least = -300,
            .most = 300,
            .changes = true},
           {.name = "time_s",
            .text = "The mean's time constant.",
            .standard = 1e-3,
            .unit = "s",
            .least = 0,
            .most = 1e3},
           {.name = "ramp_s",
            .text = "How long it takes to open and to close.",
            .standard = 0.0,
            .unit = "s",
            .least = 0,
            .most = 1e3},
           rate_parameter()},
          [](const Values& values) {
            const double rate = number(values, "rate_hz");
            const double ramp = std::max(1.0, std::round(rate * number(values, "ramp_s")));
            const double a = -std::expm1(-1 / (rate * number(values, "time_s")));
            if (ramp > 1e15) throw std::invalid_argument("ramp_s: too long for this rate_hz");
            return std::make_unique<Squelch>(number(values, "level_db"), a,
                                             static_cast<std::uint64_t>(ramp));
          }};
}

}  // namespace carillon::dataflow
