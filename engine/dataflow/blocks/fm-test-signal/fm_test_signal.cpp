// What an antenna may hand to a receiver of narrowband FM: synthetic, and said to be.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "base/noise.hpp"
#include "dataflow/blocks/types.hpp"

namespace carillon::dataflow {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

// Harmonics of a voice of 120 Hz, with two formants, and four syllables a second. All frequencies
// are whole, so that a second of it can be repeated. Its peak is below 1.
double speech(double t) {
  constexpr double kPitch = 120;
  double sum = 0, all = 0;
  for (int harmonic = 3; harmonic <= 20; ++harmonic) {
    const double f = kPitch * harmonic;
    const auto formant = [&](double centre, double width) {
      return 1 / (1 + (f - centre) * (f - centre) / (width * width));
    };
    const double weight = formant(500, 150) + 0.6 * formant(1500, 250);
    sum += weight * std::cos(kTurn * f * t + 0.7 * harmonic * harmonic);
    all += weight;
  }
  return sum / all * (0.5 - 0.5 * std::cos(kTurn * 4 * t));
}

// A second of samples of a carrier, added to what is there. Its phase moves on by whole turns.
struct Carrier {
  double frequency, deviation, amplitude, tone;  // tone: Hz; 0: speech

  void add_to(std::vector<std::complex<double>>& samples) const {
    const auto rate = static_cast<double>(samples.size());
    double turns = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const double t = static_cast<double>(i) / rate;
      samples[i] += std::polar(amplitude, kTurn * turns);
      const double audio = tone > 0 ? std::sin(kTurn * tone * t) : speech(t);
      turns += (frequency + deviation * audio) / rate;
      turns -= std::floor(turns);
    }
  }
};

class FmTestSignal final : public Block {
 public:
  explicit FmTestSignal(const Values& values) : Block({{}, Output{Items::Complex}}) {
    const auto length = static_cast<std::size_t>(std::max(1.0, number(values, "rate_hz")));
    std::vector<std::complex<double>> samples(length);
    const Carrier own{static_cast<double>(whole(values, "frequency_hz")),
                      number(values, "deviation_hz"), number(values, "amplitude"),
                      static_cast<double>(whole(values, "tone_hz"))};
    own.add_to(samples);
    const double level = own.amplitude * std::pow(10, number(values, "adjacent_db") / 20);
    const auto apart = static_cast<double>(whole(values, "adjacent_hz"));
    if (apart != 0) Carrier{own.frequency + apart, own.deviation, level, 700}.add_to(samples);
    repeated_.resize(2 * length);
    for (std::size_t i = 0; i < length; ++i) {
      repeated_[2 * i] = static_cast<float>(samples[i].real());
      repeated_[2 * i + 1] = static_cast<float>(samples[i].imag());
    }
    Noise(static_cast<std::uint64_t>(whole(values, "seed")))
        .add(repeated_, static_cast<float>(number(values, "noise") * std::sqrt(0.5)));
  }

  void execute(const float* const*, float* out, std::size_t count) noexcept override {
    for (std::size_t done = 0, all = writes(count); done < all;) {
      const std::size_t now = std::min(repeated_.size() - at_, all - done);
      std::copy_n(repeated_.data() + at_, now, out + done);
      done += now;
      at_ = (at_ + now) % repeated_.size();
    }
  }

 private:
  std::vector<float> repeated_;
  std::size_t at_ = 0;
};

Parameter hertz(const char* name, const char* text, std::int64_t standard, double least) {
  return {.name = name,
          .text = text,
          .kind = ParameterKind::Whole,
          .standard = standard,
          .unit = "Hz",
          .least = least,
          .most = 1e9};
}

}  // namespace

BlockType fm_test_signal_type() {
  Parameter rate = rate_parameter();
  rate.most = 2e7;
  return {
      "fm-test-signal",
      "sources",
      "Makes a second of narrowband FM with noise and an adjacent channel, and repeats it: a "
      "synthetic signal to try receivers with.",
      {hertz("frequency_hz", "Of the carrier, from the centre.", 0, -1e9),
       {.name = "deviation_hz",
        .text = "Of the carrier, where the audio is 1.",
        .standard = 3000.0,
        .unit = "Hz",
        .least = 0,
        .most = 1e9},
       {.name = "amplitude", .text = "Of the carrier.", .standard = 0.5, .least = 0, .most = 1e6},
       hertz("tone_hz", "A sine as audio; 0: something like speech.", 0, 0),
       {.name = "noise",
        .text = "The root of its mean power.",
        .standard = 0.02,
        .least = 0,
        .most = 1e6},
       hertz("adjacent_hz", "How far off another carrier is; 0: there is none.", 25'000, -1e9),
       {.name = "adjacent_db",
        .text = "Its level against the carrier's.",
        .standard = -6.0,
        .unit = "dB",
        .least = -200,
        .most = 100},
       {.name = "seed",
        .text = "Of the noise.",
        .kind = ParameterKind::Whole,
        .standard = 1,
        .least = 0,
        .most = 9e18},
       rate},
      [](const Values& values) { return std::make_unique<FmTestSignal>(values); }};
}

}  // namespace carillon::dataflow
