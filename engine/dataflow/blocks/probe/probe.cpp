// What samples are like, over all that came.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

#include "dataflow/blocks/types.hpp"

namespace carillon::dataflow {
namespace {

class Probe final : public Block {
 public:
  explicit Probe(Items items) : Block({{{items}}, {}}) {}

  void execute(const float* const* in, float*, std::size_t count) noexcept override {
    if (ports().inputs[0].items == Items::Complex)
      look<2>(*in, count);
    else
      look<1>(*in, count);
  }

  std::vector<Figure> figures() const override {
    const auto shown = [](const auto& of) {
      return static_cast<double>(of.load(std::memory_order_relaxed));
    };
    const double count = std::max(shown(finite_), 1.0), power = shown(power_) / count;
    std::vector<Figure> all{{"samples", "", shown(finite_) + shown(not_finite_)},
                            {"not finite", "samples", shown(not_finite_)},
                            {"mean", "", shown(sums_[0]) / count}};
    if (ports().inputs[0].items == Items::Complex)
      all.push_back({"mean, imaginary", "", shown(sums_[1]) / count});
    all.push_back({"rms", "", std::sqrt(power)});
    all.push_back({"peak", "", std::sqrt(shown(peak_))});
    all.push_back({"power", "dB", 10 * std::log10(power + 1e-30)});
    return all;
  }

 private:
  // Samples with a part that is not finite are counted only.
  template <std::size_t kParts>
  void look(const float* x, std::size_t count) noexcept {
    std::array<double, kParts> sums{};
    double power = 0, peak = 0;
    std::uint64_t finite = 0;
    for (std::size_t i = 0; i < count; ++i, x += kParts) {
      double square = 0;
      for (std::size_t part = 0; part < kParts; ++part) square += double{x[part]} * x[part];
      if (!std::isfinite(square)) continue;
      for (std::size_t part = 0; part < kParts; ++part) sums[part] += x[part];
      power += square;
      peak = std::max(peak, square);
      ++finite;
    }
    for (std::size_t part = 0; part < kParts; ++part) add(sums_[part], sums[part]);
    add(power_, power);
    peak_.store(std::max(peak, peak_.load(std::memory_order_relaxed)), std::memory_order_relaxed);
    add(finite_, finite);
    add(not_finite_, count - finite);
  }

  // One thread at a time writes.
  template <typename T>
  static void add(std::atomic<T>& to, T what) noexcept {
    to.store(to.load(std::memory_order_relaxed) + what, std::memory_order_relaxed);
  }

  std::array<std::atomic<double>, 2> sums_{};
  std::atomic<double> power_{0}, peak_{0};  // of |x|²
  std::atomic<std::uint64_t> finite_{0}, not_finite_{0};
};

}  // namespace

BlockType probe_type() {
  return {"probe",
          "measurement",
          "Counts samples and says their mean, root mean square, peak and power, of all that came.",
          {samples_parameter()},
          [](const Values& values) { return std::make_unique<Probe>(items(values)); }};
}

}  // namespace carillon::dataflow
