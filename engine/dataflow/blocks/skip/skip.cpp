// A stream without its first samples.
#include <algorithm>

#include "dataflow/blocks/types.hpp"

namespace carillon::dataflow {
namespace {

/// Each sample that it makes is the one that came `ahead` samples after the one that it takes away.
class Skip final : public Block {
 public:
  Skip(Items items, std::uint64_t ahead)
      : Block({{{.items = items, .threshold = ahead + 1, .ahead = ahead}}, Output{items}}),
        offset_(floats_of(items) * ahead) {}
  void execute(const float* const* in, float* out, std::size_t count) noexcept override {
    std::copy_n(*in + offset_, writes(count), out);
  }

 private:
  std::size_t offset_;
};

}  // namespace

BlockType skip_type() {
  return {"skip",
          "flow",
          "Leaves out the first samples.",
          {{.name = "count",
            .text = "How many; the graph keeps room for them.",
            .kind = ParameterKind::Whole,
            .unit = "samples",
            .least = 0,
            .most = 1e6},
           samples_parameter()},
          [](const Values& values) {
            return std::make_unique<Skip>(items(values),
                                          static_cast<std::uint64_t>(whole(values, "count")));
          }};
}

}  // namespace carillon::dataflow
