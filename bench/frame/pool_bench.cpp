// A pool of devices in virtual time: what a task event (issue, execution, commit) of the simulation
// costs, and what its policy's decisions do, in real time, per instruction. Goals: a million events
// per second; 90 % of the decisions within 2 µs (MegaStation's instruction unit: 12 µs, §5.5).
#include <memory>
#include <string>
#include <vector>

#include "frame/large_cell.hpp"
#include "rack/pool_run.hpp"
#include "runtime/policies/pool/pool_policies.hpp"
#include "runtime/policies/timed.hpp"
#include "support/bench.hpp"

namespace {

using namespace carillon;
using namespace carillon::frame;
using namespace carillon::rack;
using namespace carillon::runtime;

PoolModel pool(std::uint32_t devices) {
  std::vector<FabricNode> nodes{{"host", 0, 0, 0}, {"chassis", 0, 64e9, 500}};
  PoolModel model;
  for (std::uint32_t d = 0; d < devices; ++d) {
    const auto node = static_cast<std::uint16_t>(nodes.size());
    model.devices.push_back({.type = find_device_type("a100"), .node = node});
    nodes.push_back({"gpu", 1, 25e9, 500});
  }
  model.fabric = *Fabric::build(nodes).fabric;
  model.jitter = {0.1, 0.1};
  return model;
}

void run(bench::Bench& bench) {
  constexpr int kRounds = 5;
  const Frame frame(bench::large_cell());
  const PoolModel model = pool(4);
  for (const std::string_view policy : pool_policy_names()) {
    bench::Case event{.kernel = "pool",
                      .shape = "128x64, 3 cells, 4 devices, " + std::string(policy),
                      .per = "event"};
    bench::Case mean = event, most = event;
    mean.kernel = "pool decisions";
    most.kernel = "pool decisions, p90";
    mean.per = most.per = "instruction";
    if (!(bench.begin(event) | bench.begin(mean) | bench.begin(most))) continue;
    std::vector<double> events, means, percentiles;
    for (int round = 0; round < kRounds; ++round) {
      PoolRunOptions options;
      options.policy = policy;
      options.profile = find_pool_profile("megastation");
      options.frames = 300;
      const Tick start = now();
      const PoolRun whole = run_on_pool({&frame, &frame, &frame}, model, options);
      events.push_back(static_cast<double>(now() - start) /
                       (3.0 * static_cast<double>(whole.tasks)));
      std::vector<double> issues;
      options.around = [&](std::unique_ptr<Policy> plain) {
        return std::make_unique<TimedPolicy>(std::move(plain), issues);
      };
      run_on_pool({&frame, &frame, &frame}, model, options);
      const auto [mean_ns, p90_ns] = bench::mean_and_p90(issues);
      means.push_back(mean_ns);
      percentiles.push_back(p90_ns);
    }
    if (bench.wants(event.kernel, event.shape)) bench.report(event, bench::summary(events));
    if (bench.wants(mean.kernel, mean.shape)) bench.report(mean, bench::summary(means));
    if (bench.wants(most.kernel, most.shape)) bench.report(most, bench::summary(percentiles));
  }
}

const bench::Group group("frame/pool", run);

}  // namespace
