#include "frame/graph.hpp"

#include <algorithm>
#include <bit>
#include <set>

#include "frame/ancestry.hpp"
#include "frame/cell.hpp"
#include "frame/opcodes.hpp"
#include "frame/random_format.hpp"
#include "support/test.hpp"

using namespace carillon;
using namespace carillon::frame;
using test::Ancestry;

namespace {

struct Built {
  explicit Built(const FrameFormat& format)
      : frame(format), made(build_graph(frame)), ancestry(made.graph) {}
  // The instruction of an opcode in a symbol, or kNoInstruction.
  std::uint16_t find(Op op, std::uint32_t symbol) const {
    std::uint16_t found = kNoInstruction;
    for (std::uint16_t i = 0; i < made.graph.size(); ++i)
      if (made.graph[i].opcode == static_cast<std::uint16_t>(op) && made.graph[i].step == symbol) {
        EXPECT_EQ(found, kNoInstruction) << "twice: " << kOpNames[static_cast<std::size_t>(op)];
        found = i;
      }
    return found;
  }
  // That makes the combiner of a symbol.
  std::uint16_t zero_force(std::uint32_t symbol) const {
    return made.zero_force.at(frame.combiner_of(frame.program(), symbol));
  }
  Frame frame;
  FrameGraph made;
  Ancestry ancestry;
};

template <typename Check>
void for_random_graphs(std::uint64_t seed, Check&& check) {
  test::FormatMaker make(seed);
  for (int i = 0; i < 150; ++i) check(Built(make()));
}

Tick ms(double value) { return std::llround(value * static_cast<double>(kMillisecond)); }

}  // namespace

TEST(FrameGraph, HasNoCycleAndCountsItsPredecessors) {
  for_random_graphs(1, [](const Built& b) {
    EXPECT_TRUE(b.ancestry.acyclic());
    EXPECT_TRUE(b.ancestry.counted());
  });
}

TEST(FrameGraph, ReceivesEveryPilotAndUplinkSymbolOnce) {
  for_random_graphs(2, [](const Built& b) {
    for (std::uint16_t s = 0; s < b.frame.symbols().size(); ++s) {
      const auto& symbol = b.frame.symbol(s);
      const bool pilot = symbol.kind == SymbolKind::Pilot;
      const auto id = b.find(pilot ? Op::PilotFft : Op::UplinkFft, s);
      EXPECT_EQ(b.made.receive[s], id);
      EXPECT_EQ(id != kNoInstruction, pilot || symbol.kind == SymbolKind::Uplink);
      if (id == kNoInstruction) continue;
      const auto& instruction = b.made.graph[id];
      EXPECT_TRUE(instruction.feed == runtime::Feed::Arrivals);
      EXPECT_EQ(instruction.chunks, b.frame.format().antennas);
      const bool takes_over = !pilot && symbol.ordinal >= kReceivedGrids;
      EXPECT_EQ(instruction.predecessors, takes_over ? 1U : 0U);
      EXPECT_EQ(instruction.release, symbol.end - 5 * kMicrosecond);
      EXPECT_EQ(instruction.close,
                symbol.end + ms(b.frame.format().deadlines.uplink_budget_ms / 2));
    }
  });
}

// However long the uplink may take: what waits for pilots gets as much time as their packets.
TEST(FrameGraph, ClosesPilotsInTimeForTheDownlinkThatNeedsThem) {
  for (const std::uint32_t age : {0U, 1U, 2U}) {
    FrameFormat format = test::small_format();
    format.schedule = "PPGGDDUU";
    format.deadlines.precoder_age = age;
    format.deadlines.downlink_lead_ms = 0.05;
    format.deadlines.uplink_budget_ms = 50;
    const Built b(format);
    const Tick needed =
        age == 0 ? b.frame.downlink_deadline(4) : static_cast<Tick>(age) * b.frame.duration();
    for (const auto s : b.frame.symbols_of(SymbolKind::Pilot)) {
      const auto& pilot = b.made.graph[b.made.receive[s]];
      const Tick waits = pilot.early_close - b.frame.symbol(s).end;
      EXPECT_LE(std::abs(waits - (needed - pilot.early_close)), 1) << "age " << age;
      EXPECT_EQ(pilot.quorum, 5U);  // of six antennas
      EXPECT_EQ(pilot.close, b.frame.symbol(s).end + ms(25));
    }
    EXPECT_EQ(b.made.graph[b.made.receive[6]].early_close, runtime::kNever);
  }
}

TEST(FrameGraph, WritesAReceivedGridAgainWhenNobodyReadsItAnyMore) {
  std::size_t reused = 0;
  for_random_graphs(8, [&](const Built& b) {
    const auto symbols = b.frame.symbols_of(SymbolKind::Uplink);
    for (std::size_t i = kReceivedGrids; i < symbols.size(); ++i) {
      const auto before = symbols[i - kReceivedGrids], now = symbols[i];
      const auto equalize = b.find(Op::EqualizeDemodulate, before);
      EXPECT_TRUE(b.ancestry.before(b.made.receive[before], b.made.receive[now]));
      if (equalize == kNoInstruction) continue;
      EXPECT_TRUE(b.ancestry.before(equalize, b.made.receive[now]));
      ++reused;
    }
  });
  EXPECT_GT(reused, 100U);
}

TEST(FrameGraph, MakesCombinersFromAllPilotsOfTheirOccasionAlone) {
  for_random_graphs(3, [](const Built& b) {
    const auto& f = b.frame.format();
    const std::uint32_t groups =
        (f.numerology.subcarriers + f.combiner.group - 1) / f.combiner.group;
    std::size_t next = 0;
    for (std::uint32_t o = 0; o < f.pilots.occasions; ++o)
      for (std::size_t n = 0; n < b.frame.program().pairings(o).size(); ++n) {
        const auto id = b.made.zero_force.at(next++);
        EXPECT_EQ(b.made.graph[id].chunks, (groups + 15) / 16);
        for (const auto s : b.frame.symbols_of(SymbolKind::Pilot))
          EXPECT_EQ(b.ancestry.before(b.made.receive[s], id), b.frame.symbol(s).occasion == o);
      }
    EXPECT_EQ(b.made.zero_force.size(), next);
  });
}

TEST(FrameGraph, DecodesACodeBlockAfterAllItsSymbols) {
  for_random_graphs(4, [](const Built& b) {
    for (std::uint32_t s = 0; s < b.frame.symbols().size(); ++s) {
      if (b.frame.symbol(s).kind != SymbolKind::Uplink) continue;
      const auto blocks = b.frame.program().code_blocks_at(s);
      const auto decode = b.made.decode[s];
      EXPECT_EQ(decode, b.find(Op::Decode, s));
      ASSERT_EQ(decode != kNoInstruction, !blocks.empty());
      if (blocks.empty()) continue;
      EXPECT_EQ(b.made.graph[decode].chunks, b.made.work[0].packs[s].size());
      EXPECT_EQ(b.made.work[0].chunks[decode], b.made.work[0].packs[s].size());
      EXPECT_EQ(b.made.graph[decode].longest, b.frame.coding(Direction::Uplink).iterations);
      EXPECT_TRUE(b.ancestry.before(b.zero_force(s), decode));
      for (const auto block : blocks) {
        const auto& place = b.frame.program().code_blocks(Direction::Uplink)[block];
        const auto user =
            b.frame.program().transport_blocks(Direction::Uplink)[place.transport_block].user;
        for (std::uint32_t t = place.first_symbol; t <= place.last_symbol; ++t) {
          if (b.frame.symbol(t).kind != SymbolKind::Uplink ||
              b.frame.program().allocations(t, user).empty())
            continue;
          const auto equalize = b.find(Op::EqualizeDemodulate, t);
          EXPECT_EQ(b.made.graph[equalize].chunks, b.frame.tiles());
          EXPECT_TRUE(b.ancestry.before(equalize, decode));
          EXPECT_TRUE(b.ancestry.before(b.made.receive[t], equalize));
          EXPECT_TRUE(b.ancestry.before(b.zero_force(t), equalize));
        }
      }
    }
  });
}

TEST(FrameGraph, PacksCodeBlocksOfTheSamePlanUpToAWorkersShare) {
  test::FormatMaker make(8);
  for (int i = 0; i < 150; ++i) {
    const Frame frame(make());
    for (const std::uint32_t workers : {1U, 2U, 5U}) {
      const FrameGraph made = build_graph(frame, workers);
      for (std::uint32_t s = 0; s < frame.symbols().size(); ++s) {
        if (frame.symbol(s).kind != SymbolKind::Uplink) continue;
        const auto blocks = frame.program().code_blocks_at(s);
        std::multiset<std::uint32_t> packed;
        for (std::size_t n = 0; n < made.work[0].packs[s].size(); ++n) {
          const auto pack = made.work[0].packs[s][n];
          std::set<const phy::TransportPlan*> plans;
          for (const auto block : pack) {
            const auto& place = frame.program().code_blocks(Direction::Uplink)[block];
            plans.insert(&frame.program().plan(
                frame.program().transport_blocks(Direction::Uplink)[place.transport_block]));
          }
          ASSERT_EQ(plans.size(), 1U);
          const std::size_t lifting = (*plans.begin())->code().lifting;
          EXPECT_LE(std::bit_ceil(pack.size()) * lifting, phy::kMaxLanes);
          EXPECT_LE(pack.size(), (blocks.size() + workers - 1) / workers);
          packed.insert(pack.begin(), pack.end());
        }
        EXPECT_TRUE(packed == std::multiset<std::uint32_t>(blocks.begin(), blocks.end()));
      }
    }
  }
}

TEST(FrameGraph, ChecksATransportBlockAfterAllItsCodeBlocks) {
  for_random_graphs(5, [](const Built& b) {
    for (std::uint32_t s = 0; s < b.frame.symbols().size(); ++s) {
      const auto blocks = b.frame.program().assemblies_at(s);
      ASSERT_EQ(b.made.assemble[s] != kNoInstruction, !blocks.empty());
      for (const auto block : blocks)
        for (const auto& place : b.frame.program().code_blocks(Direction::Uplink))
          if (place.transport_block == block) {
            EXPECT_TRUE(b.ancestry.before(b.made.decode[place.last_symbol], b.made.assemble[s]));
          }
    }
  });
}

TEST(FrameGraph, SendsWhatIsEncodedAndPrecoded) {
  for_random_graphs(6, [](const Built& b) {
    const bool own = b.frame.format().deadlines.precoder_age == 0;
    for (std::uint32_t s = 0; s < b.frame.symbols().size(); ++s) {
      const auto ifft = b.made.transmit[s];
      const bool downlink = b.frame.symbol(s).kind == SymbolKind::Downlink;
      ASSERT_EQ(ifft != kNoInstruction, downlink);
      if (!downlink) continue;
      EXPECT_TRUE(b.made.graph[ifft].notify);
      // All that serves this symbol alone is given up with it.
      for (const Op op : {Op::Modulate, Op::Precode, Op::Ifft}) {
        const auto id = b.find(op, s);
        EXPECT_TRUE(id == kNoInstruction || b.made.graph[id].drop_alone);
      }
      EXPECT_EQ(b.made.graph[ifft].deadline,
                b.frame.symbol(s).start - ms(b.frame.format().deadlines.downlink_lead_ms));
      const auto of_occasion = b.frame.first_combiner(b.frame.symbol(s).occasion);
      EXPECT_EQ(b.ancestry.before(b.made.zero_force[of_occasion], ifft), own);
      EXPECT_TRUE(b.ancestry.before(b.find(Op::Precode, s), ifft));
      for (const Allocation& a : b.frame.program().allocations(s)) {
        for (const auto& place : b.frame.program().code_blocks(Direction::Downlink))
          if (place.transport_block == a.transport_block && place.first_symbol <= s &&
              s <= place.last_symbol) {
            const auto encode = b.find(Op::Encode, place.first_symbol);
            EXPECT_TRUE(b.ancestry.before(encode, b.find(Op::Modulate, s)));
            EXPECT_TRUE(b.ancestry.before(encode, ifft));
          }
      }
    }
  });
}

// However long the lead becomes, pilots are closed before what waits for them must leave.
TEST(FrameGraph, ClosesPilotsInTimeForTheLongestLead) {
  for (const std::uint32_t age : {0U, 1U}) {
    FrameFormat format = test::small_format();
    format.schedule = "PPGGDDUUUUUUUU";
    format.deadlines.precoder_age = age;
    format.deadlines.downlink_lead_ms = 0.05;
    format.deadlines.lead_quantile = 0.9;
    const Built b(format);
    const Tick pilots = b.frame.symbol(1).end, leaves = b.frame.downlink_deadline(4);
    const Tick room = leaves - pilots + (age == 0 ? 0 : b.frame.duration() - 300 * kMicrosecond);
    EXPECT_EQ(b.frame.least_lead(), 50 * kMicrosecond);
    EXPECT_EQ(b.frame.most_lead(), 50 * kMicrosecond + room / 2);
    EXPECT_LT(b.made.graph[b.made.receive[1]].early_close,
              leaves + age * b.frame.duration() - room / 2);
  }
  // No longer than the radio unit keeps what comes, which is four frames.
  FrameFormat brief = test::small_format();
  brief.numerology.spacing_khz = 60;
  brief.schedule = "PPDDUU";
  brief.ring = 16;
  brief.deadlines.precoder_age = 8;
  brief.deadlines.downlink_lead_ms = 0.01;
  const Frame frame(brief);
  EXPECT_EQ(frame.most_lead(),
            std::max<Tick>(3 * frame.duration() - 300 * kMicrosecond, frame.least_lead()));
}

// Slots of four symbols: 3; 6 and 7; 8 and 10.
TEST(FrameGraph, SendsWhatGoesOnAirTogetherBeforeTheFirstOfIt) {
  const auto first_of_each = [](BlockSpan unit) {
    FrameFormat format = test::small_format();
    format.schedule = "PPGDUUDDDGD";
    format.symbols_per_slot = 4;
    format.deadlines.downlink_lead_ms = 0.01;
    format.deadlines.downlink_unit = unit;
    const Built b(format);
    std::vector<std::uint32_t> first;
    for (const auto s : b.frame.symbols_of(SymbolKind::Downlink)) {
      first.push_back(b.frame.first_of_unit(s));
      EXPECT_EQ(b.made.graph[b.made.transmit[s]].deadline,
                b.frame.symbol(first.back()).start - ms(0.01));
    }
    return first;
  };
  EXPECT_TRUE(first_of_each(BlockSpan::Symbol) == (std::vector<std::uint32_t>{3, 6, 7, 8, 10}));
  EXPECT_TRUE(first_of_each(BlockSpan::Slot) == (std::vector<std::uint32_t>{3, 6, 6, 8, 8}));
  EXPECT_TRUE(first_of_each(BlockSpan::Frame) == (std::vector<std::uint32_t>{3, 3, 3, 3, 3}));
}

TEST(FrameGraph, HasDeadlinesOfTheAirInterface) {
  for_random_graphs(7, [](const Built& b) {
    const auto& f = b.frame.format();
    const auto downlink = b.frame.symbols_of(SymbolKind::Downlink);
    for (const auto& i : b.made.graph.instructions()) {
      const auto op = static_cast<Op>(i.opcode);
      Tick expected = b.frame.symbol(i.step).end + ms(f.deadlines.uplink_budget_ms);
      const Tick leaves = b.frame.symbol(i.step).start - ms(f.deadlines.downlink_lead_ms);
      if (op == Op::Encode || op == Op::Modulate || op == Op::Precode || op == Op::Ifft)
        expected = leaves;
      // A downlink precoded with this frame's own pilots wants them earlier.
      const bool pilots = op == Op::PilotFft || op == Op::ZeroForce;
      const auto first = std::ranges::find_if(downlink, [&](std::uint16_t s) {
        return b.frame.symbol(s).occasion == b.frame.symbol(i.step).occasion;
      });
      if (pilots && first != downlink.end() && f.deadlines.precoder_age == 0)
        expected =
            std::min(expected, b.frame.symbol(*first).start - ms(f.deadlines.downlink_lead_ms));
      EXPECT_EQ(i.deadline, expected) << kOpNames[i.opcode];
    }
  });
}
