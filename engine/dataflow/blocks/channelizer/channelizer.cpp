// A band into channels of equal width.
#include <bit>
#include <stdexcept>
#include <vector>

#include "dataflow/blocks/fir/taps.hpp"
#include "dataflow/blocks/types.hpp"
#include "dsp/channelize/channelize.hpp"

namespace carillon::dataflow {
namespace {

constexpr std::size_t kMostTaps = 65536;

class ChannelizerBlock final : public Block {
 public:
  explicit ChannelizerBlock(dsp::Channelizer channelizer)
      : Block({{{Items::Complex, channelizer.channels(), channelizer.channels(),
                 channelizer.history()}},
               Output{Items::Complex, channelizer.channels()}}),
        channelizer_(std::move(channelizer)) {}
  void execute(const float* const* in, float* out, std::size_t count) noexcept override {
    dsp::channelize_kernels().channelize(channelizer_, reinterpret_cast<const dsp::Complex*>(*in),
                                         reinterpret_cast<dsp::Complex*>(out), count);
  }

 private:
  dsp::Channelizer channelizer_;
};

}  // namespace

BlockType channelizer_type() {
  return {"channelizer",
          "filters",
          "Divides a band into `channels` of equal width and makes a sample of each in turn "
          "(`pick` takes one of them). Channel c is c/`channels` of the rate above the centre; "
          "those of the upper half lie below it.",
          {{.name = "channels",
            .text = "How many: a power of two.",
            .kind = ParameterKind::Whole,
            .least = 4,
            .most = 4096},
           taps_parameter("The impulse response of each channel's low-pass filter, real.")},
          [](const Values& values) {
            const auto channels = static_cast<std::size_t>(whole(values, "channels"));
            if (!std::has_single_bit(channels))
              throw std::invalid_argument("channels: must be a power of two");
            return std::make_unique<ChannelizerBlock>(
                dsp::Channelizer(taps_of(values, kMostTaps), channels));
          }};
}

}  // namespace carillon::dataflow
