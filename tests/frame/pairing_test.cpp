// A combiner separates users that share subcarriers, and no others.
#include "frame/pairing.hpp"

#include <complex>

#include "frame/cell.hpp"
#include "frame/grants.hpp"
#include "support/test.hpp"

using namespace carillon;
using namespace carillon::frame;
using test::Cell;
using test::changed;

namespace {

constexpr auto kUp = Direction::Uplink, kDown = Direction::Downlink;

// 72 subcarriers in groups of 4: 18 lanes in two CSI tiles.
FrameFormat of_groups() {
  return changed([](FrameFormat& f) {
    f.antennas = 4;
    f.users = 3;
    f.schedule = "PPPUUUU";
    f.combiner.group = 4;
  });
}

}  // namespace

TEST(Pairing, HasAllGroupsThatSubcarriersLieIn) {
  Pairing pairing(of_groups());
  EXPECT_TRUE(pairing.is_empty());
  EXPECT_EQ(pairing.most_together(), 0U);
  pairing.add(1, 3, 6);  // groups 0, 1 and 2
  pairing.add(0, 60, 12);
  pairing.add(2, 8, 1);
  EXPECT_FALSE(pairing.is_empty());
  EXPECT_EQ(pairing.lanes_of(0, 1), 0b111U);
  EXPECT_EQ(pairing.lanes_of(0, 2), 0b100U);
  EXPECT_EQ(pairing.lanes_of(0, 0), 0b1000'0000'0000'0000U);
  EXPECT_EQ(pairing.lanes_of(1, 0), 0b11U);
  EXPECT_EQ(pairing.lanes_of(1, 1), 0U);
  EXPECT_EQ(pairing.most_together(), 2U);
  ASSERT_EQ(pairing.at(0).size(), 3U);
  for (std::uint16_t user = 0; user < 3; ++user) EXPECT_EQ(pairing.at(0)[user].user, user);
}

TEST(Pairing, IsWholeWhereAllTakePartEverywhere) {
  const FrameFormat format = of_groups();
  const Pairing whole = Pairing::whole(format);
  EXPECT_TRUE(whole.is_whole());
  EXPECT_EQ(whole.most_together(), 3U);
  Pairing pairing(format);
  for (std::uint32_t user = 0; user < 3; ++user) pairing.add(user, 0, user == 2 ? 68 : 72);
  EXPECT_FALSE(pairing.is_whole());
  EXPECT_FALSE(pairing == whole);
  pairing.add(2, 68, 1);
  EXPECT_TRUE(pairing.is_whole());
  EXPECT_TRUE(pairing == whole);
}

TEST(Pairing, IsOfEachSlotInTheUplinkAndOfTheFrameInTheDownlink) {
  FrameFormat format = of_groups();
  format.schedule = "PPPGGDDUUUUUDDUUUUUUU";
  format.symbols_per_slot = 7;
  format.deadlines.downlink_lead_ms = 0.05;
  format.grants = test::listed({{0, 0, kDown, 0, 2},
                                {1, 1, kDown, 1, 2},
                                {0, 1, kUp, 0, 6},
                                {1, 1, kUp, 0, 6},
                                {2, 2, kUp, 0, 6}});
  ASSERT_TRUE(format.validate().empty());
  const Frame frame(format);
  const FrameProgram& program = frame.program();
  ASSERT_EQ(program.pairings().size(), 3U);
  EXPECT_EQ(program.pairings()[0].lanes_of(0, 0), 0b11'1111U);
  EXPECT_EQ(program.pairings()[0].lanes_of(0, 1), 0b1'1111'1000U);
  EXPECT_EQ(program.pairings()[0].lanes_of(0, 2), 0U);
  const std::uint32_t second = program.pairing_of(8), third = program.pairing_of(15);
  EXPECT_EQ(program.pairings()[second].lanes_of(0, 2), 0U);
  EXPECT_EQ(program.pairings()[third].lanes_of(0, 2), 0xffffU);
  EXPECT_NE(second, third);
  // With an older frame's channel nobody knows yet who will be there: all are separated.
  format.deadlines.precoder_age = 1;
  EXPECT_TRUE(Frame(format).program().pairings().front().is_whole());
}

// The rows of a combiner are those of the users that are there alone: (HᴴH)⁻¹Hᴴ of their channels,
// and nothing for the others.
TEST(Pairing, MakesCombinersOfThoseWhoAreThere) {
  for (const std::uint32_t group : {1U, 5U}) {
    Cell cell(changed([&](FrameFormat& f) {
      f.antennas = 4;
      f.users = 4;
      f.schedule = "PPPPUUUU";
      f.combiner = {phy::Detector::ZeroForcing, group, Precision::Fp32};
      f.grants = test::listed({{0, 0, kUp, 0, 3}, {1, 0, kUp, 0, 3}, {2, 0, kUp, 3, 3}});
    }));
    cell.run(0);
    EXPECT_EQ(cell.wrong_blocks(0), 0U);
    const FrameSlot& slot = cell.pipeline.slot(0);
    const PairCombiner& combiner = slot.combiners->of.front();
    const Pairing& pairing = cell.frame.program().pairings().front();
    const std::size_t stride = cell.frame.array().antenna_stride;
    const auto at = [&](const auto& tiles, std::uint32_t tile, std::uint32_t user, std::uint32_t a,
                        std::uint32_t lane) {
      const phy::Tile& t = tiles[(std::size_t{tile} * 4 + user) * stride + a];
      return std::complex<double>(static_cast<double>(t.re[lane]), static_cast<double>(t.im[lane]));
    };
    const std::uint32_t lanes = (72 + group - 1) / group;
    for (std::uint32_t n = 0; n < lanes; ++n)
      for (std::uint32_t u = 0; u < 4; ++u)
        for (std::uint32_t v = 0; v < 4; ++v) {
          const bool both =
              (pairing.lanes_of(n / 16, u) & pairing.lanes_of(n / 16, v)) >> n % 16 & 1;
          std::complex<double> sum = 0;
          double power = 0;
          for (std::uint32_t a = 0; a < 4; ++a) {
            const auto w = at(combiner.tiles, n / 16, u, a, n % 16);
            sum += w * at(slot.csi, n / 16, v, a, n % 16);
            power += std::norm(w);
          }
          if (both) {
            EXPECT_NEAR(std::abs(sum - (u == v ? 1.0 : 0.0)), 0, 1e-4);
          }
          if ((pairing.lanes_of(n / 16, u) >> n % 16 & 1) == 0) {
            EXPECT_EQ(power, 0);
          }
        }
    EXPECT_EQ(slot.combiners->ill_conditioned.load(), 0U);
  }
}

// Nobody else takes its antennas: a user alone has the gain of all of them, whoever could send.
TEST(Pairing, LeavesAUserAloneAllAntennas) {
  const auto noise = [](const Grants& grants) {
    Cell cell(changed([&](FrameFormat& f) {
      f.antennas = f.users = 4;
      f.schedule = "PPPPUUUU";
      f.grants = grants;
    }));
    double predicted = 0, error = 0;
    for (std::uint64_t i = 0; i < 40; ++i) {
      cell.run(i);
      for (const SymbolQuality& q : cell.pipeline.slot(i).quality) {
        predicted += static_cast<double>(q.noise_power) / std::max(q.symbols, 1U);
        error += static_cast<double>(q.error_power) / std::max(q.symbols, 1U);
      }
    }
    EXPECT_NEAR(error / predicted, 1, 0.25);
    return predicted;
  };
  const double together = noise(
      test::listed({{0, 0, kUp, 0, 6}, {1, 0, kUp, 0, 6}, {2, 0, kUp, 0, 6}, {3, 0, kUp, 0, 6}}));
  const double alone = noise(test::listed({{0, 0, kUp, 0, 6}}));
  EXPECT_LT(alone, together / 4 / 3);  // three antennas' worth, and fading between all four
}

// More users than antennas, of whom no more share a combiner.
TEST(Pairing, ServesMoreUsersThanAntennas) {
  Cell cell(changed([](FrameFormat& f) {
    f.antennas = 2;
    f.users = 6;
    f.pilots = {PilotKind::Comb, 3, 25};
    f.combiner.group = 12;
    f.grants = test::listed({{0, 0, kUp, 0, 1},
                             {1, 0, kUp, 1, 1},
                             {2, 0, kUp, 2, 1},
                             {3, 0, kUp, 3, 1},
                             {4, 0, kUp, 4, 1},
                             {5, 0, kUp, 5, 1}});
    f.uplink.modulation = ModulationChoice::Qpsk;
  }));
  for (std::uint64_t i = 0; i < 5; ++i) {
    cell.run(i);
    EXPECT_EQ(cell.wrong_blocks(i), 0U);
  }
}
