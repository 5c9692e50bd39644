// Where a known sequence begins.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "dataflow/blocks/types.hpp"
#include "dsp/convert/convert.hpp"
#include "dsp/fir/fir.hpp"

namespace carillon::dataflow {
namespace {

constexpr std::size_t kMost = 4096;  // samples of a sequence
constexpr std::size_t kAtOnce = 256;

using Sequence = std::vector<dsp::Complex>;

double power(dsp::Complex x) {
  const double square = double{x.re} * x.re + double{x.im} * x.im;
  return std::isfinite(square) ? square : 0;
}

// Of unit energy, conjugate and backwards.
dsp::Fir matched(const Sequence& sequence) {
  double energy = 0;
  for (const dsp::Complex each : sequence) energy += power(each);
  if (energy == 0) throw std::invalid_argument("sequence: must not be all zeros");
  const auto scale = static_cast<float>(1 / std::sqrt(energy));
  std::vector<float> taps;
  for (auto each = sequence.rbegin(); each != sequence.rend(); ++each) {
    taps.push_back(scale * each->re);
    taps.push_back(-scale * each->im);
  }
  return {dsp::FirKind::ComplexTaps, taps, 1};
}

/// Sums of powers over windows of K samples, without differences, in which a weak window behind a
/// strong one would be lost: what is left of a block of K samples, and the beginning of the next.
class Energies {
 public:
  explicit Energies(std::size_t length) : left_(length) {}

  /// Of the windows that begin at x[0], x[1], …, in turn.
  void begin(const dsp::Complex* x) noexcept {
    at_ = x;
    turn_ = 0;
    fill();
  }
  double next() noexcept {
    if (turn_ == left_.size()) {
      at_ += left_.size();
      turn_ = 0;
      fill();
    }
    if (turn_ > 0) begun_ += power(at_[left_.size() + turn_ - 1]);
    return left_[turn_++] + begun_;
  }

 private:
  void fill() noexcept {
    double sum = begun_ = 0;
    for (std::size_t i = left_.size(); i-- > 0;) left_[i] = sum += power(at_[i]);
  }

  std::vector<double> left_;
  const dsp::Complex* at_ = nullptr;
  std::size_t turn_ = 0;
  double begun_ = 0;
};

/// Waits for one sample more than the sequence has: a peak is known by the value after it.
class Correlator final : public Block {
 public:
  Correlator(const Sequence& sequence, float threshold, std::string text)
      : Block({{{Items::Complex, sequence.size() + 1, 1}}, Output{Items::Real}}),
        fir_(matched(sequence)),
        energies_(sequence.size()),
        threshold_(threshold),
        text_(std::move(text)) {}

  void execute(const float* const* in, float* out, std::size_t count) noexcept override {
    const auto* const x = reinterpret_cast<const dsp::Complex*>(*in);
    energies_.begin(x);
    for (std::size_t done = 0; done < count; done += kAtOnce)
      correlate(x + done, out + done, std::min(kAtOnce, count - done));
    float after = 0;
    correlate(x + count, &after, 1);
    for (std::size_t n = 0; n < count; ++n) look_at(n, out[n], n + 1 < count ? out[n + 1] : after);
  }
  void set(std::string_view, double threshold) noexcept override {
    threshold_ = static_cast<float>(threshold);
  }
  std::vector<Figure> figures() const override {
    return {{"found", "", static_cast<double>(found_.load(std::memory_order_relaxed))},
            {"greatest", "", greatest_.load(std::memory_order_relaxed)}};
  }

 private:
  void correlate(const dsp::Complex* x, float* y, std::size_t count) noexcept {
    std::array<dsp::Complex, kAtOnce> sums;
    dsp::fir_kernels().filter(fir_, &x->re, &sums[0].re, count);
    dsp::convert_kernels().magnitude(sums.data(), y, count);
    for (std::size_t n = 0; n < count; ++n) {
      const double energy = energies_.next();
      const double share = energy > 0 ? y[n] / std::sqrt(energy) : 0;
      y[n] = std::isfinite(share) ? static_cast<float>(share) : 0;
    }
  }

  void look_at(std::size_t n, float value, float after) noexcept {
    if (value >= threshold_ && value > before_ && value >= after) {
      tags_out.add(annotation(n, fir_.length(), text_));
      found_.store(found_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    before_ = value;
    if (value > greatest_.load(std::memory_order_relaxed))
      greatest_.store(value, std::memory_order_relaxed);
  }

  dsp::Fir fir_;
  Energies energies_;
  float threshold_, before_ = 0;
  std::string text_;
  std::atomic<std::uint64_t> found_{0};
  std::atomic<float> greatest_{0};
};

Sequence sequence_of(const Values& values) {
  const std::vector<double>& given = numbers(values, "sequence");
  if (given.size() % 2 != 0) throw std::invalid_argument("sequence: two numbers a sample");
  if (given.size() > 2 * kMost) throw std::invalid_argument("sequence: at most 4096 samples");
  Sequence sequence;
  for (std::size_t i = 0; i < given.size(); i += 2)
    sequence.push_back({static_cast<float>(given[i]), static_cast<float>(given[i + 1])});
  return sequence;
}

}  // namespace

BlockType correlator_type() {
  return {"correlator",
          "measurement",
          "Says how much samples are like a known sequence that would begin at each: from 0 to 1, "
          "whatever their level and phase. Annotates peaks.",
          {{.name = "sequence",
            .text = "The sequence's samples, two numbers each.",
            .kind = ParameterKind::Numbers},
           {.name = "threshold",
            .text = "Peaks of at least this are annotated.",
            .standard = 0.8,
            .least = 0,
            .most = 1,
            .changes = true},
           {.name = "text",
            .text = "What is said about them.",
            .kind = ParameterKind::Text,
            .standard = "found"}},
          [](const Values& values) {
            return std::make_unique<Correlator>(sequence_of(values),
                                                static_cast<float>(number(values, "threshold")),
                                                text(values, "text"));
          }};
}

}  // namespace carillon::dataflow
