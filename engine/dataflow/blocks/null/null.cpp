// A source of zeros, and a sink that reads and forgets.
#include <algorithm>

#include "dataflow/blocks/types.hpp"

namespace carillon::dataflow {
namespace {

class NullSource final : public Block {
 public:
  explicit NullSource(Items items) : Block({{}, Output{items}}) {}
  void execute(const float* const*, float* out, std::size_t count) noexcept override {
    std::fill_n(out, writes(count), 0.0F);
  }
};

class NullSink final : public Block {
 public:
  explicit NullSink(Items items) : Block({{{items}}, {}}) {}
  void execute(const float* const*, float*, std::size_t) noexcept override {}
};

}  // namespace

BlockType null_source_type() {
  return {"null-source",
          "sources",
          "Makes zeros.",
          {samples_parameter("What it makes.")},
          [](const Values& values) { return std::make_unique<NullSource>(items(values)); }};
}

BlockType null_sink_type() {
  return {"null-sink",
          "sinks",
          "Reads samples and forgets them.",
          {samples_parameter()},
          [](const Values& values) { return std::make_unique<NullSink>(items(values)); }};
}

}  // namespace carillon::dataflow
