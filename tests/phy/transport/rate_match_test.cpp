#include <random>
#include <vector>

#include "phy/crc/vectors.hpp"
#include "phy/transport/transport.hpp"
#include "support/test.hpp"

namespace carillon::phy {
namespace {

using test::lsb_bit;

struct Case {
  LdpcCode code;
  std::uint32_t fillers, Qm, E, E_repeated, Ncb_limited;
  std::vector<std::uint8_t> codeword;
};

// `expected` is interleaved (38.212 5.4.2.2): f[i + j Qm] = e[i E / Qm + j].
void expect_selects(const Case& c, std::uint32_t Ncb, std::uint32_t rv, std::uint32_t E,
                    const std::vector<std::uint8_t>& expected) {
  const SoftMap map = match_rate(c.code, c.fillers, Ncb, rv, c.Qm, E);
  std::vector<std::uint8_t> e((E + 7) / 8 + kCodedPadding);
  select_bits(map, c.codeword.data(), e.data());
  std::uint32_t differing = 0;
  for (std::uint32_t i = 0; i < c.Qm; ++i)
    for (std::uint32_t j = 0; j < E / c.Qm; ++j)
      differing += lsb_bit(e, i * map.plane_stride + j) != lsb_bit(expected, i + j * c.Qm);
  EXPECT_EQ(differing, 0U) << "base graph " << int{c.code.base_graph} << ", Z " << c.code.lifting
                           << ", rv " << rv << ", E " << E;
  EXPECT_EQ(map.direct, E <= Ncb - c.fillers);
}

TEST(RateMatch, selects_the_bits_of_the_reference_vectors) {
  int cases = 0, repeated = 0, limited = 0;
  for (test::Vectors vectors("ratematch.bin"); !vectors.done(); ++cases) {
    Case c;
    c.code.base_graph = static_cast<std::uint8_t>(vectors.word());
    c.code.lifting = static_cast<std::uint16_t>(vectors.word());
    c.fillers = vectors.word();
    const std::uint32_t N = vectors.word();
    ASSERT_EQ(N, c.code.length());
    c.Qm = vectors.word();
    c.E = vectors.word();
    c.E_repeated = vectors.word();
    c.Ncb_limited = vectors.word();
    c.codeword = vectors.bits(N);
    for (std::uint32_t rv = 0; rv < 4; ++rv) expect_selects(c, N, rv, c.E, vectors.bits(c.E));
    if (c.E_repeated > 0 && ++repeated)
      for (std::uint32_t rv = 0; rv < 4; ++rv)
        expect_selects(c, N, rv, c.E_repeated, vectors.bits(c.E_repeated));
    if (c.Ncb_limited > 0 && ++limited)
      for (std::uint32_t rv = 0; rv < 4; ++rv)
        expect_selects(c, c.Ncb_limited, rv, c.E, vectors.bits(c.E));
  }
  EXPECT_EQ(cases, 59);
  EXPECT_EQ(repeated, 7);
  EXPECT_EQ(limited, 3);
}

// The loop of 38.212 5.4.2.1, bit by bit: the place of every e.
std::vector<std::uint32_t> places(LdpcCode code, std::uint32_t fillers, std::uint32_t Ncb,
                                  std::uint32_t rv, std::uint32_t E) {
  const std::uint32_t Z = code.lifting, K = code.info_bits();
  const std::uint32_t columns = code.base_graph == 1 ? 66 : 50;
  constexpr std::uint32_t kFactor[2][4] = {{0, 17, 33, 56}, {0, 13, 25, 43}};
  const std::uint32_t k0 = kFactor[code.base_graph - 1][rv] * Ncb / (columns * Z) * Z;
  std::vector<std::uint32_t> d;
  for (std::uint32_t j = 0; d.size() < E; ++j) {
    const std::uint32_t place = (k0 + j) % Ncb;
    const bool filler = place + 2 * Z >= K - fillers && place + 2 * Z < K;
    if (!filler) d.push_back(place);
  }
  return d;
}

TEST(RateMatch, agrees_with_the_standards_loop_for_random_codes_and_lengths) {
  std::mt19937 random(3);
  const auto pick = [&](std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(random()) % (high - low + 1);
  };
  int wrapped = 0, repeated = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const LdpcCode code{static_cast<std::uint8_t>(pick(1, 2)),
                        kLiftingSizes[pick(0, trial % 8 == 0 ? 50 : 20)]};
    const std::uint32_t N = code.length(), fillers = pick(0, code.info_bits() - 1) / pick(1, 9);
    const std::uint32_t Ncb = pick(0, 1) != 0 ? N : pick(N / 2, N), Qm = 2 * pick(1, 4);
    const std::uint32_t E = pick(1, 2 * N / Qm) * Qm, rv = pick(0, 3);
    const SoftMap map = match_rate(code, fillers, Ncb, rv, Qm, E);
    const auto expected = places(code, fillers, Ncb, rv, E);
    std::vector<std::uint32_t> mapped;
    for (std::uint32_t p = 0; p < map.piece_count; ++p) {
      EXPECT_EQ(map.pieces[p].e, mapped.size());
      for (std::uint32_t n = 0; n < map.pieces[p].count; ++n) mapped.push_back(map.pieces[p].d + n);
    }
    ASSERT_EQ(mapped.size(), std::min(E, map.lap));
    for (std::uint32_t n = 0; n < E; ++n) ASSERT_EQ(mapped[n % map.lap], expected[n]);
    repeated += !map.direct;
    wrapped += map.piece_count > 1 && map.pieces[map.piece_count - 1].d == 0;

    std::vector<std::uint8_t> codeword(N / 8 + 1), e(E / 8 + 1 + kCodedPadding);
    for (auto& byte : codeword) byte = static_cast<std::uint8_t>(random());
    select_bits(map, codeword.data(), e.data());
    for (std::uint32_t n = 0; n < E; ++n) ASSERT_EQ(lsb_bit(e, n), lsb_bit(codeword, expected[n]));
  }
  EXPECT_GT(repeated, 100);
  EXPECT_GT(wrapped, 100);
}

}  // namespace
}  // namespace carillon::phy
