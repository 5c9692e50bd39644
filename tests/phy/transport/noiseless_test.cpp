// Code blocks of which some bits were received, all of them right, and the others not at all.
#include <cstdint>
#include <random>
#include <vector>

#include "base/isa.hpp"
#include "phy/crc/crc.hpp"
#include "phy/ldpc/ldpc.hpp"
#include "phy/transport/transport.hpp"
#include "support/isas.hpp"
#include "support/peeling.hpp"
#include "support/test.hpp"

namespace carillon::phy {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// How blocks are sent. `limit`: of the N coded bits, kept in the buffer.
struct Sent {
  LdpcCode code;
  std::uint32_t fillers, redundancy_version, limit, E;
  std::uint32_t iterations;
  std::int8_t strength;  // of the soft bits
  Crc crc = Crc::None;
  std::uint32_t weak = 0;  // so many of the soft bits are
};

class Noiseless {
 public:
  explicit Noiseless(unsigned seed) : random_(seed) {}

  std::uint32_t pick(std::uint32_t least, std::uint32_t most) {
    return least + static_cast<std::uint32_t>(random_()) % (most - least + 1);
  }

  /// Any size, version, limit, rate and modulation.
  Sent any() {
    Sent sent{};
    sent.code.base_graph = static_cast<std::uint8_t>(pick(1, 2));
    sent.code.lifting = kLiftingSizes[pick(0, kLiftingSizes.size() - 1)];
    const std::uint32_t k = sent.code.info_bits(), n = sent.code.length();
    sent.fillers = pick(0, 1) == 0 ? 0 : pick(0, k - std::max(k / 2, 18U));
    const std::uint32_t info = k - sent.fillers, least = info * 20 / 19 + 1;  // rate 0.95
    sent.limit = pick(0, 2) == 0 ? pick(std::min(n, least + sent.fillers), n) : n;
    sent.redundancy_version = pick(0, 3);
    const std::uint32_t bits = 2 * pick(1, 4);
    sent.E = pick(least, pick(0, 2) == 0 ? 3 * n / 2 : 3 * info / 2) / bits * bits;
    sent.iterations = pick(1, 8);
    sent.strength = static_cast<std::int8_t>(pick(0, 1) == 0 ? 127 : pick(3, 40));
    sent.crc = pick(0, 1) == 0 ? Crc::None : Crc::Crc16;
    return sent;
  }

  /// Which coded bits were received: what was sent, less some.
  std::vector<bool> received(const Sent& sent, std::uint32_t lost_of_100) {
    const SoftMap map =
        match_rate(sent.code, sent.fillers, sent.limit, sent.redundancy_version, 2, sent.E / 2 * 2);
    std::vector<bool> received(sent.code.length());
    for (std::uint32_t p = 0; p < map.piece_count; ++p)
      for (std::uint32_t i = 0; i < map.pieces[p].count; ++i)
        received[map.pieces[p].d + i] = pick(1, 100) > lost_of_100;
    return received;
  }

  Bytes information(const Sent& sent) {
    const std::uint32_t payload = sent.code.info_bits() - sent.fillers - crc_bits(sent.crc);
    Bytes info((sent.code.info_bits() + 7) / 8);
    const auto put = [&](std::uint32_t n, std::uint32_t bit) {
      info[n / 8] = static_cast<std::uint8_t>(info[n / 8] | (bit & 1) << (7 - n % 8));
    };
    for (std::uint32_t n = 0; n < payload; ++n) put(n, static_cast<std::uint32_t>(random_()));
    const std::uint32_t parity = crc(sent.crc, info.data(), payload), bits = crc_bits(sent.crc);
    for (std::uint32_t n = 0; n < bits; ++n) put(payload + n, parity >> (bits - 1 - n));
    return info;
  }

  /// Decodes `count` blocks at once; how many of them come out right.
  std::uint32_t right(Isa isa, const Sent& sent, const std::vector<bool>& received,
                      std::uint32_t count) {
    const LdpcKernels& kernels = ldpc_kernels(isa);
    DecodeOptions options = {.fillers = sent.fillers, .sent = 0, .max_iterations = sent.iterations};
    options.crc = sent.crc;
    options.crc_span = sent.code.info_bits() - sent.fillers;
    std::vector<Bytes> info, decided(count, Bytes((sent.code.info_bits() + 7) / 8));
    std::vector<std::vector<std::int8_t>> soft(count);
    std::vector<DecodeBlock> blocks;
    for (std::uint32_t b = 0; b < count; ++b) {
      info.push_back(information(sent));
      Bytes codeword((sent.code.length() + 7) / 8);
      kernels.encode(sent.code, info[b].data(), codeword.data(), scratch_);
      std::uint32_t weak = 0;
      for (std::uint32_t n = 0; n < sent.code.length(); ++n) {
        const int sign = (codeword[n / 8] >> n % 8 & 1) != 0 ? -1 : 1;
        const int strength = !received[n] ? 0 : weak++ < sent.weak ? kWeak : sent.strength;
        soft[b].push_back(static_cast<std::int8_t>(sign * strength));
        if (received[n]) options.sent = n + 1;
      }
      blocks.push_back({soft[b].data(), decided[b].data()});
    }
    kernels.decode(sent.code, blocks, options, scratch_);
    std::uint32_t right = 0;
    for (std::uint32_t b = 0; b < count; ++b)
      right += decided[b] == info[b] && blocks[b].result.crc == (sent.crc != Crc::None);
    return right;
  }

 private:
  std::mt19937 random_;
  LdpcScratch scratch_;
};

std::string words(const Sent& s) {
  return "base graph " + std::to_string(s.code.base_graph) + ", Z " +
         std::to_string(s.code.lifting) + ", fillers " + std::to_string(s.fillers) + ", rv " +
         std::to_string(s.redundancy_version) + ", limit " + std::to_string(s.limit) + ", E " +
         std::to_string(s.E) + ", iterations " + std::to_string(s.iterations) + ", strength " +
         std::to_string(s.strength);
}

TEST(Noiseless, WhatPeelingSolvesIsDecodedInAnyNumberOfIterations) {
  Noiseless blocks(1);
  std::uint32_t solved = 0, unsolved = 0;
  for (int draw = 0; draw < 600; ++draw) {
    const Sent sent = blocks.any();
    const auto received = blocks.received(sent, draw % 3 == 0 ? blocks.pick(0, 30) : 0);
    if (!test::peeling_solves(sent.code, sent.fillers, received)) {
      ++unsolved;
      continue;
    }
    ++solved;
    const std::uint32_t count = blocks.pick(1, ldpc_pack(sent.code, 8));
    for (const Isa isa : test::tested_isas())
      EXPECT_EQ(blocks.right(isa, sent, received, count), count)
          << to_string(isa) << ", " << words(sent);
  }
  // Otherwise it says little of blocks that only just can be decoded.
  EXPECT_GT(solved, 200U);
  EXPECT_GT(unsolved, 100U);
}

// Chains of checks of which each gives the next its bit: too long for messages, which lose strength
// with each, and for the usual iterations.
TEST(Noiseless, LongChainsAreDecodedInTheUsualIterations) {
  Noiseless blocks(2);
  for (const Sent& sent :
       {Sent{{1, 208}, 48, 3, 13728, 4980, 8, 127}, Sent{{1, 208}, 56, 3, 13728, 4960, 8, 127},
        Sent{{1, 224}, 24, 3, 14784, 5368, 8, 127}, Sent{{2, 36}, 88, 2, 856, 456, 8, 127},
        Sent{{2, 24}, 104, 3, 1200, 222, 8, 127}, Sent{{2, 32}, 136, 0, 897, 198, 8, 127}}) {
    const auto received = blocks.received(sent, 0);
    EXPECT_TRUE(test::peeling_solves(sent.code, sent.fillers, received)) << words(sent);
    for (const Isa isa : test::tested_isas())
      EXPECT_EQ(blocks.right(isa, sent, received, 1), 1U) << to_string(isa) << ", " << words(sent);
  }
}

// Where many soft bits are weak it is noise that failed, and peeling it would take long for
// nothing.
TEST(Noiseless, ChainsOfMoreWeakBitsThanCanAllBeRightAreLeft) {
  Noiseless blocks(3);
  for (const std::uint32_t weak : {0U, 1U, kMostWeak, kMostWeak + 1, 20 * kMostWeak}) {
    const Sent sent{{1, 208}, 48, 3, 13728, 4980, 8, 127, Crc::None, weak};
    const auto received = blocks.received(sent, 0);
    for (const Isa isa : test::tested_isas())
      EXPECT_EQ(blocks.right(isa, sent, received, 1), weak <= kMostWeak ? 1U : 0U)
          << to_string(isa) << ", " << weak << " weak";
  }
}

}  // namespace
}  // namespace carillon::phy
