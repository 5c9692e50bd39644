#include <bit>
#include <cmath>
#include <random>
#include <string>

#include "phy/crc/vectors.hpp"
#include "phy/transport/transport.hpp"
#include "support/test.hpp"

namespace carillon::phy {
namespace {

TransportPlan plan_for(const Coding& coding, std::uint32_t re_count,
                       std::optional<std::uint32_t> tbs = {}) {
  const auto made = TransportPlan::make(coding, re_count, tbs);
  if (const auto* error = std::get_if<CodingError>(&made))
    throw std::runtime_error(error->key + ": " + error->message);
  return std::get<TransportPlan>(made);
}

CodingError error_for(const Coding& coding, std::uint32_t re_count,
                      std::optional<std::uint32_t> tbs = {}) {
  const auto made = TransportPlan::make(coding, re_count, tbs);
  const auto* error = std::get_if<CodingError>(&made);
  return error != nullptr ? *error : CodingError{"none", "the request was accepted"};
}

TEST(BaseGraph, changes_at_the_exact_boundaries_of_the_standard) {
  EXPECT_EQ(choose_base_graph(292, 0.9), 2);
  EXPECT_EQ(choose_base_graph(293, 0.9), 1);
  EXPECT_EQ(choose_base_graph(293, 0.67), 2);
  EXPECT_EQ(choose_base_graph(3824, 0.67), 2);
  EXPECT_EQ(choose_base_graph(3824, 0.6701), 1);
  EXPECT_EQ(choose_base_graph(3825, 0.67), 1);
  EXPECT_EQ(choose_base_graph(100000, 0.25), 2);
  EXPECT_EQ(choose_base_graph(100000, 0.2501), 1);
  // Where a well-known simulator picks the other one.
  EXPECT_EQ(choose_base_graph(3824, 0.6), 2);
  EXPECT_EQ(choose_base_graph(288, 0.75), 2);
}

TEST(TransportBlockSize, agrees_with_an_independent_implementation) {
  int cases = 0;
  for (test::Vectors vectors("ratematch_tbs.bin"); !vectors.done(); ++cases) {
    const std::uint32_t re_count = vectors.word();
    const auto modulation = static_cast<Modulation>(vectors.word());
    const double rate = vectors.word() / 2048.0;
    const std::uint32_t expected = vectors.word();
    EXPECT_EQ(transport_block_bits(re_count, modulation, rate), expected)
        << re_count << " elements, " << bits_per_symbol(modulation) << " bits, rate " << rate;
  }
  EXPECT_EQ(cases, 400);
}

// 38.214 5.1.3.2 in whole numbers, N_info being num / den, which no double holds.
std::uint64_t exact_block_bits(std::uint64_t num, std::uint64_t den, bool low_rate) {
  const auto floor_log2 = [](std::uint64_t n, std::uint64_t d) {
    return static_cast<int>(std::bit_width(n / d)) - 1;
  };
  const auto divide_up = [](std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; };
  if (num <= 3824 * den) {
    const std::uint64_t step = 1ULL << std::max(3, floor_log2(num, den) - 6);
    const std::uint64_t quantized = std::max<std::uint64_t>(24, num / (den * step) * step);
    // Table 5.1.3.2-1 by its spacing, as far as it is regular.
    for (std::uint64_t size = 24, gap; size <= 928; size += gap) {
      if (size >= quantized) return size;
      gap = size < 192 ? 8 : size < 384 ? 16 : size < 576 ? 24 : size < 768 ? 32 : 40;
    }
    return 0;
  }
  const std::uint64_t left = num - 24 * den;
  const std::uint64_t step = 1ULL << (floor_log2(left, den) - 5);
  const std::uint64_t rounded = (2 * left + den * step) / (2 * den * step) * step;
  const std::uint64_t quantized = std::max<std::uint64_t>(3840, rounded);
  const std::uint64_t blocks = low_rate            ? divide_up(quantized + 24, 3816)
                               : quantized <= 8424 ? 1
                                                   : divide_up(quantized + 24, 8424);
  return 8 * blocks * divide_up(quantized + 24, 8 * blocks) - 24;
}

TEST(TransportBlockSize, is_exact_at_rates_that_no_double_holds) {
  EXPECT_EQ(transport_block_bits(448, Modulation::Qam64, 1. / 3), 928U);
  constexpr std::uint32_t rates[][2] = {{1, 3},  {2, 3}, {1, 5},  {2, 5},  {3, 5},   {4, 5},
                                        {1, 6},  {5, 6}, {3, 7},  {7, 9},  {8, 9},   {7, 10},
                                        {9, 10}, {1, 4}, {5, 12}, {7, 12}, {11, 12}, {77, 100}};
  std::uint32_t checked = 0;
  for (const auto& [p, q] : rates)
    for (const auto modulation :
         {Modulation::Qpsk, Modulation::Qam16, Modulation::Qam64, Modulation::Qam256})
      for (std::uint32_t re = 4; re <= 4096; ++re) {
        const std::uint64_t num = std::uint64_t{re} * bits_per_symbol(modulation) * p;
        if (num < 24 * q) continue;
        const std::uint64_t expected = exact_block_bits(num, q, 4 * p <= q);
        if (expected == 0) continue;
        ++checked;
        ASSERT_EQ(transport_block_bits(re, modulation, static_cast<double>(p) / q), expected)
            << re << " elements, " << bits_per_symbol(modulation) << " bits, rate " << p << "/"
            << q;
      }
  EXPECT_GT(checked, 150'000U);
}

TEST(TransportBlockSize, breaks_rounding_ties_upward) {
  // N_info - 24 = 4672 is 36.5 steps of 128: the standard says 37, rounding to even 36.
  EXPECT_EQ(transport_block_bits(4696, Modulation::Qpsk, 0.5), 37U * 128);
}

TEST(Mcs, tables_hold_the_standards_rows) {
  const auto row = [](McsTable table, std::uint32_t index, std::uint32_t Qm, double rate1024) {
    const auto entry = mcs(table, index);
    ASSERT_TRUE(entry.has_value());
    EXPECT_EQ(bits_per_symbol(entry->modulation), Qm);
    EXPECT_EQ(entry->rate, rate1024 / 1024);
  };
  row(McsTable::Qam64, 0, 2, 120);
  row(McsTable::Qam64, 9, 2, 679);
  row(McsTable::Qam64, 10, 4, 340);
  row(McsTable::Qam64, 16, 4, 658);
  row(McsTable::Qam64, 17, 6, 438);
  row(McsTable::Qam64, 28, 6, 948);
  row(McsTable::Qam256, 4, 2, 602);
  row(McsTable::Qam256, 5, 4, 378);
  row(McsTable::Qam256, 11, 6, 466);
  row(McsTable::Qam256, 20, 8, 682.5);
  row(McsTable::Qam256, 26, 8, 916.5);
  row(McsTable::LowSe, 0, 2, 30);
  row(McsTable::LowSe, 14, 2, 602);
  row(McsTable::LowSe, 15, 4, 340);
  row(McsTable::LowSe, 21, 6, 438);
  row(McsTable::LowSe, 28, 6, 772);
  EXPECT_FALSE(mcs(McsTable::Qam64, 29).has_value());
  EXPECT_FALSE(mcs(McsTable::Qam256, 28).has_value());
  EXPECT_FALSE(mcs(McsTable::LowSe, 29).has_value());
}

TEST(Mcs, spectral_efficiency_never_falls_with_the_index_by_more_than_the_tables_overlap) {
  for (const auto table : {McsTable::Qam64, McsTable::Qam256, McsTable::LowSe}) {
    double before = 0;
    for (std::uint32_t index = 0; const auto entry = mcs(table, index); ++index) {
      const double efficiency = bits_per_symbol(entry->modulation) * entry->rate;
      EXPECT_GT(efficiency, before - 0.008) << "index " << index;
      before = efficiency;
    }
  }
}

TEST(TransportPlan, has_the_figures_of_the_reference_slots) {
  int cases = 0;
  for (test::Vectors vectors("ratematch_pusch.bin"); !vectors.done(); ++cases) {
    const std::uint32_t A = vectors.word(), G = vectors.word(), Qm = vectors.word();
    Coding coding;
    coding.modulation = static_cast<Modulation>(Qm);
    coding.rate = vectors.word() / 2048.0;
    const std::uint32_t base_graph = vectors.word(), Z = vectors.word(), C = vectors.word(),
                        F = vectors.word(), Kprime = vectors.word();
    vectors.word();  // scrambling seed
    const std::uint32_t counted_re = vectors.word();
    const auto table = static_cast<McsTable>(vectors.word());
    const auto entry = mcs(table, vectors.word());
    vectors.bits(A);
    vectors.bits(G);
    ASSERT_TRUE(entry.has_value());
    EXPECT_EQ(entry->rate, coding.rate);
    EXPECT_EQ(bits_per_symbol(entry->modulation), Qm);
    EXPECT_EQ(transport_block_bits(counted_re, coding.modulation, coding.rate), A);
    const auto plan = plan_for(coding, G / Qm, A);
    EXPECT_EQ(plan.G(), G);
    EXPECT_EQ(plan.A(), A);
    EXPECT_EQ(plan.code().base_graph, base_graph);
    EXPECT_EQ(plan.code().lifting, Z);
    EXPECT_EQ(plan.C(), C);
    EXPECT_EQ(plan.fillers(), F);
    EXPECT_EQ(plan.Kprime(), Kprime);
  }
  EXPECT_EQ(cases, 3);
}

TEST(TransportPlan, of_a_published_massive_mimo_symbol_is_one_full_code_block_without_crc) {
  Coding coding{.crc = false,
                .modulation = Modulation::Qam64,
                .rate = 1.0 / 3,
                .base_graph = 1,
                .lifting = 104};
  const auto plan = plan_for(coding, 1200);
  EXPECT_EQ(plan.A(), 22U * 104);
  EXPECT_EQ(plan.C(), 1U);
  EXPECT_EQ(plan.K(), 22U * 104);
  EXPECT_EQ(plan.fillers(), 0U);
  EXPECT_TRUE(plan.transport_crc() == Crc::None && plan.decoder_crc() == Crc::None);
  EXPECT_EQ(plan.blocks()[0].E, 7200U);
  EXPECT_FALSE(plan.blocks()[0].map.direct);  // 7200 coded bits in a buffer of 66 × 104 = 6864
  EXPECT_EQ(plan.blocks()[0].last_position, 66U * 104);
  EXPECT_EQ(plan.soft_bytes(), 7200U);
  EXPECT_EQ(largest_lifting(1, 1200 * 4 / 3), 72);  // 16QAM at the same rate
  EXPECT_EQ(largest_lifting(2, 19), 0);
}

TEST(TransportPlan, with_forced_lifting_and_crc_fills_whole_code_blocks) {
  Coding coding{.modulation = Modulation::Qam64, .rate = 0.5, .base_graph = 1, .lifting = 104};
  const auto plan = plan_for(coding, 3000);
  EXPECT_EQ(plan.C(), 3U);  // floor(9000 / 2288)
  EXPECT_EQ(plan.fillers(), 0U);
  EXPECT_EQ(plan.A(), 3 * (2288U - 24) - 24);
  EXPECT_TRUE(plan.block_crc() == Crc::Crc24B && plan.transport_crc() == Crc::Crc24A);
}

TEST(TransportPlan, sends_no_more_rows_than_the_rate_needs) {
  const auto plan = plan_for({.modulation = Modulation::Qam16, .rate = 0.8}, 1200);
  for (const CodeBlock& block : plan.blocks())
    EXPECT_EQ(block.last_position, block.E + plan.fillers());
}

TEST(TransportPlan, adds_up_for_any_accepted_request) {
  std::mt19937 random(5);
  int accepted = 0, segmented = 0;
  constexpr Modulation kModulations[] = {Modulation::Qpsk, Modulation::Qam16, Modulation::Qam64,
                                         Modulation::Qam256};
  for (int trial = 0; trial < 5000; ++trial) {
    Coding coding;
    coding.crc = random() % 3 != 0;
    coding.modulation = kModulations[random() % 4];
    coding.rate = 0.02 + 0.93 * static_cast<double>(random() % 1000) / 1000;
    coding.base_graph = static_cast<std::uint8_t>(random() % 3);
    coding.lifting = random() % 2 == 0 ? std::uint16_t{0} : kLiftingSizes[random() % 51];
    coding.redundancy_version = static_cast<std::uint8_t>(random() % 4);
    coding.buffer_limit = random() % 2 == 0 ? 1.0 : 0.67;
    const auto re_count = static_cast<std::uint32_t>(1 + random() % (1U << (1 + random() % 15)));
    const auto made = TransportPlan::make(coding, re_count);
    if (const auto* error = std::get_if<CodingError>(&made)) {
      EXPECT_FALSE(error->key.empty() || error->message.empty());
      continue;
    }
    const auto& plan = std::get<TransportPlan>(made);
    ++accepted;
    segmented += plan.C() > 1;
    EXPECT_EQ(plan.C() * (plan.Kprime() - crc_bits(plan.block_crc())), plan.B());
    EXPECT_LE(plan.Kprime(), plan.K());
    EXPECT_TRUE(plan.code().valid());
    EXPECT_LE(plan.C() * plan.Kprime(), 0.95 * plan.G());
    EXPECT_EQ(plan.transport_crc() == Crc::None, !coding.crc);
    EXPECT_EQ(plan.transport_crc() == Crc::Crc24A, coding.crc && plan.A() > 3824);
    std::uint32_t re = 0, least = ~0U, most = 0;
    for (const CodeBlock& block : plan.blocks()) {
      EXPECT_EQ(block.first_re, re);
      EXPECT_EQ(block.E, block.re_count * plan.Qm());
      EXPECT_LE(block.last_position, plan.Ncb());
      EXPECT_GE(block.re_count, most);  // the larger blocks come last: 38.212 5.4.2.1
      least = std::min(least, block.re_count);
      most = std::max(most, block.re_count);
      re += block.re_count;
    }
    EXPECT_EQ(re, re_count);
    EXPECT_LE(most - least, 1U);
  }
  EXPECT_GT(accepted, 1500);
  EXPECT_GT(segmented, 500);
}

TEST(TransportPlan, names_the_key_and_the_allowed_range_of_what_it_refuses) {
  const auto expect = [](const CodingError& error, const char* key, const char* part) {
    EXPECT_EQ(error.key, key) << error.message;
    EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
  };
  expect(error_for({.rate = 0}, 100), "rate", "above 0, at most 0.95");
  expect(error_for({.rate = 0.96}, 100), "rate", "above 0, at most 0.95");
  expect(error_for({.rate = std::nan("")}, 100), "rate", "above 0, at most 0.95");
  expect(error_for({.base_graph = 3}, 100), "base_graph", "1, 2");
  expect(error_for({.base_graph = 1, .lifting = 100}, 1000), "lifting", "96 and 104");
  expect(error_for({.base_graph = 1, .lifting = 385}, 1000), "lifting", "384");
  expect(error_for({.base_graph = 1, .lifting = 104}, 1000), "lifting", "at most 30");
  expect(error_for({.redundancy_version = 4}, 100), "redundancy_version", "0 to 3");
  expect(error_for({.buffer_limit = 0}, 100), "buffer_limit", "at most 1");
  expect(error_for({.rate = 0.33, .buffer_limit = 0.2}, 1000), "buffer_limit", "at least");
  expect(error_for({}, 0), "resource_elements", "1 to 4000000");
  expect(error_for({.rate = 0.5}, 20), "rate", "at most 38");
  expect(error_for({.rate = 0.5}, 1000, 1990), "tbs", "at most 1900");
  expect(error_for({.rate = 0.5}, 100'000, 50'001), "tbs", "do not divide");
  expect(error_for({.crc = false, .rate = 0.03}, 60), "rate", "no payload");
}

}  // namespace
}  // namespace carillon::phy
