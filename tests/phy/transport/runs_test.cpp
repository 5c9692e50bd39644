#include "phy/transport/runs.hpp"

#include "phy/transport/traffic.hpp"
#include "support/test.hpp"

namespace carillon::phy {
namespace {

using testing::Traffic;

// e order for `Sent` and where bits repeat; else the pieces say where.
std::uint32_t expected_place(const SoftMap& map, std::uint32_t e, RunTable::Order order) {
  if (order == RunTable::Order::Decoder && map.direct)
    for (const SoftPiece& piece : map.pieces)
      if (e >= piece.e && e - piece.e < piece.count) return piece.d + e - piece.e;
  return e;
}

bool holds(const TileRun& run, std::uint32_t lane) { return lane - run.first < run.count; }

TEST(Runs, tell_for_every_subcarrier_which_element_of_which_block_it_holds) {
  std::uint32_t direct = 0, repeated = 0;
  for (const auto order : {RunTable::Order::Decoder, RunTable::Order::Sent})
    for (unsigned seed = 0; seed < 6; ++seed) {
      const Traffic traffic(order, 13, 3, 1 + 4 * seed, seed);
      const RunTable& table = traffic.table;
      const Runs runs{table.runs().data(), table.first().data(), table.places().data(),
                      traffic.signs.data()};
      ASSERT_EQ(table.first().size(), traffic.shares.size() + 1);
      std::uint32_t found = 0, wanted = 0;
      for (std::size_t row = 0; row < traffic.shares.size(); ++row) {
        const Share& share = traffic.shares[row];
        for (std::uint32_t k = 0; k < 16 * traffic.tiles; ++k)
          found += holds(tile_run_at(runs, row, k / 16, k % 16), k % 16) ? 1 : 0;
        wanted += share.count;
        const std::uint32_t words = tiles_for(share.first_subcarrier % 16 + share.count);
        traffic.for_blocks(
            share, 0, 16 * traffic.tiles,
            [&](const CodeBlock& block, std::size_t buffer, std::uint32_t re, std::uint32_t first,
                std::uint32_t count) {
              for (std::uint32_t k = first; k < first + count; ++k) {
                const TileRun run = tile_run_at(runs, row, k / 16, k % 16);
                ASSERT_TRUE(holds(run, k % 16));
                EXPECT_EQ(run.bits, share.plan->Qm());
                EXPECT_EQ(run.buffer, buffer);
                EXPECT_EQ(run.element + k % 16 - run.first, re + k - first);
                const std::uint32_t tile = k / 16 - share.first_subcarrier / 16;
                for (std::uint32_t i = 0; i < run.bits; ++i)
                  EXPECT_EQ(run.signs[i], traffic.signs[share.signs + i * words + tile]);
                EXPECT_EQ(run.places.plane_stride, block.map.plane_stride);
                for (std::uint32_t e = re; e < block.E; e += run.places.plane_stride)
                  EXPECT_EQ(place_of(run.places, e), expected_place(block.map, e, order));
              }
            });
      }
      EXPECT_EQ(found, wanted);
      direct += traffic.direct;
      repeated += traffic.repeated;
    }
  EXPECT_GT(direct, 100U);
  EXPECT_GT(repeated, 10U);
}

TEST(Runs, are_found_among_any_number_of_them) {
  std::vector<phy::Run> list;
  for (std::uint32_t i = 0; i < 9; ++i) {
    phy::Run run{};
    run.first = 10 + 5 * i;
    run.count = 3;
    list.push_back(run);
  }
  for (std::uint32_t end = 0; end <= list.size(); ++end) {
    const std::uint32_t first[] = {0, end};
    const Places places{};
    const std::uint16_t signs[8] = {};
    const Runs runs{list.data(), first, &places, signs};
    for (std::uint32_t tile = 0; tile < 5; ++tile) {
      std::uint32_t lanes = 0;
      std::uint32_t i = first_run_in(runs, 0, tile);
      for (bool more = true; more; ++i) {
        const TileRun part = tile_run(runs, 0, i, tile);
        for (std::uint32_t n = 0; n < part.count; ++n) lanes |= 1U << (part.first + n);
        more = part.more != 0;
      }
      for (std::uint32_t lane = 0; lane < 16; ++lane) {
        const std::uint32_t k = 16 * tile + lane;
        const bool held = k >= 10 && (k - 10) / 5 < end && (k - 10) % 5 < 3;
        EXPECT_EQ((lanes >> lane & 1) != 0, held) << k << "of" << end;
        EXPECT_EQ(holds(tile_run_at(runs, 0, tile, lane), lane), held);
      }
    }
  }
}

}  // namespace
}  // namespace carillon::phy
