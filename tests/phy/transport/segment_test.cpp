#include <random>
#include <vector>

#include "phy/crc/vectors.hpp"
#include "phy/gold/gold.hpp"
#include "phy/ldpc/ldpc.hpp"
#include "phy/transport/bits.hpp"
#include "phy/transport/transport.hpp"
#include "support/isas.hpp"
#include "support/test.hpp"

namespace carillon::phy {
namespace {

using test::lsb_bit;
using test::msb_bit;

struct Blocks {
  std::size_t stride;
  std::vector<std::uint8_t> infos;
};

Blocks segment_all(const TransportPlan& plan, const std::vector<std::uint8_t>& payload) {
  Blocks blocks{(plan.K() + 7) / 8, {}};
  blocks.infos.assign(blocks.stride * plan.C() + 8, 0xFF);
  const std::uint32_t parity = transport_parity(plan, payload.data());
  for (std::uint32_t r = 0; r < plan.C(); ++r)
    segment(plan, payload.data(), parity, r, blocks.infos.data() + r * blocks.stride);
  return blocks;
}

std::vector<std::uint8_t> random_payload(std::uint32_t bits, std::mt19937& random) {
  std::vector<std::uint8_t> payload((bits + 7) / 8 + 8);
  for (std::uint32_t n = 0; n < bits; ++n)
    if (random() % 2 != 0) payload[n / 8] |= static_cast<std::uint8_t>(0x80 >> n % 8);
  return payload;
}

TEST(Bits, copy_from_any_offset_to_any_other_and_touch_nothing_else) {
  std::mt19937 random(11);
  std::vector<std::uint8_t> source(80), before(80);
  for (auto& byte : source) byte = static_cast<std::uint8_t>(random());
  for (auto& byte : before) byte = static_cast<std::uint8_t>(random());
  for (std::size_t to = 0; to < 10; ++to)
    for (std::size_t from = 0; from < 10; ++from)
      for (std::size_t count = 0; count < 300; count += 1 + count / 40) {
        auto msb = before, lsb = before;
        copy_bits<BitOrder::MsbFirst>(msb.data(), to, source.data(), from, count);
        copy_bits<BitOrder::LsbFirst>(lsb.data(), to, source.data(), from, count);
        for (std::size_t n = 0; n < 8 * before.size(); ++n) {
          const bool copied = n >= to && n < to + count;
          ASSERT_EQ(msb_bit(msb, n), copied ? msb_bit(source, n - to + from) : msb_bit(before, n));
          ASSERT_EQ(lsb_bit(lsb, n), copied ? lsb_bit(source, n - to + from) : lsb_bit(before, n));
        }
      }
}

TEST(Segment, gives_blocks_whose_checks_hold_and_desegment_gives_the_payload_back) {
  std::mt19937 random(7);
  int several = 0, ragged = 0;
  for (int trial = 0; trial < 400; ++trial) {
    Coding coding;
    coding.crc = random() % 4 != 0;
    coding.modulation = Modulation::Qam64;
    coding.rate = 0.1 + 0.8 * static_cast<double>(random() % 100) / 100;
    coding.lifting = random() % 2 == 0 ? std::uint16_t{0} : kLiftingSizes[random() % 51];
    const auto made = TransportPlan::make(coding, static_cast<std::uint32_t>(20 + random() % 9000));
    const auto* plan = std::get_if<TransportPlan>(&made);
    if (plan == nullptr) continue;
    several += plan->C() > 1;
    ragged += plan->B() / plan->C() % 8 != 0;
    const auto payload = random_payload(plan->A(), random);
    Blocks blocks = segment_all(*plan, payload);
    for (std::uint32_t r = 0; r < plan->C(); ++r) {
      std::uint8_t* info = blocks.infos.data() + r * blocks.stride;
      EXPECT_EQ(crc(plan->decoder_crc(), info, plan->Kprime()), 0U);
      const std::vector<std::uint8_t> bits(info, info + blocks.stride);
      for (std::uint32_t n = plan->Kprime(); n < plan->K(); ++n) ASSERT_FALSE(msb_bit(bits, n));
    }
    std::vector<std::uint8_t> back(payload.size());
    EXPECT_TRUE(desegment(*plan, blocks.infos.data(), blocks.stride, back.data()));
    EXPECT_TRUE(back == payload);
    if (!coding.crc) continue;
    blocks.infos[random() % plan->C() * blocks.stride] ^= 0x40;
    EXPECT_FALSE(desegment(*plan, blocks.infos.data(), blocks.stride, back.data()));
  }
  EXPECT_GT(several, 50);
  EXPECT_GT(ragged, 20);
}

TEST(Segment, the_whole_chain_gives_the_coded_bits_of_the_reference_slots) {
  for (const Isa isa : test::tested_isas()) {
    LdpcScratch scratch;
    int cases = 0;
    for (test::Vectors vectors("ratematch_pusch.bin"); !vectors.done(); ++cases) {
      const std::uint32_t A = vectors.word(), G = vectors.word(), Qm = vectors.word();
      Coding coding;
      coding.modulation = static_cast<Modulation>(Qm);
      coding.rate = vectors.word() / 2048.0;
      vectors.array<std::uint32_t>(5);
      const std::uint32_t c_init = vectors.word();
      vectors.array<std::uint32_t>(3);
      const auto payload = vectors.bits(A);
      const auto expected = vectors.bits(G);

      const auto made = TransportPlan::make(coding, G / Qm, A);
      ASSERT_TRUE(std::holds_alternative<TransportPlan>(made));
      const auto& plan = std::get<TransportPlan>(made);
      const Blocks blocks = segment_all(plan, payload);
      std::vector<std::uint8_t> scrambling((G + 7) / 8);
      gold(c_init, 0, G, scrambling.data());
      std::uint32_t differing = 0;
      for (std::uint32_t r = 0; r < plan.C(); ++r) {
        const CodeBlock& block = plan.blocks()[r];
        std::vector<std::uint8_t> codeword(plan.N() / 8 + 64);
        std::vector<std::uint8_t> e(block.E / 8 + 1 + kCodedPadding);
        ldpc_kernels(isa).encode(plan.code(), blocks.infos.data() + r * blocks.stride,
                                 codeword.data(), scratch);
        select_bits(block.map, codeword.data(), e.data());
        for (std::uint32_t j = 0; j < block.re_count; ++j)
          for (std::uint32_t i = 0; i < Qm; ++i) {
            const std::uint32_t n = (block.first_re + j) * Qm + i;
            const bool bit = lsb_bit(e, i * block.map.plane_stride + j) != lsb_bit(scrambling, n);
            differing += bit != lsb_bit(expected, n);
          }
      }
      EXPECT_EQ(differing, 0U) << "slot " << cases << " on " << to_string(isa);
    }
    EXPECT_EQ(cases, 3);
  }
}

}  // namespace
}  // namespace carillon::phy
