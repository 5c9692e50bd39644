// Gaussian noise.
#include "base/noise.hpp"

#include <algorithm>
#include <cmath>

#include "dataflow/blocks/types.hpp"

namespace carillon::dataflow {
namespace {

/// The same for a seed, however many samples are made at once: the noise comes in blocks.
class NoiseSource final : public Block {
 public:
  NoiseSource(Items items, std::uint64_t seed, float amplitude)
      : Block({{}, Output{items}}), noise_(seed), amplitude_(amplitude) {}

  void execute(const float* const*, float* out, std::size_t count) noexcept override {
    const auto deviation =
        ports().output->items == Items::Complex ? amplitude_ * std::sqrt(0.5F) : amplitude_;
    for (std::size_t done = 0, all = writes(count); done < all;) {
      if (used_ == kBlock) refill();
      const std::size_t now = std::min(kBlock - used_, all - done);
      for (std::size_t i = 0; i < now; ++i) out[done + i] = deviation * block_[used_ + i];
      done += now;
      used_ += now;
    }
  }
  void set(std::string_view, double amplitude) noexcept override {
    amplitude_ = static_cast<float>(amplitude);
  }

 private:
  static constexpr std::size_t kBlock = 256;

  void refill() noexcept {
    std::fill_n(block_, kBlock, 0.0F);
    noise_.add(block_, 1);
    used_ = 0;
  }

  Noise noise_;
  float amplitude_;
  alignas(kCacheLine) float block_[kBlock];
  std::size_t used_ = kBlock;
};

}  // namespace

BlockType noise_source_type() {
  return {"noise-source",
          "sources",
          "Makes white Gaussian noise, the same for a seed.",
          {{.name = "amplitude",
            .text = "The root of its mean power.",
            .standard = 1.0,
            .least = 0,
            .most = 1e37,
            .changes = true},
           {.name = "seed",
            .text = "Which noise.",
            .kind = ParameterKind::Whole,
            .standard = 1,
            .least = 0,
            .most = 1e15},
           samples_parameter("What it makes.")},
          [](const Values& values) {
            return std::make_unique<NoiseSource>(items(values),
                                                 static_cast<std::uint64_t>(whole(values, "seed")),
                                                 static_cast<float>(number(values, "amplitude")));
          }};
}

}  // namespace carillon::dataflow
