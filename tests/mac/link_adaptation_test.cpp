#include "mac/link_adaptation.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "base/random.hpp"
#include "support/test.hpp"

using namespace carillon;
using mac::LinkAdaptation;
using mac::Row;

namespace {

frame::Coding table(frame::McsTable kind, std::uint32_t index) {
  frame::Coding coding;
  coding.mcs_table = kind;
  coding.mcs_index = {index};
  return coding;
}

LinkAdaptation of_64qam(double target) {
  return {mac::rows_of(table(frame::McsTable::Qam64, 28), 0), target};
}

}  // namespace

TEST(LinkAdaptation, ChoosesTheRowsThatThePythonOneChooses) {
  const auto all = mac::rows_of(table(frame::McsTable::Qam64, 28), 0);
  std::ifstream file(CARILLON_TEST_DATA "/mac/rows.txt");
  int cases = 0, rows = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    if (line.starts_with("row")) {
      std::string name;
      std::uint32_t index = 0, bits = 0;
      double rate = 0;
      words >> name >> index >> bits >> rate;
      EXPECT_EQ(std::ranges::count_if(all,
                                      [&](const Row& row) {
                                        return row.mcs == index && row.bits() == bits &&
                                               row.rate == rate / 1024;
                                      }),
                1)
          << line;
      ++rows;
      continue;
    }
    double target = 0;
    std::uint32_t elements = 0, mcs = 0;
    words >> target >> elements >> mcs;
    LinkAdaptation link = of_64qam(target);
    for (std::string word; words >> word;) {
      const std::string snr = word.substr(1);
      link.heard(word[0] == 'g', snr == "?" ? std::nullopt : std::optional(std::stod(snr)));
    }
    EXPECT_EQ(link.row_for(elements).mcs, mcs) << line;
    ++cases;
  }
  EXPECT_EQ(cases, 67);
  EXPECT_EQ(rows, 29);
}

// TS 38.214 table 5.1.3.1-1: row 16 carries 4 · 658 bits in 1024 elements, row 17 only 6 · 438.
TEST(LinkAdaptation, RowsAreOrderedByWhatTheyCarry) {
  const auto rows = mac::rows_of(table(frame::McsTable::Qam64, 28), 0);
  EXPECT_EQ(rows.size(), 29U);
  EXPECT_EQ(rows[16].mcs, 17U);
  EXPECT_EQ(rows[17].mcs, 16U);
  // 2 bits of rate 120/1024 need 10 log10(2^0.234 - 1) + 2 dB.
  EXPECT_NEAR(rows[0].needed_db(), -5.53, 0.01);
  EXPECT_NEAR(rows[28].efficiency(), 5.5547, 1e-4);
}

TEST(LinkAdaptation, NoRowIsFasterThanTheCellsOwn) {
  const auto rows = mac::rows_of(table(frame::McsTable::Qam256, 5), 3);
  EXPECT_EQ(rows.size(), 6U);
  EXPECT_EQ(rows.back().mcs, 5U);
  frame::Coding free;  // 16QAM at 1/3 carries 1.333 bits: as much as row 10 and no more
  EXPECT_EQ(mac::rows_of(free, 0).back().mcs, 10U);
  free.modulation = frame::ModulationChoice::Qpsk;
  free.rate = 0.05;
  EXPECT_EQ(mac::rows_of(free, 0).size(), 1U) << "the slowest, if all are faster";
  free.modulation = frame::ModulationChoice::Qam64;
  free.rate = 0.9257;  // 948 of 1024, as a block has it
  EXPECT_EQ(mac::rows_of(free, 0).size(), 29U);
  frame::Coding each = table(frame::McsTable::Qam64, 0);
  each.mcs_index = {3, 9};
  EXPECT_EQ(mac::rows_of(each, 1).back().mcs, 9U);
}

// The chance that a block fails falls by half with each dB beyond what its row needs.
TEST(LinkAdaptation, TheOuterLoopBringsTheShareOfFailedBlocksToTheTarget) {
  for (const double target : {0.02, 0.1, 0.3})
    for (const double snr : {4.0, 9.0, 14.0}) {
      LinkAdaptation link = of_64qam(target);
      Random random(3);
      int failed = 0;
      constexpr int kBlocks = 40'000, kSettling = 2000;
      for (int b = -kSettling; b < kBlocks; ++b) {
        const double over = snr - 3 - link.row().needed_db();  // worse than it believes
        const double chance = std::min(1.0, std::exp2(-2 - over));
        const bool good = static_cast<double>(random.next() % 1'000'000) >= chance * 1e6;
        failed += b >= 0 && !good;
        link.heard(good, snr);
      }
      EXPECT_NEAR(static_cast<double>(failed) / kBlocks, target, 0.1 * target) << snr << " dB";
    }
}
