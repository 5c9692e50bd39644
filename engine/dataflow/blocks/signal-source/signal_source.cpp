// Test signals of a frequency.
#include <algorithm>
#include <array>
#include <stdexcept>

#include "dataflow/blocks/types.hpp"
#include "dsp/rotate/rotate.hpp"

namespace carillon::dataflow {
namespace {

enum class Waveform : std::uint8_t { Exponential, Sine, Square, Constant };
const std::vector<std::string> kWaveforms{"exponential", "sine", "square", "constant"};

struct Signal {
  Waveform waveform;
  double frequency_hz, rate_hz;
  float amplitude;
};

/// Its phase counts turns exactly, and goes on from where it is when the frequency changes.
class SignalSource final : public Block {
 public:
  SignalSource(Items items, Signal signal)
      : Block({{}, Output{items}}),
        signal_(signal),
        rotation_(signal.frequency_hz / signal.rate_hz) {}

  void execute(const float* const*, float* out, std::size_t count) noexcept override {
    const std::size_t each = floats_of(ports().output->items);
    for (std::size_t done = 0; done < count; done += kAtOnce) {
      const std::size_t now = std::min(kAtOnce, count - done);
      if (signal_.waveform == Waveform::Exponential)
        exponential(reinterpret_cast<dsp::Complex*>(out) + done, now);
      else
        real(out + each * done, each, now);
    }
  }
  void set(std::string_view parameter, double value) noexcept override {
    if (parameter == "amplitude") {
      signal_.amplitude = static_cast<float>(value);
    } else {
      const std::uint64_t phase = rotation_.phase;
      rotation_ = dsp::Rotation(value / signal_.rate_hz);
      rotation_.phase = phase;
    }
  }

 private:
  static constexpr std::size_t kAtOnce = dsp::Rotation::kBlock;

  void exponential(dsp::Complex* y, std::size_t count) noexcept {
    std::fill_n(y, count, dsp::Complex{signal_.amplitude, 0});
    dsp::rotate_kernels().rotate(&rotation_, y, y, count);
  }

  // One float every `each`; the imaginary parts of complex samples are 0.
  void real(float* y, std::size_t each, std::size_t count) noexcept {
    if (each == 2) std::fill_n(y, 2 * count, 0.0F);
    const auto fill = [=](auto&& value) {
      for (std::size_t i = 0; i < count; ++i) y[i * each] = value(i);
    };
    if (signal_.waveform == Waveform::Sine) {
      std::array<dsp::Complex, kAtOnce> turns;
      exponential(turns.data(), count);
      fill([&](std::size_t i) { return turns[i].im; });
      return;
    }
    const float amplitude = signal_.amplitude;
    const std::uint64_t phase = rotation_.phase, step = rotation_.step;
    if (signal_.waveform == Waveform::Square)
      fill([=](std::size_t i) { return phase + i * step < kHalfTurn ? amplitude : -amplitude; });
    else
      fill([=](std::size_t) { return amplitude; });
    rotation_.phase += count * step;
  }

  static constexpr std::uint64_t kHalfTurn = std::uint64_t{1} << 63;

  Signal signal_;
  dsp::Rotation rotation_;
};

std::unique_ptr<Block> made(const Values& values) {
  const auto at = std::ranges::find(kWaveforms, text(values, "waveform")) - kWaveforms.begin();
  const auto waveform = static_cast<Waveform>(at);
  if (waveform == Waveform::Exponential && items(values) == Items::Real)
    throw std::invalid_argument("waveform: an exponential is of complex samples only");
  return std::make_unique<SignalSource>(
      items(values), Signal{waveform, number(values, "frequency_hz"), number(values, "rate_hz"),
                            static_cast<float>(number(values, "amplitude"))});
}

}  // namespace

BlockType signal_source_type() {
  return {"signal-source",
          "sources",
          "Makes a signal whose phase is exact, however long it runs. It keeps its rate by itself: "
          "a graph needs no throttle.",
          {{.name = "waveform",
            .text = "A complex exponential, a sine, a square wave that begins high, or a constant.",
            .kind = ParameterKind::Text,
            .standard = "exponential",
            .choices = kWaveforms},
           {.name = "frequency_hz",
            .text = "How often it repeats.",
            .standard = 0.0,
            .unit = "Hz",
            .least = -1e12,
            .most = 1e12,
            .changes = true},
           {.name = "amplitude",
            .text = "Its greatest magnitude.",
            .standard = 1.0,
            .least = -3e38,
            .most = 3e38,
            .changes = true},
           rate_parameter(),
           samples_parameter(
               "What it makes; all but the exponential are real, also as complex samples.")},
          made};
}

}  // namespace carillon::dataflow
