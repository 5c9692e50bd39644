// Every block without a device, for about 4096 samples of its input at a time.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "dataflow/blocks/type.hpp"
#include "dataflow/trials.hpp"
#include "support/bench.hpp"

namespace {

using namespace carillon;
using namespace carillon::dataflow;

constexpr std::size_t kSamples = 4096;

void measure(bench::Bench& bench, const std::string& name, const bench::Trial& trial) {
  if (!bench.wants(name, trial.shape)) return;
  const auto block = make_block(name, trial.values);
  const Ports& ports = block->ports();
  const std::size_t each = ports.inputs.empty() ? ports.output->produce : ports.inputs[0].consume;
  const std::size_t count = std::max<std::size_t>(1, kSamples / each);
  Random random(1);
  std::vector<std::vector<float>> inputs;
  std::vector<const float*> in;
  for (std::size_t i = 0; i < ports.inputs.size(); ++i) {
    inputs.emplace_back(block->reads(i, count));
    for (float& x : inputs.back()) x = random.normal_pair()[0];
    in.push_back(inputs.back().data());
  }
  std::vector<float> out(block->writes(count));
  bench.time({.kernel = name,
              .shape = trial.shape,
              .per = "sample",
              .items = static_cast<double>(count * each)},
             [&] { block->execute(in.data(), out.data(), count); });
}

void run(bench::Bench& bench) {
  for (const BlockType& type : block_types()) {
    const auto found = bench::trials().find(type.name);
    if (found == bench::trials().end()) {
      std::fprintf(stderr, "trials.hpp has no values for the block %s\n", type.name.c_str());
      std::abort();
    }
    for (const bench::Trial& trial : found->second) measure(bench, type.name, trial);
  }
}

const bench::Group group("dataflow/blocks", run);

}  // namespace
