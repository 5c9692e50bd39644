// Every block: pieces of any size give what one piece does, and no sample is read or written beyond
// what is declared.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "dataflow/blocks/type.hpp"
#include "dataflow/trials.hpp"

namespace carillon::dataflow {
namespace {

using Windows = std::vector<std::vector<float>>;

// Of each input, for so many executions: exactly as large, so that sanitizers see what is beyond.
Windows windows_of(const Block& block, std::size_t count) {
  Random random(7);
  Windows all;
  for (std::size_t i = 0; i < block.ports().inputs.size(); ++i) {
    const Input& input = block.ports().inputs[i];
    all.emplace_back(block.reads(i, count));
    const std::size_t before = input.history * floats_of(input.items);
    for (std::size_t k = before; k < all[i].size(); ++k) all[i][k] = random.normal_pair()[0];
  }
  return all;
}

std::vector<float> executed(Block& block, const Windows& all, std::size_t first,
                            std::size_t count) {
  Windows own;
  std::vector<const float*> in;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Input& input = block.ports().inputs[i];
    const float* const from = all[i].data() + first * input.consume * floats_of(input.items);
    own.emplace_back(from, from + block.reads(i, count));
  }
  for (const auto& window : own) in.push_back(window.data());
  std::vector<float> out(block.writes(count));
  block.tags_out.clear();
  block.execute(in.data(), out.data(), count);
  return out;
}

void expect_same_in_pieces(const std::string& name, const bench::Trial& trial) {
  constexpr std::size_t kCount = 97;
  const auto whole = make_block(name, trial.values), pieces = make_block(name, trial.values);
  const Windows all = windows_of(*whole, kCount);
  const std::vector<float> expected = executed(*whole, all, 0, kCount);
  std::vector<float> found;
  for (std::size_t done = 0, step = 1; done < kCount; done += step, step = step % 13 + 1) {
    step = std::min(step, kCount - done);
    const std::vector<float> piece = executed(*pieces, all, done, step);
    found.insert(found.end(), piece.begin(), piece.end());
  }
  ASSERT_EQ(found.size(), expected.size()) << name;
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], 1e-4 + 1e-4 * std::abs(expected[i]))
        << name << ", " << trial.shape << ", float " << i;
  for (const Figure& figure : whole->figures()) EXPECT_FALSE(figure.name.empty()) << name;
}

TEST(EveryBlock, GivesTheSameInPieces) {
  for (const BlockType& type : block_types()) {
    const auto found = bench::trials().find(type.name);
    ASSERT_NE(found, bench::trials().end()) << "trials.hpp has no values for " << type.name;
    for (const bench::Trial& trial : found->second) expect_same_in_pieces(type.name, trial);
  }
}

TEST(EveryBlock, StaysFiniteAfterWhatIsNot) {
  constexpr std::size_t kCount = 20'000;
  for (const std::string name : {"deemphasis", "dc-blocker", "squelch", "agc", "fm-modulator"}) {
    const auto block = make_block(name, bench::trials().at(name).front().values);
    Windows all = windows_of(*block, kCount);
    all[0][3] = std::numeric_limits<float>::quiet_NaN();
    all[0][4] = std::numeric_limits<float>::infinity();
    const std::vector<float> out = executed(*block, all, 0, kCount);
    EXPECT_TRUE(std::ranges::all_of(out, [](float x) { return std::isfinite(x); })) << name;
  }
}

TEST(EveryBlock, TakesTheChangesThatItDeclares) {
  for (const BlockType& type : block_types()) {
    const auto& known = bench::trials().at(type.name);
    for (const Parameter& parameter : type.parameters) {
      if (!parameter.changes || known.empty()) continue;
      const auto block = make_block(type.name, known.front().values);
      const double value = std::clamp(0.25, parameter.least, parameter.most);
      block->set(parameter.name, value);
      const Windows all = windows_of(*block, 50);
      const std::vector<float> out = executed(*block, all, 0, 50);
      EXPECT_TRUE(std::ranges::all_of(out, [](float x) { return std::isfinite(x); })) << type.name;
    }
  }
}

}  // namespace
}  // namespace carillon::dataflow
