// The first samples of a stream.
#include <algorithm>
#include <atomic>

#include "dataflow/blocks/types.hpp"

namespace carillon::dataflow {
namespace {

/// Executions beyond the last make zeros, of a block that is used alone.
class Head final : public Block {
 public:
  Head(Items items, std::uint64_t count) : Block({{{items}}, Output{items}}), left_(count) {}

  void execute(const float* const* in, float* out, std::size_t count) noexcept override {
    const std::uint64_t left = left_.load(std::memory_order_relaxed);
    const std::uint64_t now = std::min<std::uint64_t>(left, count);
    const std::size_t passed = now == 0 ? 0 : writes(now);
    std::copy_n(*in, passed, out);
    std::fill(out + passed, out + writes(count), 0.0F);
    left_.store(left - now, std::memory_order_relaxed);
  }
  std::uint64_t remaining() const noexcept override {
    return left_.load(std::memory_order_relaxed);
  }
  std::vector<Figure> figures() const override {
    return {{"left", "samples", static_cast<double>(left_.load(std::memory_order_relaxed))}};
  }

 private:
  std::atomic<std::uint64_t> left_;
};

}  // namespace

BlockType head_type() {
  return {"head",
          "flow",
          "Hands on the first samples and ends. What nothing else reads ends with it.",
          {{.name = "count",
            .text = "How many.",
            .kind = ParameterKind::Whole,
            .unit = "samples",
            .least = 1,
            .most = 1e15},
           samples_parameter()},
          [](const Values& values) {
            return std::make_unique<Head>(items(values),
                                          static_cast<std::uint64_t>(whole(values, "count")));
          }};
}

}  // namespace carillon::dataflow
