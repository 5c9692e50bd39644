// What it costs to decide what one frame does: 4 and 64 users who all have something to send in
// both directions, 273 resource blocks, two slots.
#include <cstdint>
#include <string>
#include <vector>

#include "frame/frame.hpp"
#include "mac/scheduler.hpp"
#include "support/bench.hpp"

namespace {

using namespace carillon;
using frame::Direction;

frame::FrameFormat cell(frame::GrantPolicy policy, std::uint32_t users) {
  frame::FrameFormat f;
  f.antennas = f.users = users;
  f.numerology.fft_size = 4096;
  f.numerology.subcarriers = 3276;
  f.numerology.spacing_khz = 30;
  f.pilots = {frame::PilotKind::Comb, 16, 25};
  f.schedule = "PPPPUUUUUUGDDDUUUUUUUUUGDDDD";
  f.uplink.mcs_table = f.downlink.mcs_table = frame::McsTable::Qam256;
  f.uplink.mcs_index = f.downlink.mcs_index = {27};
  f.deadlines.downlink_lead_ms = 0.1;
  f.grants.kind = frame::GrantKind::Scheduler;
  f.grants.policy = policy;
  return f;
}

void measure(bench::Bench& bench, const bench::Case& decide, frame::GrantPolicy policy,
             std::uint32_t users) {
  if (!bench.begin(decide)) return;
  const frame::Frame frame(cell(policy, users));
  mac::Scheduler scheduler(frame);
  std::uint32_t next = 1;
  std::size_t grants = 0;
  std::vector<double> rounds;
  for (int round = bench.options().quick ? 100 : 20'000; round > 0; --round, ++next) {
    const Tick start = now();
    for (const Direction d : {Direction::Uplink, Direction::Downlink})
      for (std::uint32_t u = 0; u < users; ++u) {
        scheduler.heard(d, u, next % 10 == 0 ? frame::Verdict::Failed : frame::Verdict::Good,
                        static_cast<double>((7 * u + next) % 30));
        scheduler.report(d, u, 200 + (u * next) % 3000, next - 1);
      }
    grants += scheduler.schedule(next).size();
    rounds.push_back(static_cast<double>(now() - start));
  }
  if (grants > 0) bench.report(decide, bench::summary(rounds));
}

void run(bench::Bench& bench) {
  for (const std::uint32_t users : {4U, 64U}) {
    const std::string shape = std::to_string(users) + " users ";
    measure(bench, {.kernel = "schedule", .shape = shape + "round-robin", .per = "frame"},
            frame::GrantPolicy::RoundRobin, users);
    measure(bench, {.kernel = "schedule", .shape = shape + "proportional-fair", .per = "frame"},
            frame::GrantPolicy::ProportionalFair, users);
  }
}

const bench::Group group("mac", run);

}  // namespace
