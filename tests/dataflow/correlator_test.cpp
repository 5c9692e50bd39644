// What a correlator says about the samples that it finds.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.hpp"
#include "dataflow/blocks/type.hpp"

namespace carillon::dataflow {
namespace {

constexpr std::size_t kLength = 50;

std::vector<float> noise(std::size_t floats, std::uint64_t seed, float amplitude) {
  Random random(seed);
  std::vector<float> drawn(floats);
  for (float& x : drawn) x = amplitude * random.normal_pair()[0];
  return drawn;
}

TEST(Correlator, AnnotatesTheSampleWhereASequenceBegins) {
  const std::vector<float> sequence = noise(2 * kLength, 1, 1);
  std::vector<float> x = noise(2 * 1000, 2, 0.01F);
  // The second one's peak is the last value of a job, and what follows it that of the next.
  for (const std::size_t at : {123U, 399U, 700U})
    for (std::size_t i = 0; i < sequence.size(); ++i) x[2 * at + i] += sequence[i];
  const auto block =
      make_block("correlator", {{"sequence", std::vector<double>(sequence.begin(), sequence.end())},
                                {"text", std::string("preamble")}});
  std::vector<float> out(400);
  std::vector<std::size_t> found;
  for (const std::size_t first : {0U, 400U}) {
    const float* const in = &x[2 * first];
    block->tags_out.clear();
    block->execute(&in, out.data(), 400);
    for (const Tag& tag : block->tags_out.tags()) {
      found.push_back(first + tag.position);
      EXPECT_EQ(tag.kind, TagKind::Annotation);
      EXPECT_EQ(tag.value, kLength);
      EXPECT_EQ(tag.said(), "preamble");
    }
  }
  EXPECT_EQ(found, (std::vector<std::size_t>{123, 399, 700}));
}

}  // namespace
}  // namespace carillon::dataflow
