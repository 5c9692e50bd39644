// Frames that a program schedules do what listed frames do.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "frame/ancestry.hpp"
#include "frame/cell.hpp"
#include "frame/opcodes.hpp"
#include "frame/random_work.hpp"
#include "frame/work.hpp"
#include "support/isas.hpp"
#include "support/test.hpp"
#include "support/watched.hpp"

using namespace carillon;
using namespace carillon::frame;
using test::cases;
using test::Cell;

namespace {

FrameFormat scheduled(FrameFormat format) {
  format.grants = {.kind = GrantKind::Port, .frames = 1, .list = {}};
  return format;
}

// Grants of one frame of a list, their slots within it.
std::vector<std::uint32_t> grants_of(const FrameFormat& format, std::uint32_t number) {
  std::vector<std::uint32_t> own;
  const auto& list = format.grants.list;
  for (std::size_t i = 0; i < list.size(); i += kGrantNumbers) {
    if (list[i + 1] / slots_of(format) != number) continue;
    own.insert(own.end(), &list[i], &list[i] + kGrantNumbers);
    own[own.size() - kGrantNumbers + 1] %= slots_of(format);
  }
  return own;
}

std::vector<std::uint32_t> row(const Grant& grant) {
  std::vector<std::uint32_t> list;
  test::append(list, grant);
  return list;
}

void expect_same(const FrameProgram& a, const FrameProgram& b, const Frame& frame) {
  for (const Direction d : {Direction::Uplink, Direction::Downlink}) {
    ASSERT_EQ(a.transport_blocks(d).size(), b.transport_blocks(d).size());
    for (std::size_t i = 0; i < a.transport_blocks(d).size(); ++i) {
      const TransportBlock &x = a.transport_blocks(d)[i], &y = b.transport_blocks(d)[i];
      EXPECT_EQ(x.user, y.user);
      EXPECT_EQ(x.first_symbol, y.first_symbol);
      EXPECT_EQ(x.last_symbol, y.last_symbol);
      EXPECT_EQ(x.harq_process, y.harq_process);
      EXPECT_EQ(x.payload_offset, y.payload_offset);
      EXPECT_EQ(a.plan(x).A(), b.plan(y).A());
      EXPECT_EQ(a.plan(x).Qm(), b.plan(y).Qm());
    }
  }
  EXPECT_TRUE(std::ranges::equal(a.signs(), b.signs()));
  for (std::uint32_t o = 0; o < frame.occasions(); ++o)
    EXPECT_TRUE(std::ranges::equal(a.pairings(o), b.pairings(o)));
  for (std::uint32_t s = 0; s < frame.symbols().size(); ++s)
    EXPECT_EQ(a.allocations(s).size(), b.allocations(s).size());
}

// An instruction by what it does: those that make combiners by their number in their occasion.
using Name = std::tuple<std::uint16_t, std::uint16_t, std::size_t>;

std::map<Name, std::uint16_t> names(const FrameGraph& graph) {
  std::map<Name, std::uint16_t> all;
  std::map<std::uint16_t, std::size_t> pairings;
  for (std::uint16_t i = 0; i < graph.graph.size(); ++i) {
    const auto& one = graph.graph[i];
    const bool combines = one.opcode == static_cast<std::uint16_t>(Op::ZeroForce);
    EXPECT_TRUE(
        all.try_emplace({one.opcode, one.step, combines ? pairings[one.step]++ : 0}, i).second);
  }
  return all;
}

// Each instruction of a listed frame is in the graph, with as many chunks, and waits for all that
// it waits for there.
void expect_in(const FrameGraph& graph, const ProgramWork& work, const FrameGraph& listed) {
  const auto here = names(graph);
  std::map<std::uint16_t, std::uint16_t> same;
  for (const auto& [name, id] : names(listed)) {
    const std::uint32_t chunks = listed.work.front().chunks[id];
    const auto found = here.find(name);
    ASSERT_TRUE(found != here.end() || chunks == 0);
    if (found == here.end()) continue;
    same[id] = found->second;
    EXPECT_EQ(work.chunks[found->second], chunks);
  }
  const test::Ancestry ancestry(graph.graph);
  for (const auto& [id, twin] : same)
    for (const auto source : listed.graph[id].waits_for) {
      if (listed.work.front().chunks[source] == 0) continue;
      EXPECT_TRUE(ancestry.before(same.at(source), twin));
    }
}

// A frame whose users send these bits, through the pipeline.
void run(Cell& cell, std::uint64_t index, const Prepared& prepared,
         std::span<const std::uint8_t> bits) {
  const auto place = [&](std::uint32_t symbol, std::uint32_t antenna) {
    const std::size_t first = std::size_t{antenna} * cell.frame.samples();
    return &cell.samples[2 * (first + cell.frame.symbol(symbol).first_sample)];
  };
  std::vector<const std::uint8_t*> blocks;
  for (const auto& tb : prepared.program->transport_blocks(Direction::Uplink))
    blocks.push_back(bits.data() + tb.payload_offset);
  cell.generator.begin(index, *prepared.program, blocks);
  while (cell.generator.step(place)) {
  }
  cell.pipeline.begin(index, prepared);
  for (std::uint32_t s = 0; s < cell.frame.symbols().size(); ++s)
    for (std::uint32_t a = 0; a < cell.frame.format().antennas; ++a)
      cell.pipeline.set_samples(index, s, a, place(s, a));
  run_serially(cell.pipeline, index);
}

std::size_t wrong_blocks(Cell& cell, std::uint64_t index, std::span<const std::uint8_t> bits) {
  std::size_t wrong = 0;
  const FrameProgram& program = cell.program(index);
  const auto blocks = program.transport_blocks(Direction::Uplink);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const std::uint8_t* got = cell.pipeline.slot(index).payload.data() + blocks[b].payload_offset;
    const std::uint32_t bit_count = program.plan(blocks[b]).A();
    const std::uint8_t* sent = bits.data() + blocks[b].payload_offset;
    bool same =
        cell.pipeline.slot(index).good[b] != 0 && std::equal(got, got + bit_count / 8, sent);
    if (const std::uint32_t spare = bit_count % 8; spare != 0)
      same = same && (got[bit_count / 8] ^ sent[bit_count / 8]) >> (8 - spare) == 0;
    wrong += !same;
  }
  return wrong;
}

}  // namespace

TEST(Scheduled, FramesDoWhatListedOnesDo) {
  test::WorkMaker make(7);
  std::size_t alike = 0, refused = 0;
  for (std::uint32_t i = 0; i < cases(250); ++i) {
    const FrameFormat format = make();
    const Frame listed(format), frame(scheduled(format));
    const FrameGraph graph = build_graph(frame, 2);
    WorkCompiler compiler(frame);
    for (std::uint32_t n = 0; n < format.grants.frames; ++n) {
      std::vector<Problem> problems;
      const auto grants = grants_of(format, n);
      const FrameProgram program = compiler.compile(grants, problems);
      // Of a list, those without a symbol of their direction are no blocks either.
      std::erase_if(problems, [](const Problem& p) { return p.key.ends_with(".symbols"); });
      refused += !problems.empty();
      if (!problems.empty()) continue;
      ++alike;
      expect_same(program, listed.program(n), frame);
      FrameFormat alone = format;
      alone.grants = {.kind = GrantKind::List, .frames = 1, .list = grants};
      if (grants.empty()) continue;
      expect_in(graph, work_of(program, frame, graph), build_graph(Frame(alone), 2));
    }
  }
  EXPECT_GT(alike, cases(500));
  EXPECT_LT(refused, alike / 10);  // there is room for what tests of lists ask for
}

// Frames follow one another in the same memory, each scheduled before it comes.
TEST(Scheduled, WorkOfAnyKindArrives) {
  test::WorkMaker make(8);
  std::size_t blocks = 0;
  for (std::uint32_t i = 0; i < cases(150); ++i) {
    const FrameFormat format = make();
    for (const Isa isa : test::tested_isas()) {
      Cell cell(scheduled(format), test::clear_air(55), isa);
      std::vector<std::uint8_t> bits(cell.frame.room(Direction::Uplink).payload_bytes);
      for (std::size_t b = 0; b < bits.size(); ++b) bits[b] = static_cast<std::uint8_t>(b * 37 + 1);
      WorkCompiler compiler(cell.frame);
      for (std::uint32_t n = 0; n < 2 * format.grants.frames; ++n) {
        std::vector<Problem> problems;
        const FrameProgram program =
            compiler.compile(grants_of(format, n % format.grants.frames), problems);
        const Prepared prepared = cell.pipeline.prepare(program);
        run(cell, n, prepared, bits);
        EXPECT_EQ(wrong_blocks(cell, n, bits), 0U) << to_string(isa) << ", frame " << n;
        blocks += program.transport_blocks(Direction::Uplink).size();
      }
    }
  }
  EXPECT_GT(blocks, cases(3000));
}

TEST(Scheduled, WhatCannotBeDoneIsLeftOutAndTheRestRuns) {
  const Frame frame(scheduled(test::small_format()));
  WorkCompiler compiler(frame);
  const auto problems_of = [&](std::vector<Grant> grants) {
    std::vector<std::uint32_t> list;
    for (const Grant& g : grants) test::append(list, g);
    std::vector<Problem> problems;
    const FrameProgram program = compiler.compile(list, problems);
    EXPECT_EQ(program.transport_blocks(Direction::Uplink).size(), grants.size() - problems.size());
    std::vector<std::string> keys;
    for (const Problem& problem : problems) keys.push_back(problem.key);
    return keys;
  };
  const Grant good{.user = 0, .blocks = 3};
  using Keys = std::vector<std::string>;
  EXPECT_EQ(problems_of({good}), Keys{});
  EXPECT_EQ(problems_of({good, {.user = 5, .blocks = 1}}), Keys{"grants.list.1.user"});
  EXPECT_EQ(problems_of({{.user = 1, .slot = 1, .blocks = 1}, good}), Keys{"grants.list.0.slot"});
  EXPECT_EQ(problems_of({good, {.user = 1, .first_block = 4, .blocks = 3}}),
            Keys{"grants.list.1.blocks"});
  EXPECT_EQ(problems_of({good, {.user = 0, .first_block = 2, .blocks = 2}}), Keys{"grants.list.1"});
  EXPECT_EQ(problems_of({{.user = 0, .blocks = 1, .mcs = 4}, good}), Keys{"grants.list.0.mcs"});
}

// A cell has room for all users everywhere, and more of them at its rate than it has.
TEST(Scheduled, RefusesWhatThereIsNoRoomFor) {
  FrameFormat format = scheduled(test::small_format());
  format.uplink.rate = 0.1;
  format.uplink.modulation = ModulationChoice::Qpsk;
  const Frame frame(format);
  WorkCompiler compiler(frame);
  std::vector<std::uint32_t> list;
  test::append(list, {.user = 0, .blocks = 6});
  test::append(list, {.user = 1, .blocks = 6, .modulation = ModulationChoice::Qam256, .rate = 0.9});
  std::vector<Problem> problems;
  const FrameProgram program = compiler.compile(list, problems);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(grant_of(problems[0]), 1U);
  EXPECT_NE(problems[0].message.find("room"), std::string::npos);
  EXPECT_EQ(program.transport_blocks(Direction::Uplink).size(), 1U);
  EXPECT_TRUE(frame.room(Direction::Uplink).holds(program.room(Direction::Uplink)));
}

// More users on a resource block than it has subcarriers to refer to them by.
TEST(Scheduled, RefusesADownlinkOfMoreUsersThanReferences) {
  FrameFormat format = scheduled(test::small_format());
  format.antennas = format.users = 16;
  format.pilots = {PilotKind::Comb, 8, 25};
  format.schedule = "PPUUGGGGGGGGGGDD";
  format.symbols_per_slot = 16;
  format.combiner.group = 1;
  format.deadlines.downlink_lead_ms = 0;
  const Frame frame(format);
  WorkCompiler compiler(frame);
  std::vector<std::uint32_t> list = row({.user = 3, .blocks = 2});
  for (std::uint32_t user = 0; user < 16; ++user)
    test::append(list, {.user = user, .direction = Direction::Downlink, .blocks = 1});
  std::vector<Problem> problems;
  const FrameProgram program = compiler.compile(list, problems);
  EXPECT_EQ(problems.size(), 16U);
  EXPECT_EQ(program.transport_blocks(Direction::Uplink).size(), 1U);
  EXPECT_EQ(program.transport_blocks(Direction::Downlink).size(), 0U);
}

TEST(Scheduled, DevicesDoNotTakeSuchCells) {
  EXPECT_TRUE(Frame(scheduled(test::small_format())).why_not_on_devices().has_value());
}

namespace {

FrameFormat with_processes() {
  FrameFormat format = scheduled(test::small_format());
  format.grants.harq_processes = 4;
  format.uplink.iterations = 10;
  format.uplink.rate = 0.8;
  return format;
}

// A cell whose user 0 sends the same bits again and again.
struct Retransmissions {
  explicit Retransmissions(double snr_db, std::uint64_t seed = 1)
      : cell(with_processes(), plan(snr_db, seed)),
        compiler(cell.frame),
        bits(cell.frame.room(Direction::Uplink).payload_bytes, 0x5a) {}

  static emulator::RadioPlan plan(double snr_db, std::uint64_t seed) {
    emulator::RadioPlan plan = test::clear_air(snr_db);
    plan.seed = seed;
    return plan;
  }
  // Whether attempt `n` (from 0) is received.
  bool attempt(std::uint32_t n, bool again) {
    constexpr std::uint32_t kVersions[] = {0, 2, 3, 1};
    std::vector<Problem> problems;
    program = compiler.compile(row({.user = 0,
                                    .blocks = 6,
                                    .redundancy_version = kVersions[n % 4],
                                    .harq_process = 2,
                                    .again = again}),
                               problems);
    EXPECT_TRUE(problems.empty()) << problems.front().key << " " << problems.front().message;
    const Prepared prepared = cell.pipeline.prepare(program);
    run(cell, number, prepared, bits);
    const bool good = cell.pipeline.slot(number).good[0] != 0;
    compiler.settle(block(), good ? Verdict::Good : Verdict::Failed);
    ++number;
    return good;
  }
  const TransportBlock& block() const { return program.transport_blocks(Direction::Uplink)[0]; }

  Cell cell;
  WorkCompiler compiler;
  std::vector<std::uint8_t> bits;
  FrameProgram program;
  std::uint64_t number = 0;
};

}  // namespace

// Where no single transmission can be decoded, those that are combined can.
TEST(Scheduled, SoftBitsOfEarlierAttemptsCount) {
  std::uint32_t first = 0, alone = 0, combined = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Retransmissions link(0, seed);
    first += link.attempt(0, false);
    EXPECT_EQ(link.block().attempt, 1U);
    bool good = false;
    for (std::uint32_t n = 1; n < 4; ++n) good |= link.attempt(n, true);
    combined += good;
    Retransmissions other(0, seed);
    good = false;
    for (std::uint32_t n = 0; n < 4; ++n) good |= other.attempt(0, false);
    alone += good;
  }
  EXPECT_LE(first, 2U);
  EXPECT_LE(alone, 3U);
  EXPECT_EQ(combined, 20U);
}

// What is kept is of the block before, and of no other.
TEST(Scheduled, ABlockThatIsSentForTheFirstTimeIsAlone) {
  Retransmissions link(40);
  for (std::uint32_t n = 0; n < 6; ++n) {
    std::ranges::fill(link.bits, static_cast<std::uint8_t>(17 * n + 1));
    EXPECT_TRUE(link.attempt(0, false));
    EXPECT_FALSE(link.block().combine);
    EXPECT_EQ(wrong_blocks(link.cell, link.number - 1, link.bits), 0U);
  }
  EXPECT_TRUE(link.attempt(0, true)) << "again though it was received: nothing is kept";
  EXPECT_FALSE(link.block().combine);
  EXPECT_EQ(link.block().attempt, 2U);
}

TEST(Scheduled, AProcessHasOneBlockAtATime) {
  const Frame frame(with_processes());
  WorkCompiler compiler(frame);
  std::vector<Problem> problems;
  const auto key_of = [&](const std::vector<Grant>& grants, FrameProgram* made = nullptr) {
    std::vector<std::uint32_t> list;
    for (const Grant& g : grants) test::append(list, g);
    problems.clear();
    const FrameProgram program = compiler.compile(list, problems);
    if (made != nullptr) *made = program;
    return problems.empty() ? std::string() : problems.front().key;
  };
  FrameProgram first, second;
  const Grant grant{.user = 1, .blocks = 2, .harq_process = 3};
  Grant again = grant;
  again.again = true;
  EXPECT_EQ(key_of({{.user = 1, .blocks = 2, .harq_process = 4}}), "grants.list.0.harq_process");
  EXPECT_EQ(key_of({again}), "grants.list.0.harq_process") << "nothing was sent";
  EXPECT_EQ(key_of({grant}, &first), "");
  EXPECT_EQ(key_of({grant}), "grants.list.0.harq_process") << "under way";
  EXPECT_EQ(key_of({again}), "grants.list.0.harq_process") << "under way";
  const auto block = [](const FrameProgram& of) {
    return of.transport_blocks(Direction::Uplink)[0];
  };
  compiler.settle(block(first), Verdict::Failed);
  again.blocks = 3;
  EXPECT_EQ(key_of({again}), "grants.list.0.again") << "of another length";
  again.blocks = 2;
  EXPECT_EQ(key_of({again}, &second), "");
  EXPECT_TRUE(block(second).combine);
  compiler.withdraw(second);
  EXPECT_EQ(key_of({again}, &second), "") << "the frame never began; what is kept still is";
  EXPECT_TRUE(block(second).combine);
  compiler.settle(block(second), Verdict::Late);
  EXPECT_EQ(key_of({again}, &second), "");
  EXPECT_TRUE(block(second).combine);
  compiler.settle(block(second), Verdict::Good);
  EXPECT_EQ(key_of({grant, {.user = 1, .first_block = 4, .blocks = 1, .harq_process = 3}}, &first),
            "grants.list.1.harq_process");
  compiler.withdraw(first);
  EXPECT_EQ(key_of({again}, &second), "") << "it never began: of the one before it";
  EXPECT_EQ(block(second).attempt, 4U);
}

TEST(Scheduled, SoftBitsAreAccountedFor) {
  FrameFormat format = with_processes();
  const std::size_t with = Pipeline::footprint(Frame(format));
  format.grants.harq_processes = 0;
  const Frame frame(format);
  const std::size_t without = Pipeline::footprint(frame);
  EXPECT_EQ(with - without, 2 * 4 * frame.longest_kept());
  EXPECT_GT(frame.longest_kept(), 0U);
  WorkCompiler compiler(frame);
  std::vector<Problem> problems;
  (void)compiler.compile(row({.user = 0, .blocks = 1, .again = true}), problems);
  ASSERT_EQ(problems.size(), 1U);
}
