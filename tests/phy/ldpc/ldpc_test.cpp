#include "phy/ldpc/ldpc.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/isa.hpp"
#include "phy/crc/crc.hpp"
#include "phy/ldpc/base_graph.hpp"
#include "phy/modulation.hpp"
#include "support/isas.hpp"
#include "support/test.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;

using Bytes = std::vector<std::uint8_t>;

std::size_t bytes_for(std::uint32_t bits) { return (bits + 7) / 8; }
int payload_bit(const Bytes& bytes, std::size_t n) { return bytes[n / 8] >> (7 - n % 8) & 1; }
int coded_bit(const Bytes& bytes, std::size_t n) { return bytes[n / 8] >> (n % 8) & 1; }

std::vector<LdpcCode> all_codes() {
  std::vector<LdpcCode> codes;
  for (const std::uint8_t graph : {std::uint8_t{1}, std::uint8_t{2}})
    for (const std::uint16_t z : kLiftingSizes) codes.push_back({graph, z});
  return codes;
}

Bytes random_info(LdpcCode code, std::uint32_t fillers, std::mt19937& random) {
  Bytes info(bytes_for(code.info_bits()));
  for (std::uint32_t n = 0; n < code.info_bits() - fillers; ++n)
    info[n / 8] = static_cast<std::uint8_t>(info[n / 8] | (random() & 1U) << (7 - n % 8));
  return info;
}

// Random information that ends in its CRC.
Bytes checked_info(LdpcCode code, std::uint32_t fillers, Crc kind, std::mt19937& random) {
  const std::uint32_t bits = crc_bits(kind), first = code.info_bits() - fillers - bits;
  Bytes info = random_info(code, fillers + bits, random);
  const std::uint32_t parity = crc(kind, info.data(), first);
  for (std::uint32_t n = 0; n < bits; ++n)
    info[(first + n) / 8] = static_cast<std::uint8_t>(
        info[(first + n) / 8] | (parity >> (bits - 1 - n) & 1U) << (7 - (first + n) % 8));
  return info;
}

Bytes encoded(Isa isa, LdpcCode code, const Bytes& info, LdpcScratch& scratch) {
  Bytes codeword(bytes_for(code.length()), 0xff);
  ldpc_kernels(isa).encode(code, info.data(), codeword.data(), scratch);
  return codeword;
}

DecodeResult decode(Isa isa, LdpcCode code, const std::vector<std::int8_t>& soft,
                    const DecodeOptions& options, Bytes& info, LdpcScratch& scratch) {
  DecodeBlock block{soft.data(), info.data()};
  ldpc_kernels(isa).decode(code, {&block, 1}, options, scratch);
  return block.result;
}

// BPSK over white Gaussian noise, LLRs times `scale`, for places below `sent` that are no fillers.
std::vector<std::int8_t> received(LdpcCode code, const Bytes& codeword, std::uint32_t fillers,
                                  std::uint32_t sent, double sigma, std::mt19937& random,
                                  double scale = kLlrScale) {
  std::normal_distribution<float> noise(0.0F, static_cast<float>(sigma));
  const std::uint32_t known = code.info_bits() - fillers - 2U * code.lifting;
  std::vector<std::int8_t> soft(code.length());
  for (std::uint32_t n = 0; n < sent; ++n) {
    if (n >= known && n < known + fillers) continue;
    const double y = 1.0 - 2.0 * coded_bit(codeword, n) + static_cast<double>(noise(random));
    const double llr = std::nearbyint(scale * 2.0 * y / (sigma * sigma));
    soft[n] = static_cast<std::int8_t>(std::fmax(-127.0, std::fmin(127.0, llr)));
  }
  return soft;
}

double sigma_at(double ebno_db, double rate) {
  return std::sqrt(1.0 / (2.0 * rate * std::pow(10.0, ebno_db / 10.0)));
}

std::uint32_t bit_errors(const Bytes& a, const Bytes& b) {
  std::uint32_t errors = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    errors += static_cast<std::uint32_t>(__builtin_popcount(a[i] ^ b[i]));
  return errors;
}

// Little-endian 16-bit fields and byte runs of a file under tests/data.
class Vectors {
 public:
  explicit Vectors(const std::string& name) {
    std::ifstream file(std::string(CARILLON_TEST_DATA) + "/" + name, std::ios::binary);
    data_.assign(std::istreambuf_iterator<char>(file), {});
  }
  bool more() const { return at_ < data_.size(); }
  std::uint32_t field() {
    at_ += 2;
    return static_cast<std::uint32_t>(data_.at(at_ - 2) | data_.at(at_ - 1) << 8);
  }
  Bytes run(std::size_t bytes) {
    at_ += bytes;
    data_.at(at_ - 1);
    return {data_.begin() + static_cast<std::ptrdiff_t>(at_ - bytes),
            data_.begin() + static_cast<std::ptrdiff_t>(at_)};
  }

 private:
  Bytes data_;
  std::size_t at_ = 0;
};

TEST(Ldpc, EncoderAgreesWithReferenceVectors) {
  LdpcScratch scratch;
  for (const Isa isa : test::tested_isas()) {
    std::uint32_t cases = 0;
    for (Vectors vectors("ldpc_encode.bin"); vectors.more(); ++cases) {
      const LdpcCode code = {static_cast<std::uint8_t>(vectors.field()),
                             static_cast<std::uint16_t>(vectors.field())};
      const Bytes info = vectors.run(bytes_for(code.info_bits()));
      const Bytes codeword = vectors.run(bytes_for(code.length()));
      EXPECT_TRUE(encoded(isa, code, info, scratch) == codeword)
          << to_string(isa) << " BG" << int{code.base_graph} << " Z=" << code.lifting;
    }
    EXPECT_EQ(cases, 70U);
  }
}

// H·c = 0 bit by bit, with the two punctured columns put back in front.
TEST(Ldpc, CodewordsOfEverySizeSatisfyEveryParityCheck) {
  LdpcScratch scratch;
  std::mt19937 random(1);
  for (const Isa isa : test::tested_isas()) {
    for (const LdpcCode code : all_codes()) {
      const std::uint32_t z = code.lifting;
      const BaseGraph graph = base_graph(code);
      const Bytes info = random_info(code, 0, random);
      const Bytes codeword = encoded(isa, code, info, scratch);
      const auto bit = [&](std::uint32_t n) {
        return n < 2 * z ? payload_bit(info, n) : coded_bit(codeword, n - 2 * z);
      };
      std::uint32_t failed = 0;
      for (std::uint32_t r = 0; r < graph.rows; ++r)
        for (std::uint32_t i = 0; i < z; ++i) {
          int sum = 0;
          for (std::uint32_t e = graph.row_begin[r]; e < graph.row_begin[r + 1]; ++e)
            sum ^= bit(graph.column[e] * z + (i + graph.shift[e]) % z);
          failed += static_cast<std::uint32_t>(sum);
        }
      for (std::uint32_t n = 2 * z; n < code.info_bits(); ++n)
        failed += payload_bit(info, n) != coded_bit(codeword, n - 2 * z);
      EXPECT_EQ(failed, 0U) << to_string(isa) << " BG" << int{code.base_graph} << " Z=" << z;
    }
  }
}

TEST(Ldpc, DecoderInvertsEncoderForEverySizeWithAndWithoutFillers) {
  LdpcScratch scratch;
  std::mt19937 random(2);
  for (const Isa isa : test::tested_isas())
    for (const LdpcCode code : all_codes())
      for (const std::uint32_t fillers : {0U, 3U * code.lifting - code.lifting / 2}) {
        const Bytes info = random_info(code, fillers, random);
        const Bytes codeword = encoded(isa, code, info, scratch);
        const auto soft = received(code, codeword, fillers, code.length(), 0.5, random);
        Bytes decoded(info.size(), 0xff);
        const DecodeResult result =
            decode(isa, code, soft, {.fillers = fillers, .max_iterations = 20}, decoded, scratch);
        EXPECT_TRUE(result.parity && decoded == info)
            << to_string(isa) << " BG" << int{code.base_graph} << " Z=" << code.lifting
            << " fillers " << fillers << " iterations " << result.iterations;
      }
}

// Layered decoding converges about twice as fast as the flooding reference on the same noise.
TEST(Ldpc, DecoderLeavesNoMoreErrorsThanFloodingOnReferenceNoise) {
  LdpcScratch scratch;
  for (const Isa isa : test::tested_isas()) {
    std::uint32_t cases = 0, ours = 0, flooding = 0;
    for (Vectors vectors("ldpc_decode.bin"); vectors.more(); ++cases) {
      const LdpcCode code = {static_cast<std::uint8_t>(vectors.field()),
                             static_cast<std::uint16_t>(vectors.field())};
      const std::uint32_t fillers = vectors.field(), sent = vectors.field();
      const std::uint32_t flooding_errors = vectors.field();  // after 10 iterations
      const Bytes info = vectors.run(bytes_for(code.info_bits()));
      const Bytes llrs = vectors.run(sent);
      const std::uint32_t known = code.info_bits() - fillers - 2U * code.lifting;
      std::vector<std::int8_t> soft(code.length());
      for (std::uint32_t n = 0; n < sent; ++n)
        soft[n < known ? n : n + fillers] = static_cast<std::int8_t>(llrs[n]);
      Bytes decoded(info.size());
      decode(isa, code, soft, {.fillers = fillers, .max_iterations = 10}, decoded, scratch);
      const std::uint32_t errors = bit_errors(info, decoded);
      EXPECT_LE(errors, flooding_errors)
          << to_string(isa) << " BG" << int{code.base_graph} << " Z=" << code.lifting;
      ours += errors;
      flooding += flooding_errors;
    }
    EXPECT_EQ(cases, 14U);
    EXPECT_LT(2 * ours, flooding);
  }
}

bool same(const DecodeResult& a, const DecodeResult& b) {
  return a.iterations == b.iterations && a.parity == b.parity && a.crc == b.crc;
}

TEST(Ldpc, InstructionSetsDecideTheSameBits) {
  LdpcScratch scratch;
  std::mt19937 random(3);
  for (const LdpcCode code : all_codes()) {
    const std::uint32_t fillers = code.lifting / 3;
    const Bytes info = random_info(code, fillers, random);
    const Bytes codeword = encoded(Isa::Avx2, code, info, scratch);
    // Too noisy to converge at once: every message matters.
    const auto soft = received(code, codeword, fillers, code.length(), 1.3, random);
    for (const bool early_stop : {false, true}) {
      const DecodeOptions options = {
          .fillers = fillers, .max_iterations = 4, .early_stop = early_stop};
      Bytes expected(info.size());
      const DecodeResult reference = decode(Isa::Avx2, code, soft, options, expected, scratch);
      for (const Isa isa : test::tested_isas()) {
        Bytes decoded(info.size());
        const DecodeResult result = decode(isa, code, soft, options, decoded, scratch);
        EXPECT_TRUE(decoded == expected && same(result, reference))
            << to_string(isa) << " BG" << int{code.base_graph} << " Z=" << code.lifting;
      }
    }
  }
}

// Blocks of every quality: decoded at once, after some iterations, never; nothing received of some
// columns or of all; mere noise; and out of the demapper's range.
std::vector<std::vector<std::int8_t>> mixed_blocks(LdpcCode code, std::uint32_t fillers,
                                                   std::uint32_t sent, std::uint32_t count,
                                                   std::mt19937& random, LdpcScratch& scratch) {
  std::vector<std::vector<std::int8_t>> blocks;
  for (std::uint32_t b = 0; b < count; ++b) {
    const Bytes info = checked_info(code, fillers, Crc::Crc16, random);
    const Bytes codeword = encoded(Isa::Avx2, code, info, scratch);
    auto soft = received(code, codeword, fillers, sent, 0.4 + 0.25 * (b % 5), random);
    if (b == count / 2)
      for (std::uint32_t n = 0; n < sent; ++n) soft[n] = static_cast<std::int8_t>(random());
    if (b == 3)
      for (std::uint32_t n = 30U * code.lifting; n < sent; ++n) soft[n] = 0;
    if (b == 4) soft.assign(soft.size(), 0);
    blocks.push_back(std::move(soft));
  }
  return blocks;
}

// Returns the blocks' results.
std::vector<DecodeResult> decode_packed_as_alone(Isa isa, LdpcCode code,
                                                 const DecodeOptions& options,
                                                 const std::vector<std::vector<std::int8_t>>& soft,
                                                 LdpcScratch& scratch) {
  std::vector<Bytes> info(soft.size(), Bytes(bytes_for(code.info_bits()), 0xff));
  std::vector<DecodeBlock> pack;
  for (std::size_t b = 0; b < soft.size(); ++b) pack.push_back({soft[b].data(), info[b].data()});
  ldpc_kernels(isa).decode(code, pack, options, scratch);
  std::vector<DecodeResult> results;
  for (std::size_t b = 0; b < soft.size(); ++b) {
    Bytes expected(info[b].size());
    const DecodeResult alone = decode(isa, code, soft[b], options, expected, scratch);
    EXPECT_TRUE(info[b] == expected && same(pack[b].result, alone))
        << to_string(isa) << " BG" << int{code.base_graph} << " Z=" << code.lifting << " block "
        << b << " of " << soft.size();
    results.push_back(pack[b].result);
  }
  return results;
}

TEST(Ldpc, PackedBlocksAreDecodedAsIfEachWereAlone) {
  constexpr std::uint16_t most = 6;
  LdpcScratch scratch;
  std::mt19937 random(9);
  std::map<std::uint32_t, std::uint32_t> stopped_after;  // iterations: blocks
  std::uint32_t passed = 0, failed = 0;
  for (const LdpcCode code : all_codes()) {
    const std::uint32_t fillers = code.lifting / 3, sent = code.length() - code.lifting / 2;
    DecodeOptions options = {.fillers = fillers, .sent = sent, .max_iterations = most};
    options.crc_span = code.info_bits() - fillers;
    for (std::uint32_t lanes = 2; lanes <= kMaxPack && lanes * code.lifting <= kMaxLanes;
         lanes *= 2)
      for (const std::uint32_t count : {lanes / 2 + 1, lanes}) {  // partly and wholly filled
        const auto soft = mixed_blocks(code, fillers, sent, count, random, scratch);
        for (const Crc kind : {Crc::None, Crc::Crc16})
          for (const bool early_stop : {false, true})
            for (const Isa isa : test::tested_isas()) {
              options.crc = kind;
              options.early_stop = early_stop;
              for (const auto& r : decode_packed_as_alone(isa, code, options, soft, scratch)) {
                if (early_stop) ++stopped_after[r.iterations];
                passed += r.parity || r.crc;
                failed += !r.parity && !r.crc;
              }
            }
      }
  }
  // Otherwise it says nothing of blocks that wait for others.
  for (std::uint16_t i = 1; i <= most; ++i) EXPECT_GT(stopped_after[i], 100U) << i;
  EXPECT_GT(passed, 1000U);
  EXPECT_GT(failed, 1000U);
}

// What is kept from block to block is kept apart for each code, pack and choice of rows.
TEST(Ldpc, OneScratchServesCodesInTurn) {
  LdpcScratch shared;
  std::mt19937 random(12);
  for (std::uint32_t round = 0; round < 400; ++round) {
    const std::uint16_t z = kLiftingSizes[25 + random() % 12 * (round % 3 == 0 ? 2 : 1)];
    const LdpcCode code{static_cast<std::uint8_t>(1 + random() % 2), z};
    const auto missing = static_cast<std::uint32_t>(random() % 20) * z;
    const std::uint32_t sent = code.length() - missing;
    LdpcScratch fresh;
    const Bytes info = random_info(code, 0, random);
    for (const Isa isa : test::tested_isas()) {
      const Bytes codeword = encoded(isa, code, info, shared);
      EXPECT_TRUE(codeword == encoded(isa, code, info, fresh)) << round;
      std::mt19937 noise(round);
      const auto soft = received(code, codeword, 0, sent, 0.7, noise);
      const DecodeOptions options{.sent = sent, .max_iterations = 4};
      Bytes decoded(info.size()), expected(info.size());
      const DecodeResult result = decode(isa, code, soft, options, decoded, shared);
      EXPECT_TRUE(same(result, decode(isa, code, soft, options, expected, fresh)) &&
                  decoded == expected)
          << round << " BG" << int{code.base_graph} << " Z=" << z;
    }
  }
}

TEST(Ldpc, PacksFitTheDecoderAndWhatThereIs) {
  for (const LdpcCode code : all_codes())
    for (std::uint32_t count = 1; count <= 100; ++count) {
      const std::uint32_t pack = ldpc_pack(code, count);
      EXPECT_GE(pack, 1U);
      EXPECT_LE(pack, std::min(count, kMaxPack));
      EXPECT_LE(std::max<std::uint32_t>(code.lifting, std::bit_ceil(pack) * code.lifting),
                kMaxLanes);
    }
}

// Though the first two columns were not sent and several checks know nothing of them at first.
TEST(Ldpc, ABlockWithoutErrorsTakesOneIteration) {
  LdpcScratch scratch;
  std::mt19937 random(9);
  for (const Isa isa : test::tested_isas())
    for (const LdpcCode code : all_codes())
      for (const std::uint32_t sent : {code.length(), (code.info_columns() + 6U) * code.lifting}) {
        const Bytes info = random_info(code, 0, random);
        const Bytes codeword = encoded(isa, code, info, scratch);
        const auto soft = received(code, codeword, 0, sent, 0.01, random);
        Bytes decoded(info.size());
        const DecodeResult result = decode(isa, code, soft, {.sent = sent}, decoded, scratch);
        EXPECT_TRUE(result.parity && decoded == info && result.iterations == 1)
            << to_string(isa) << " BG" << int{code.base_graph} << " Z=" << code.lifting << " sent "
            << sent << " iterations " << result.iterations;
      }
}

TEST(Ldpc, StopsAtTheFirstCodewordInSpiteOfWrongSigns) {
  LdpcScratch scratch;
  std::mt19937 random(4);
  const LdpcCode code = {1, 104};
  const Bytes info = random_info(code, 50, random);
  for (const Isa isa : test::tested_isas()) {
    const Bytes codeword = encoded(isa, code, info, scratch);
    auto soft = received(code, codeword, 50, 30 * 104, 0.01, random);
    for (std::uint32_t n = 0; n < 40; ++n) {
      auto& value = soft[n * 50];  // information and core parity: places below 24 · 104
      value = static_cast<std::int8_t>(value > 0 ? -9 : 9);
    }
    Bytes decoded(info.size());
    const DecodeResult result = decode(
        isa, code, soft, {.fillers = 50, .sent = 30 * 104, .max_iterations = 50}, decoded, scratch);
    EXPECT_TRUE(decoded == info);
    EXPECT_TRUE(result.parity);
    EXPECT_FALSE(result.crc);
    EXPECT_LT(result.iterations, 6);
  }
}

TEST(Ldpc, StopsWhenTheCrcHolds) {
  LdpcScratch scratch;
  std::mt19937 random(5);
  const LdpcCode code = {2, 256};
  const std::uint32_t fillers = 100, span = code.info_bits() - fillers;
  const Bytes info = checked_info(code, fillers, Crc::Crc24A, random);
  for (const Isa isa : test::tested_isas()) {
    const Bytes codeword = encoded(isa, code, info, scratch);
    const auto soft = received(code, codeword, fillers, code.length(), 0.8, random);
    Bytes decoded(info.size());
    DecodeOptions options = {.fillers = fillers, .max_iterations = 50};
    const DecodeResult plain = decode(isa, code, soft, options, decoded, scratch);
    options.crc = Crc::Crc24A;
    options.crc_span = span;
    const DecodeResult checked = decode(isa, code, soft, options, decoded, scratch);
    EXPECT_TRUE(decoded == info);
    EXPECT_TRUE(plain.parity);
    EXPECT_TRUE(checked.crc);
    EXPECT_LE(checked.iterations, plain.iterations);
  }
}

// A retransmission (redundancy version 1) of 24 bits and their CRC without noise: nothing was
// received of the information, which the first iterations decide to be zeros. They satisfy the CRC.
TEST(Ldpc, ACrcOfZerosDoesNotStopADecoderThatHasNotDecidedYet) {
  LdpcScratch scratch;
  std::mt19937 random(6);
  const LdpcCode code{2, 7};
  const std::uint32_t fillers = code.info_bits() - 40, start = 13U * code.lifting;
  const DecodeOptions options = {.fillers = fillers,
                                 .sent = start + 96,
                                 .max_iterations = 30,
                                 .crc = Crc::Crc16,
                                 .crc_span = 40};
  for (int draw = 0; draw < 500; ++draw) {
    const Bytes info = checked_info(code, fillers, Crc::Crc16, random);
    const Bytes codeword = encoded(Isa::Avx2, code, info, scratch);
    auto soft = received(code, codeword, fillers, options.sent, 0.001, random);
    std::fill_n(soft.begin(), start, std::int8_t{0});
    for (const Isa isa : test::tested_isas()) {
      Bytes decoded(info.size());
      const DecodeResult result = decode(isa, code, soft, options, decoded, scratch);
      EXPECT_TRUE(result.parity && result.crc && decoded == info) << to_string(isa);
    }
  }
}

TEST(Ldpc, NothingReceivedDecidesZeros) {
  LdpcScratch scratch;
  const LdpcCode code = {1, 60};
  const std::vector<std::int8_t> soft(code.length());
  for (const Isa isa : test::tested_isas()) {
    Bytes decoded(bytes_for(code.info_bits()), 0xff);
    decode(isa, code, soft, {}, decoded, scratch);
    EXPECT_TRUE(decoded == Bytes(decoded.size()));
  }
}

TEST(Ldpc, SaturatedInputsAreDecoded) {
  LdpcScratch scratch;
  std::mt19937 random(6);
  for (const LdpcCode code : {LdpcCode{1, 384}, LdpcCode{2, 52}})
    for (const Isa isa : test::tested_isas())
      for (const double sigma : {0.01, 0.3}) {
        const Bytes info = random_info(code, 0, random);
        const Bytes codeword = encoded(isa, code, info, scratch);
        auto soft = received(code, codeword, 0, code.length(), sigma, random);
        for (auto& value : soft)
          if (value == -127) value = -128;  // out of the demapper's range, yet no trap
        Bytes decoded(info.size());
        const DecodeResult result =
            decode(isa, code, soft, {.max_iterations = 10}, decoded, scratch);
        EXPECT_TRUE(result.parity && decoded == info)
            << to_string(isa) << " BG" << int{code.base_graph} << " sigma " << sigma;
      }
}

// A parity bit that only its own check knows may be lost to the channel for good: the information
// is right all the same, which matters most where no CRC says so.
TEST(Ldpc, ParityIsConfirmedThoughTheChannelIsSurelyWrongAboutAnExtensionBit) {
  const LdpcCode code = {1, 104};
  LdpcScratch scratch;
  for (const Isa isa : test::tested_isas()) {
    std::mt19937 random(7);
    for (std::uint32_t trial = 0; trial < 20; ++trial) {
      const Bytes info = random_info(code, 0, random);
      auto soft = received(code, encoded(isa, code, info, scratch), 0, code.length(), 0.7, random);
      const std::uint32_t place =
          24U * code.lifting + static_cast<std::uint32_t>(random()) % (42U * code.lifting);
      soft[place] = soft[place] < 0 ? std::int8_t{127} : std::int8_t{-127};
      Bytes decided(info.size());
      const auto result = decode(isa, code, soft, {.max_iterations = 20}, decided, scratch);
      EXPECT_TRUE(result.parity && decided == info) << to_string(isa);
    }
  }
}

// Redundancy version 3 of base graph 1 starts at column 56 and wraps: most extension columns are
// missing, and their rows must not disturb the others.
TEST(Ldpc, RowsWithoutTheirColumnAreSkipped) {
  LdpcScratch scratch;
  std::mt19937 random(7);
  const LdpcCode code = {1, 96};
  for (const Isa isa : test::tested_isas()) {
    const Bytes info = random_info(code, 0, random);
    const Bytes codeword = encoded(isa, code, info, scratch);
    auto soft = received(code, codeword, 0, code.length(), 0.5, random);
    for (std::uint32_t n = 28 * 96; n < 56 * 96; ++n) soft[n] = 0;
    Bytes decoded(info.size());
    const DecodeResult result = decode(isa, code, soft, {.max_iterations = 20}, decoded, scratch);
    EXPECT_TRUE(result.parity && decoded == info);
  }
}

struct Channel {
  LdpcCode code;
  std::uint32_t sent;
  double ebno_db;
  double scale = kLlrScale;
};

// Failed blocks of `blocks`, for each number of iterations on the same noise.
std::vector<std::uint32_t> failures(Isa isa, const Channel& channel, std::uint32_t blocks,
                                    const std::vector<std::uint32_t>& iterations) {
  LdpcScratch scratch;
  std::mt19937 random(8);
  std::vector<std::uint32_t> failed(iterations.size());
  const double rate = static_cast<double>(channel.code.info_bits()) / channel.sent;
  for (std::uint32_t block = 0; block < blocks; ++block) {
    const Bytes info = random_info(channel.code, 0, random);
    const Bytes codeword = encoded(isa, channel.code, info, scratch);
    const auto soft = received(channel.code, codeword, 0, channel.sent,
                               sigma_at(channel.ebno_db, rate), random, channel.scale);
    for (std::size_t i = 0; i < iterations.size(); ++i) {
      Bytes decoded(info.size());
      const DecodeOptions options = {.sent = channel.sent, .max_iterations = iterations[i]};
      decode(isa, channel.code, soft, options, decoded, scratch);
      failed[i] += decoded != info;
    }
  }
  return failed;
}

// Row-layered offset-min-sum in floating point (a C program that is not ours, cross-checked with
// Sionna) fails one block in ten at these Eb/N0; a tenth of a dB above, we fail fewer.
TEST(Ldpc, BlockErrorRateIsWithinATenthOfADecibelOfFloatingPoint) {
  struct Reference {
    Channel channel;
    std::uint32_t iterations;
  };
  constexpr std::uint32_t kBlocks = 200;
  for (const Reference& reference :
       {Reference{{{1, 384}, 25344, 0.82}, 10}, Reference{{{1, 384}, 9504, 4.28}, 5},
        Reference{{{2, 384}, 11520, 0.93}, 10}, Reference{{{2, 384}, 19200, 1.87}, 5}}) {
    Channel channel = reference.channel;
    channel.ebno_db += 0.1;
    const auto failed = failures(active_isa(), channel, kBlocks, {reference.iterations});
    EXPECT_LE(failed[0], kBlocks / 10)
        << "BG" << int{channel.code.base_graph} << ", " << channel.sent << " places sent";
  }
}

TEST(Ldpc, MoreIterationsNeverRaiseTheBlockErrorRate) {
  for (const Channel& channel : {Channel{{1, 384}, 9504, 3.9}, Channel{{1, 384}, 25344, 0.8},
                                 Channel{{2, 384}, 11520, 0.9}}) {
    const auto failed = failures(active_isa(), channel, 60, {3, 5, 10, 20});
    for (std::size_t i = 1; i < failed.size(); ++i)
      EXPECT_LE(failed[i], failed[i - 1]) << channel.sent << " places sent";
    EXPECT_LT(failed.back(), failed.front());
  }
}

// Posteriors that saturate against unbounded messages would make the higher rate fail.
TEST(Ldpc, TwiceTheLlrScaleCostsLessThanHalfADecibel) {
  for (const Channel& channel : {Channel{{1, 384}, 9504, 4.27}, Channel{{2, 384}, 11520, 1.43}})
    for (const double factor : {1.0, 1.5, 2.0}) {
      Channel scaled = channel;
      scaled.scale *= factor;
      EXPECT_LE(failures(active_isa(), scaled, 100, {10})[0], 10U)
          << channel.sent << " places sent, scale times " << factor;
    }
}

}  // namespace
