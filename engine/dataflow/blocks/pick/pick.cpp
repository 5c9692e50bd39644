// One channel of several whose samples come in turn.
#include <stdexcept>

#include "dataflow/blocks/types.hpp"

namespace carillon::dataflow {
namespace {

class Pick final : public Block {
 public:
  Pick(Items items, std::size_t channels, std::size_t channel)
      : Block({{{items, channels, channels}}, Output{items}}),
        channels_(channels),
        channel_(channel) {}
  void execute(const float* const* in, float* out, std::size_t count) noexcept override {
    const std::size_t each = floats_of(ports().output->items);
    const float* x = *in + each * channel_;
    for (std::size_t i = 0; i < count; ++i, x += each * channels_)
      for (std::size_t part = 0; part < each; ++part) out[each * i + part] = x[part];
  }

 private:
  std::size_t channels_, channel_;
};

}  // namespace

BlockType pick_type() {
  return {"pick",
          "flow",
          "Hands on one of several channels whose samples come in turn, as a channelizer's do.",
          {{.name = "channels",
            .text = "How many there are.",
            .kind = ParameterKind::Whole,
            .least = 1,
            .most = 4096},
           {.name = "channel",
            .text = "Which, from 0.",
            .kind = ParameterKind::Whole,
            .least = 0,
            .most = 4095},
           samples_parameter()},
          [](const Values& values) {
            const std::int64_t channels = whole(values, "channels");
            const std::int64_t channel = whole(values, "channel");
            if (channel >= channels) throw std::invalid_argument("channel: must be below channels");
            return std::make_unique<Pick>(items(values), static_cast<std::size_t>(channels),
                                          static_cast<std::size_t>(channel));
          }};
}

}  // namespace carillon::dataflow
