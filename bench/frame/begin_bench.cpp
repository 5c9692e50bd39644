// What it costs to begin a frame whose work is another than the last one's: 64 allocations of as
// many users, each frame in other blocks, modulations and rates.
#include <cstdint>
#include <vector>

#include "frame/cpu/pipeline.hpp"
#include "support/bench.hpp"

namespace {

using namespace carillon;

constexpr std::uint32_t kUsers = 64, kFrames = 16;

frame::FrameFormat cell() {
  frame::FrameFormat f;
  f.antennas = f.users = kUsers;
  f.numerology.fft_size = 2048;
  f.numerology.subcarriers = 1200;
  f.pilots = {frame::PilotKind::Comb, 16, 25};
  f.schedule = "PPPPUUUUUUUUUU";
  f.ring = 4;
  f.grants = {frame::GrantKind::List, kFrames, {}};
  for (std::uint32_t n = 0; n < kFrames; ++n)
    for (std::uint32_t user = 0; user < kUsers; ++user) {
      const std::uint32_t first = (7 * user + 11 * n) % 90, modulation = (user + n) % 4;
      const std::uint32_t rate = 3000 + 100 * ((user + 3 * n) % 20);  // of frame::kRateUnits
      f.grants.list.insert(f.grants.list.end(), {user, n, 0, first, 4 + (user + n) % 6, 0,
                                                 user % 16, 0, 0, modulation + 1, 0, rate, 0});
    }
  return f;
}

void run(bench::Bench& bench) {
  const bench::Case admit{.kernel = "begin", .shape = "64 changing allocations", .per = "frame"};
  if (!bench.begin(admit)) return;
  const frame::Frame frame(cell());
  frame::Pipeline pipeline(frame, {});
  std::uint64_t next = 0;
  std::size_t instructions = 0;
  std::vector<double> rounds;
  for (int round = bench.options().quick ? 100 : 2000; round > 0; --round) {
    const Tick start = now();
    pipeline.begin(next);
    instructions += pipeline.chunks(next).size();
    rounds.push_back(static_cast<double>(now() - start));
    ++next;
  }
  if (instructions > 0) bench.report(admit, bench::summary(rounds));
}

const bench::Group group("begin", run);

}  // namespace
