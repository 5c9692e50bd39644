#include "frame/pool.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include "frame/pool_cell.hpp"
#include "frame/pool_server.hpp"
#include "frame/random_format.hpp"
#include "support/test.hpp"

using namespace carillon;
using namespace carillon::frame;

namespace {

FrameFormat cell(std::uint32_t antennas, std::uint32_t users, const std::string& schedule) {
  FrameFormat f = pool_cell(antennas, users, 'U');
  f.schedule = schedule;
  f.uplink.iterations = f.downlink.iterations = 5;
  return f;
}

PoolGraph build(const FrameFormat& format, const char* profile = "megastation",
                const PoolGraphOptions& options = {}) {
  return build_pool_graph(Frame(format), options, *find_pool_profile(profile));
}

Op op_of(const PoolGraph& pool, std::uint16_t id) { return static_cast<Op>(pool.graph[id].opcode); }

std::vector<std::uint16_t> all(const PoolGraph& pool, Op op) {
  std::vector<std::uint16_t> found;
  for (std::uint16_t id = 0; id < pool.graph.size(); ++id)
    if (op_of(pool, id) == op) found.push_back(id);
  return found;
}

const runtime::Work& first(const PoolGraph& pool, Op op) { return pool.work[all(pool, op).at(0)]; }

using Place = std::pair<Op, std::uint32_t>;  // opcode, symbol

// What every instruction of a place waits for.
std::multiset<Place> waits_for(const PoolGraph& pool, Place place) {
  std::multiset<Place> found;
  for (const auto id : all(pool, place.first))
    if (pool.graph[id].step == place.second)
      for (const auto source : pool.graph[id].waits_for)
        found.emplace(op_of(pool, source), pool.graph[source].step);
  return found;
}

std::size_t count_at(const PoolGraph& pool, std::uint32_t symbol) {
  const auto instructions = pool.graph.instructions();
  return static_cast<std::size_t>(std::count_if(instructions.begin(), instructions.end(),
                                                [&](auto& i) { return i.step == symbol; }));
}

void expect_uplink_symbol(const PoolGraph& pool, std::uint32_t symbol,
                          const std::multiset<Place>& combiner) {
  std::multiset<Place> equalize = combiner;
  equalize.emplace(Op::UplinkFft, symbol);
  EXPECT_TRUE(waits_for(pool, {Op::Load, symbol}).empty());
  EXPECT_TRUE(waits_for(pool, {Op::UplinkFft, symbol}) ==
              (std::multiset<Place>{{Op::Load, symbol}}));
  EXPECT_TRUE(waits_for(pool, {Op::EqualizeDemodulate, symbol}) == equalize);
  EXPECT_TRUE(waits_for(pool, {Op::Decode, symbol}) ==
              (std::multiset<Place>{{Op::EqualizeDemodulate, symbol}}));
  EXPECT_TRUE(waits_for(pool, {Op::Store, symbol}) == (std::multiset<Place>{{Op::Decode, symbol}}));
  EXPECT_EQ(count_at(pool, symbol), 5U);
}

void expect_downlink_symbol(const PoolGraph& pool, std::uint32_t symbol,
                            const std::multiset<Place>& combiner, bool payload) {
  std::multiset<Place> precode = combiner;
  if (payload) {
    precode.emplace(Op::Modulate, symbol);
    EXPECT_TRUE(waits_for(pool, {Op::Load, symbol}).empty());
    EXPECT_TRUE(waits_for(pool, {Op::Encode, symbol}) ==
                (std::multiset<Place>{{Op::Load, symbol}}));
    EXPECT_TRUE(waits_for(pool, {Op::Modulate, symbol}) ==
                (std::multiset<Place>{{Op::Encode, symbol}}));
  }
  EXPECT_TRUE(waits_for(pool, {Op::Precode, symbol}) == precode);
  EXPECT_TRUE(waits_for(pool, {Op::Ifft, symbol}) == (std::multiset<Place>{{Op::Precode, symbol}}));
  EXPECT_TRUE(waits_for(pool, {Op::Store, symbol}) == (std::multiset<Place>{{Op::Ifft, symbol}}));
  EXPECT_EQ(count_at(pool, symbol), payload ? 6U : 3U);
}

// All of an opcode's flops in units of 1e9, and its bytes in 1e6 as if each crossed once.
double gflop(const PoolGraph& pool, Op op) {
  double sum = 0;
  for (const auto id : all(pool, op))
    sum += pool.work[id].flops * pool.work[id].footprint.ctas * 1e-9;
  return sum;
}

double megabytes(const PoolGraph& pool, const PoolProfile& profile, Op op) {
  double sum = 0;
  for (const auto id : all(pool, op))
    sum += pool.work[id].bytes * pool.work[id].footprint.ctas * 1e-6;
  return sum / profile.kernels[static_cast<std::size_t>(op)].traffic;
}

// A kernel that has the device to itself, in µs.
double microseconds(const runtime::DeviceType& device, const runtime::Work& work) {
  return static_cast<double>(frame::alone(device, work)) * 1e-3;
}

// The paper's frame, a pilot and 13 data symbols: the share of its kernels' time that goes into
// zero-forcing, and into EqualizeDemodulate or Precode.
struct Shares {
  double zero_force, product;
};

Shares shares(const FrameFormat& format, Op product, std::initializer_list<Op> others) {
  const runtime::DeviceType& a100 = *runtime::find_device_type("a100");
  const PoolGraph pool = build(format);
  const auto time = [&](Op op) { return microseconds(a100, first(pool, op)); };
  double sum = time(Op::PilotFft) + time(Op::ZeroForce) + 13 * time(product);
  for (const Op op : others) sum += 13 * time(op);
  return {100 * time(Op::ZeroForce) / sum, 100 * 13 * time(product) / sum};
}

Shares uplink_shares(std::uint32_t antennas, std::uint32_t users) {
  return shares(cell(antennas, users, std::string((users + 15) / 16, 'P') + "UU"),
                Op::EqualizeDemodulate, {Op::UplinkFft, Op::Decode});
}

Shares downlink_shares(std::uint32_t antennas, std::uint32_t users) {
  FrameFormat format = cell(antennas, users, std::string((users + 15) / 16, 'P') + "DD");
  return shares(format, Op::Precode, {Op::Encode, Op::Modulate, Op::Ifft});
}

std::string error_of(const PoolGraphOptions& options) {
  try {
    build(cell(8, 4, "PUU"), "megastation", options);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST(PoolGraph, HasTheFootprintsOfTable1) {
  const PoolGraph up = build(cell(128, 32, "PPUU")), down = build(cell(128, 32, "PPDD"));
  const runtime::Footprint fft{128, 4, 56, 8448};
  EXPECT_TRUE(first(up, Op::PilotFft).footprint == fft);
  EXPECT_TRUE(first(up, Op::UplinkFft).footprint == fft);
  EXPECT_TRUE(first(down, Op::Ifft).footprint == fft);
  EXPECT_TRUE(first(up, Op::ZeroForce).footprint == (runtime::Footprint{4864, 32, 30, 8448}));
  EXPECT_TRUE(first(up, Op::EqualizeDemodulate).footprint == (runtime::Footprint{1216, 1, 30, 0}));
  EXPECT_TRUE(first(down, Op::Modulate).footprint == (runtime::Footprint{1216, 1, 18, 0}));
  EXPECT_TRUE(first(down, Op::Precode).footprint == (runtime::Footprint{4864, 1, 30, 0}));
  EXPECT_TRUE(first(up, Op::Decode).footprint == (runtime::Footprint{32, 4, 168, 14144}));
  EXPECT_TRUE(first(down, Op::Encode).footprint == (runtime::Footprint{32, 8, 56, 843}));
}

TEST(PoolGraph, CtasScaleWithTheCell) {
  const PoolGraph up = build(cell(64, 16, "PUU")), down = build(cell(64, 16, "PDD"));
  EXPECT_EQ(first(up, Op::UplinkFft).footprint.ctas, 64U);
  EXPECT_EQ(first(up, Op::ZeroForce).footprint.ctas, 1216U * 16 / 8);
  EXPECT_EQ(first(up, Op::EqualizeDemodulate).footprint.ctas, 1216U * 16 / 32);
  EXPECT_EQ(first(up, Op::Decode).footprint.ctas, 16U);
  EXPECT_EQ(first(down, Op::Modulate).footprint.ctas, 1216U * 16 / 32);
  EXPECT_EQ(first(down, Op::Precode).footprint.ctas, 1216U * 64 / 32);
  EXPECT_EQ(first(down, Op::Encode).footprint.ctas, 16U);
  FrameFormat tiny = cell(1, 1, "PUU");
  tiny.combiner.group = 16;
  tiny.numerology.subcarriers = 16;
  tiny.uplink = {};
  EXPECT_EQ(first(build(tiny), Op::ZeroForce).footprint.ctas, 2U);
}

TEST(PoolGraph, AnUplinkSymbolWaitsForItsSamplesAndEveryPartOfTheCombiner) {
  const PoolGraph pool = build(cell(32, 32, "PPUU"), "roofline", {.zero_force_parts = 3});
  for (const std::uint32_t pilot : {0U, 1U})
    EXPECT_TRUE(waits_for(pool, {Op::PilotFft, pilot}) ==
                (std::multiset<Place>{{Op::Load, pilot}}));
  ASSERT_EQ(all(pool, Op::ZeroForce).size(), 3U);
  for (const auto part : all(pool, Op::ZeroForce)) {
    const auto sources = pool.graph[part].waits_for;
    ASSERT_EQ(sources.size(), 2U);
    for (const auto source : sources) EXPECT_TRUE(op_of(pool, source) == Op::PilotFft);
  }
  const std::multiset<Place> combiner{{Op::ZeroForce, 1}, {Op::ZeroForce, 1}, {Op::ZeroForce, 1}};
  expect_uplink_symbol(pool, 2, combiner);
  expect_uplink_symbol(pool, 3, combiner);
}

TEST(PoolGraph, ADownlinkSymbolWaitsForItsPayloadAndThisFramesPrecoder) {
  const PoolGraph pool = build(cell(32, 16, "PDDD"));
  const std::multiset<Place> precoder{{Op::ZeroForce, 0}};
  expect_downlink_symbol(pool, 1, precoder, false);  // carries references only
  expect_downlink_symbol(pool, 2, precoder, true);
  expect_downlink_symbol(pool, 3, precoder, true);
}

TEST(PoolGraph, AMixedFrameHasBothPipelinesAndOneCombiner) {
  const PoolGraph pool = build(cell(32, 16, "PGDDGUU"));
  const std::multiset<Place> combiner{{Op::ZeroForce, 0}};
  expect_downlink_symbol(pool, 3, combiner, true);
  expect_uplink_symbol(pool, 5, combiner);
  expect_uplink_symbol(pool, 6, combiner);
  EXPECT_EQ(all(pool, Op::ZeroForce).size(), 1U);
  EXPECT_EQ(count_at(pool, 1) + count_at(pool, 4), 0U);
}

TEST(PoolGraph, PartsOfZeroForcingAddUpToTheWhole) {
  const FrameFormat format = cell(64, 32, "PPUU");
  const PoolProfile& profile = *find_pool_profile("megastation");
  const PoolGraph whole = build(format);
  const PoolGraph parts = build(format, "megastation", {.zero_force_parts = 7});
  std::uint64_t output = 0;
  for (const auto id : all(parts, Op::ZeroForce)) output += parts.work[id].output;
  EXPECT_EQ(output, first(whole, Op::ZeroForce).output);
  EXPECT_NEAR(gflop(parts, Op::ZeroForce), gflop(whole, Op::ZeroForce), 1e-9);
  EXPECT_NEAR(megabytes(parts, profile, Op::ZeroForce), megabytes(whole, profile, Op::ZeroForce),
              1e-6);
  EXPECT_NEAR(megabytes(parts, profile, Op::EqualizeDemodulate),
              megabytes(whole, profile, Op::EqualizeDemodulate), 1e-6);
}

TEST(PoolGraph, EveryRandomFrameIsComplete) {
  test::FormatMaker make(5, 1, 1);
  for (int i = 0; i < 150; ++i) {
    const FrameFormat format = make();
    const Frame frame(format);
    const Tick deadline = frame.duration() + kMillisecond;
    const PoolGraph pool = build_pool_graph(frame, {deadline, 1}, *find_pool_profile("roofline"));
    ASSERT_EQ(pool.work.size(), pool.graph.size());
    for (std::uint16_t id = 0; id < pool.graph.size(); ++id) {
      const auto& instruction = pool.graph[id];
      const bool store = op_of(pool, id) == Op::Store, load = op_of(pool, id) == Op::Load;
      EXPECT_EQ(instruction.chunks, 1U);
      EXPECT_EQ(instruction.deadline, deadline);
      EXPECT_EQ(instruction.notify, store);
      EXPECT_EQ(instruction.waits_for.empty(), load);
      EXPECT_EQ(pool.work[id].footprint.ctas == 0, load || store);
      EXPECT_EQ(pool.work[id].moved > 0, load || store);
      EXPECT_EQ(pool.work[id].output > 0, !store);
      if (load) {
        const bool received = frame.symbol(instruction.step).kind != SymbolKind::Downlink;
        EXPECT_TRUE((instruction.feed == runtime::Feed::Arrivals) == received);
        EXPECT_EQ(instruction.release,
                  received ? frame.symbol(instruction.step).end - 5 * kMicrosecond : 0);
      }
    }
    for (const auto& [op, direction] :
         {std::pair{Op::Decode, Direction::Uplink}, std::pair{Op::Encode, Direction::Downlink}}) {
      std::size_t blocks = 0;
      for (const auto id : all(pool, op)) blocks += pool.work[id].footprint.ctas;
      EXPECT_EQ(blocks, frame.program().code_blocks(direction).size());
    }
    for (const auto& place : frame.program().code_blocks(Direction::Uplink)) {
      const auto sources = waits_for(pool, {Op::Decode, place.last_symbol});
      EXPECT_TRUE(sources.contains({Op::EqualizeDemodulate, place.first_symbol}));
      EXPECT_TRUE(sources.contains({Op::EqualizeDemodulate, place.last_symbol}));
    }
    for (const auto& place : frame.program().code_blocks(Direction::Downlink))
      for (const std::uint32_t s : {place.first_symbol, place.last_symbol})
        EXPECT_TRUE(waits_for(pool, {Op::Modulate, s}).contains({Op::Encode, place.first_symbol}));
  }
}

TEST(PoolGraph, TransfersWhatTheFronthaulAndTheUsersHave) {
  const PoolGraph up = build(cell(128, 32, "PPUU")), down = build(cell(128, 32, "PPDD"));
  const std::uint64_t samples = 128 * 2048 * 4, bits = 32 * 22 * 104;
  EXPECT_EQ(first(up, Op::Load).moved, samples);
  EXPECT_EQ(first(up, Op::Store).moved, bits / 8);
  EXPECT_EQ(pool_profiles().size(), 2U);
  EXPECT_EQ(down.work[all(down, Op::Load).back()].moved, bits / 8);
  EXPECT_EQ(first(down, Op::Store).moved, samples);
}

// The sums for one frame of 14 symbols at 1200 subcarriers, 64QAM, on which the design for a GPU
// rests: GFLOP and MB by stage, to two digits.
TEST(PoolGraph, CountsWhatTheRooflineSumsCount) {
  struct Amount {
    double gflop, mb;
  };
  struct Case {
    std::uint32_t antennas, users, pilots, data;
    Amount fft, inverse16, inverse1, equalize;
  };
  constexpr Case kCases[] = {
      {64, 16, 1, 13, {.10, 12}, {.015, 1.2}, {.24, 20}, {.16, 6.1}},
      {128, 32, 2, 12, {.20, 23}, {.12, 4.9}, {1.9, 79}, {.53, 13}},
      {128, 64, 4, 10, {.20, 23}, {.50, 9.8}, {8.0, 157}, {.88, 16}},
      {256, 128, 8, 6, {.40, 47}, {4.0, 39}, {64, 629}, {2.0, 33}},
  };
  const PoolProfile& profile = *find_pool_profile("roofline");
  const auto near = [](double value, double expected) {
    EXPECT_NEAR(value, expected, 0.04 * expected);
  };
  for (const Case& c : kCases) {
    FrameFormat format =
        cell(c.antennas, c.users, std::string(c.pilots, 'P') + std::string(c.data, 'U'));
    format.numerology.subcarriers = 1200;
    format.combiner.group = 1;
    const PoolGraph each = build(format, "roofline");
    near(gflop(each, Op::ZeroForce), c.inverse1.gflop);
    near(megabytes(each, profile, Op::ZeroForce), c.inverse1.mb);

    format.combiner.group = 16;
    const PoolGraph pool = build(format, "roofline");
    near(gflop(pool, Op::PilotFft) + gflop(pool, Op::UplinkFft), c.fft.gflop);
    // A pilot's estimate is a stage of its own there.
    near(megabytes(pool, profile, Op::UplinkFft) * (c.pilots + c.data) / c.data, c.fft.mb);
    near(gflop(pool, Op::ZeroForce), c.inverse16.gflop);
    near(megabytes(pool, profile, Op::ZeroForce), c.inverse16.mb);
    near(gflop(pool, Op::EqualizeDemodulate), c.equalize.gflop);
    // There the combiner is read once in a frame; here by each symbol's kernel.
    const double again = (c.data - 1) * static_cast<double>(first(pool, Op::ZeroForce).output);
    near(megabytes(pool, profile, Op::EqualizeDemodulate) - again * 1e-6, c.equalize.mb);
  }
}

TEST(PoolProfile, MegastationHasThePapersTimesAt128x32OnAnA100) {
  const runtime::DeviceType& a100 = *runtime::find_device_type("a100");
  const PoolGraph pool = build(cell(128, 32, "PPUU"));
  EXPECT_NEAR(microseconds(a100, first(pool, Op::ZeroForce)), 260, 40);  // §5.5: 90 % within 0.3 ms
  const Shares up = uplink_shares(128, 32), down = downlink_shares(128, 32);
  EXPECT_NEAR(up.zero_force, 36.3, 6);
  EXPECT_NEAR(up.product, 44.2, 6);
  EXPECT_NEAR(down.zero_force, 36.3, 6);
  EXPECT_NEAR(down.product, 42.7, 6);
}

TEST(PoolProfile, MegastationHasThePapersSharesOnAverageOverItsFiveShapes) {
  constexpr std::pair<std::uint32_t, std::uint32_t> kShapes[] = {
      {64, 32}, {128, 32}, {128, 64}, {256, 64}, {256, 128}};
  Shares up{}, down{};
  for (const auto& [antennas, users] : kShapes) {
    const Shares u = uplink_shares(antennas, users), d = downlink_shares(antennas, users);
    up.zero_force += u.zero_force / 5;
    up.product += u.product / 5;
    down.zero_force += d.zero_force / 5;
    down.product += d.product / 5;
  }
  EXPECT_NEAR(up.zero_force, 36.3, 6);
  EXPECT_NEAR(up.product, 44.2, 6);
  EXPECT_NEAR(down.zero_force, 36.3, 6);
  EXPECT_NEAR(down.product, 42.7, 6);
}

TEST(PoolProfile, RooflineIsAThirdOfTheDevice) {
  const runtime::DeviceType& h200 = *runtime::find_device_type("h200");
  FrameFormat format = cell(256, 128, "PPPPPPPPUU");
  format.combiner.group = 1;
  const PoolGraph pool = build(format, "roofline");
  // Bound by arithmetic, and by memory: 64 GFLOP, and a combiner of 1216 × 256 × 128 and a symbol.
  const double inverse = gflop(pool, Op::ZeroForce) * 1e9 / h200.fp32_flops * 1e6;
  EXPECT_NEAR(microseconds(h200, first(pool, Op::ZeroForce)), 3 * inverse, 0.03 * inverse);
  const double product = 8.0 * 1216 * 256 * 128 / h200.memory_bytes_per_s * 1e6;
  EXPECT_NEAR(microseconds(h200, first(pool, Op::EqualizeDemodulate)), 3 * product, 0.03 * product);
}

// Made up: kernels of all kinds, of half a wave to several, one of them wanting more memory than
// there is in its time.
PoolProfile made_up_profile() {
  PoolProfile profile = *find_pool_profile("roofline");
  profile.device = runtime::find_device_type("h200");
  const auto set = [&](Op op, const MeasuredKernel& kernel) {
    profile.measured[static_cast<std::size_t>(op)] = kernel;
  };
  set(Op::PilotFft, {{64, 8, 40, 18432}, 3700, 1e6, 0, 0});
  set(Op::UplinkFft, {{64, 8, 40, 18432}, 3300, 1e12, 640, 9000});
  set(Op::ZeroForce, {{1280, 8, 32, 0}, 14400, 2e6, 0, 0});
  set(Op::EqualizeDemodulate, {{45, 4, 128, 53760}, 6100, 1e6, 450, 6100});
  set(Op::Decode, {{1728, 8, 64, 22016}, 31900, 1e6, 17280, 280000});
  set(Op::Encode, {{48, 4, 32, 3316}, 2100, 1e6, 480, 90000});
  set(Op::Precode, {{300, 8, 126, 38976}, 5200, 1e6, 300, 5200});
  set(Op::Ifft, {{64, 8, 40, 18432}, 3500, 1e6, 640, 7000});
  return profile;
}

TEST(PoolProfile, AMeasuredKernelAloneTakesTheTimeMeasured) {
  const PoolProfile profile = made_up_profile();
  const runtime::DeviceType& h200 = *profile.device;
  for (const std::string schedule : {"PUUUUUUUUUUUUU", "PDDDDDDDDDDDDD"}) {
    const PoolGraph pool = build_pool_graph(Frame(cell(64, 16, schedule)), {}, profile);
    std::size_t kernels = 0;
    for (std::uint16_t id = 0; id < pool.graph.size(); ++id) {
      const runtime::Work& work = pool.work[id];
      if (work.footprint.ctas == 0) continue;
      const MeasuredKernel& kernel = profile.measured[pool.graph[id].opcode];
      const auto measured = static_cast<double>(kernel.time);
      EXPECT_NEAR(static_cast<double>(alone(h200, work)), measured, 0.002 * measured)
          << kOpNames[pool.graph[id].opcode];
      EXPECT_EQ(work.footprint.ctas, kernel.footprint.ctas);
      ++kernels;
    }
    EXPECT_GT(kernels, 26U);
  }
}

// So two kernels beside each other take no longer than what one of twice the CTAs was seen to.
TEST(PoolProfile, ManyBlocksTogetherTakeTheTimeMeasuredOfThem) {
  const PoolProfile profile = made_up_profile();
  const Frame frame(cell(64, 16, "PUUUUUUUUUUUUU"));
  const PoolGraph pool = build_pool_graph(frame, {}, profile);
  for (const Op op : {Op::UplinkFft, Op::EqualizeDemodulate, Op::Decode}) {
    const MeasuredKernel& kernel = profile.measured[static_cast<std::size_t>(op)];
    runtime::Work many = first(pool, op);
    many.footprint.ctas = kernel.full_ctas;
    many.bytes = 0;
    const auto measured = static_cast<double>(kernel.full_time);
    EXPECT_NEAR(static_cast<double>(alone(*profile.device, many)), measured, 0.01 * measured)
        << kOpNames[static_cast<std::size_t>(op)];
  }
}

TEST(PoolProfile, PartsOfAMeasuredKernelShareItsBlocksAndItsTime) {
  const PoolProfile profile = made_up_profile();
  const Frame frame(cell(64, 16, "PUUUUUUUUUUUUU"));
  const PoolGraph pool = build_pool_graph(frame, {.zero_force_parts = 4}, profile);
  EXPECT_EQ(all(pool, Op::ZeroForce).size(), 4U);
  const runtime::Work& quarter = first(pool, Op::ZeroForce);
  EXPECT_EQ(quarter.footprint.ctas, 320U);
  // 1280 blocks fill 132 SMs with 8 each once, and then 1.7: 9.7 turns; 320 blocks take 2.4.
  const double part = 14400 * (320.0 / 132) / (8 + 224.0 / 132);
  EXPECT_NEAR(static_cast<double>(alone(*profile.device, quarter)), part, 0.01 * part);
}

TEST(PoolProfile, WhatPrecodeDoesTooIsNoInstruction) {
  const PoolGraph pool =
      build_pool_graph(Frame(cell(64, 16, "PDDDDDDDDDDDDD")), {}, made_up_profile());
  EXPECT_TRUE(all(pool, Op::Modulate).empty());
  EXPECT_TRUE(waits_for(pool, {Op::Precode, 2}) ==
              (std::multiset<Place>{{Op::Encode, 2}, {Op::ZeroForce, 0}}));
}

TEST(PoolProfile, AnOpcodeThatWasNotMeasuredIsNamed) {
  PoolProfile profile = made_up_profile();
  profile.measured[static_cast<std::size_t>(Op::Decode)] = {};
  std::string error;
  try {
    build_pool_graph(Frame(cell(64, 16, "PUUUUUUUUUUUUU")), {}, profile);
  } catch (const std::invalid_argument& thrown) {
    error = thrown.what();
  }
  EXPECT_EQ(error, "the device profile has no time of Decode");
}

TEST(PoolGraph, ErrorsNameTheOption) {
  EXPECT_EQ(error_of({}), "");
  EXPECT_NE(error_of({.deadline = 100 * kMicrosecond}).find("deadline is 0.1 ms but the last"),
            std::string::npos);
  EXPECT_NE(error_of({.zero_force_parts = 0}).find("zero_force_parts is 0"), std::string::npos);
  EXPECT_NE(error_of({.zero_force_parts = 77}).find("1 and the 76"), std::string::npos);
  EXPECT_TRUE(find_pool_profile("guess") == nullptr);
}
