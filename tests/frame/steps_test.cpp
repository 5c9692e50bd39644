#include "frame/steps.hpp"

#include <algorithm>
#include <set>
#include <sstream>

#include "frame/cell.hpp"
#include "frame/graph.hpp"
#include "frame/pool.hpp"
#include "frame/random_format.hpp"
#include "support/test.hpp"

using namespace carillon;
using namespace carillon::frame;

namespace {

std::vector<Step> steps(const Frame& frame) { return steps_of(frame, needs_of(frame, 1)); }

std::string name(const Step& step) {
  return std::string(kOpNames[static_cast<std::size_t>(step.op)]) + " " +
         std::to_string(step.symbol);
}

// A line for each: what it is, and what it takes.
std::string written(const std::vector<Step>& steps) {
  std::ostringstream text;
  for (const Step& step : steps) {
    text << name(step);
    for (const auto place : step.takes) text << " < " << name(steps[place]);
    text << "\n";
  }
  return text.str();
}

using Edge = std::pair<std::pair<Op, std::uint32_t>, std::pair<Op, std::uint32_t>>;

bool moves(Op op) { return op == Op::Load || op == Op::Store; }

// What takes what, by opcode and symbol, without transfers.
std::set<Edge> edges(const runtime::Graph& graph) {
  const auto place = [&](std::uint16_t id) {
    return std::pair{static_cast<Op>(graph[id].opcode), graph[id].step};
  };
  std::set<Edge> found;
  for (std::uint16_t id = 0; id < graph.size(); ++id)
    for (const auto next : graph[id].successors)
      if (!moves(place(id).first) && !moves(place(next).first))
        found.emplace(place(id), place(next));
  return found;
}

std::set<Edge> edges(const std::vector<Step>& steps) {
  std::set<Edge> found;
  for (const Step& step : steps)
    for (const auto place : step.takes)
      if (!moves(step.op))
        found.emplace(std::pair{steps[place].op, steps[place].symbol},
                      std::pair{step.op, step.symbol});
  return found;
}

}  // namespace

TEST(Steps, AreThoseOfASmallFrame) {
  FrameFormat format = test::small_format();
  format.schedule = "PPUUGGDDD";
  format.deadlines.precoder_age = 1;
  format.ring = 2;
  EXPECT_EQ(written(steps(Frame(format))),
            "PilotFft 0\n"
            "PilotFft 1\n"
            "UplinkFft 2\n"
            "UplinkFft 3\n"
            "ZeroForce 1 < PilotFft 0 < PilotFft 1\n"
            "EqualizeDemodulate 2 < UplinkFft 2 < ZeroForce 1\n"
            "EqualizeDemodulate 3 < UplinkFft 3 < ZeroForce 1\n"
            "Decode 3 < EqualizeDemodulate 2 < EqualizeDemodulate 3\n"
            "Encode 7\n"
            "Precode 6 < ZeroForce 1\n"
            "Ifft 6 < Precode 6\n"
            "Modulate 7 < Encode 7\n"
            "Precode 7 < Modulate 7 < ZeroForce 1\n"
            "Ifft 7 < Precode 7\n"
            "Modulate 8 < Encode 7\n"
            "Precode 8 < Modulate 8 < ZeroForce 1\n"
            "Ifft 8 < Precode 8\n");
}

// The second occasion's users are in a slot of their own, and the D after it has references.
TEST(Steps, TakeTheirOwnPilotOccasions) {
  FrameFormat format = test::small_format();
  format.users = 1;
  format.schedule = "PUGDDPUGDD";
  format.pilots.occasions = 2;
  format.symbols_per_slot = 5;
  format.deadlines.downlink_lead_ms = 0.01;
  format.ring = 2;
  EXPECT_EQ(written(steps(Frame(format))),
            "PilotFft 0\n"
            "UplinkFft 1\n"
            "PilotFft 5\n"
            "UplinkFft 6\n"
            "ZeroForce 0 < PilotFft 0\n"
            "ZeroForce 5 < PilotFft 5\n"
            "EqualizeDemodulate 1 < UplinkFft 1 < ZeroForce 0\n"
            "EqualizeDemodulate 6 < UplinkFft 6 < ZeroForce 5\n"
            "Decode 1 < EqualizeDemodulate 1\n"
            "Decode 6 < EqualizeDemodulate 6\n"
            "Encode 4\n"
            "Encode 9\n"
            "Precode 3 < ZeroForce 0\n"
            "Ifft 3 < Precode 3\n"
            "Modulate 4 < Encode 4\n"
            "Precode 4 < Modulate 4 < ZeroForce 0\n"
            "Ifft 4 < Precode 4\n"
            "Precode 8 < ZeroForce 5\n"
            "Ifft 8 < Precode 8\n"
            "Modulate 9 < Encode 9\n"
            "Precode 9 < Modulate 9 < ZeroForce 5\n"
            "Ifft 9 < Precode 9\n");
}

TEST(Steps, AssembleTransportBlocksOfSeveralCodeBlocks) {
  FrameFormat format = test::small_format();
  format.schedule = "PPUUUU";
  format.numerology.fft_size = 1024;
  format.numerology.subcarriers = 792;
  format.uplink.modulation = ModulationChoice::Qam64;
  format.uplink.rate = 0.6;
  const Frame frame(format);
  ASSERT_GT(frame.program().plan(frame.program().transport_blocks(Direction::Uplink)[0]).C(), 1U);
  const std::string all = written(steps(frame));
  EXPECT_EQ(all.substr(all.find("Decode")),
            "Decode 3 < EqualizeDemodulate 2 < EqualizeDemodulate 3\n"
            "Decode 5 < EqualizeDemodulate 4 < EqualizeDemodulate 5\n"
            "Store 5 < Decode 3 < Decode 5\n");
}

TEST(Steps, TakeWhatComesBefore) {
  test::FormatMaker make(1, 3);
  for (int i = 0; i < 150; ++i) {
    const auto made = steps(Frame(make()));
    for (std::size_t place = 0; place < made.size(); ++place) {
      const bool begins = made[place].op == Op::PilotFft || made[place].op == Op::UplinkFft ||
                          made[place].op == Op::Encode;
      EXPECT_EQ(made[place].takes.empty(), begins) << name(made[place]);
      for (const auto taken : made[place].takes) EXPECT_LT(taken, place);
    }
  }
}

// What both graphs add is their own: transfers of devices, grids that cores share.
TEST(Steps, MakeTheGraphsOfCoresAndOfDevices) {
  test::FormatMaker make(2, 1, 1);
  for (int i = 0; i < 150; ++i) {
    FrameFormat format = make();
    format.deadlines.precoder_age = 0;
    if (!format.validate().empty()) continue;
    const Frame frame(format);
    const auto expected = edges(steps(frame));
    const PoolGraphOptions options{.deadline = frame.duration() + kMillisecond};
    EXPECT_EQ(edges(build_pool_graph(frame, options, *find_pool_profile("roofline")).graph),
              expected);
    auto of_cores = edges(build_graph(frame).graph);
    std::erase_if(of_cores, [](const Edge& edge) { return edge.second.first == Op::UplinkFft; });
    EXPECT_EQ(of_cores, expected);
  }
}
