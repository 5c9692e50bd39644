// Fuzz target: any text either is a run plan, which then can be built and reads back as itself, or
// has problems, each under a key.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "app/run_plan.hpp"
#include "frame/graph.hpp"

using namespace carillon;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

// What a fuzzer can build thousands of times a minute.
bool small(const frame::FrameFormat& cell) {
  return cell.antennas <= 16 && cell.users <= 8 && cell.numerology.fft_size <= 512;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<Problem> problems;
  const auto plan = app::parse_run_plan({reinterpret_cast<const char*>(data), size}, problems);
  for (const Problem& problem : problems) require(!problem.key.empty() && !problem.message.empty());
  if (!problems.empty()) {
    plan.cell.validate();  // must bear what it refuses
    return 0;
  }
  const auto again = app::parse_run_plan(app::to_text(plan), problems);
  require(problems.empty() && app::to_text(again) == app::to_text(plan));
  if (small(plan.cell)) frame::build_graph(frame::Frame(plan.cell));
  return 0;
}
