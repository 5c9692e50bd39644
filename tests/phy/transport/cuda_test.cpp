// Both directions against the CPU's, bit by bit; segment_test.cpp and rate_match_test.cpp hold
// these against the specification.
#include "phy/transport/cuda.hpp"

#include <algorithm>
#include <random>
#include <variant>
#include <vector>

#include "phy/transport/cuda.inl"
#include "support/place.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;
using namespace carillon::phy::cuda;
using test::Place;

using Bytes = std::vector<std::uint8_t>;

constexpr auto kEncode = [](auto& cta, const EncodeTask& task) { encode_block(cta, task); };
constexpr auto kDesegment = [](auto& cta, const DesegmentTask& task) {
  desegment_block(cta, task);
};

std::size_t bytes_for(std::uint32_t bits) { return (bits + 7) / 8; }

Bytes random_bytes(std::size_t count, std::mt19937& random) {
  Bytes bytes(count);
  for (auto& each : bytes) each = static_cast<std::uint8_t>(random());
  return bytes;
}

// Information of all code blocks of a payload, as the CPU cuts it.
Bytes segmented(const TransportPlan& plan, const std::uint8_t* payload) {
  const std::size_t bytes = bytes_for(plan.K());
  Bytes infos(bytes * plan.C());
  const std::uint32_t parity = transport_parity(plan, payload);
  for (std::uint32_t r = 0; r < plan.C(); ++r) segment(plan, payload, parity, r, &infos[r * bytes]);
  return infos;
}

// Its coded bits, each code block's in `words` words.
std::vector<std::uint32_t> encoded(const TransportPlan& plan, const std::uint8_t* payload,
                                   std::size_t words) {
  const Bytes infos = segmented(plan, payload);
  LdpcScratch scratch;
  Bytes codeword(bytes_for(plan.N()));
  std::vector<std::uint32_t> coded(words * plan.C());
  for (std::uint32_t r = 0; r < plan.C(); ++r) {
    ldpc_kernels().encode(plan.code(), &infos[r * bytes_for(plan.K())], codeword.data(), scratch);
    select_bits(plan.blocks()[r].map, codeword.data(),
                reinterpret_cast<std::uint8_t*>(&coded[r * words]));
  }
  return coded;
}

void expect_same_coded_bits(Place& place, const TransportPlan& plan, std::mt19937& random) {
  constexpr std::uint32_t kCount = 2;
  EncodeTask task = encode_task(plan);
  task.count = kCount;
  task.payload_stride += 1;
  task.coded_stride += 3;
  const Bytes payload = random_bytes(kCount * task.payload_stride, random);
  task.payload = place.put(payload);
  const std::size_t words = kCount * task.coded_stride;
  task.coded = place.put(std::vector<std::uint32_t>(words, 0xeeeeeeee));
  place.run(task, kEncode, encode);
  const std::vector<std::uint32_t> found = place.get(task.coded, words);
  for (std::uint32_t t = 0; t < kCount; ++t) {
    const auto expected = encoded(plan, &payload[t * task.payload_stride], task.coded_block);
    for (std::uint32_t r = 0; r < plan.C(); ++r) {
      const auto* const from = &found[t * task.coded_stride + r * task.coded_block];
      EXPECT_TRUE(
          std::equal(from, from + bit_words(plan.blocks()[r].E), &expected[r * task.coded_block]))
          << "BG" << int{plan.code().base_graph} << " Z=" << plan.code().lifting << " A "
          << plan.A() << " block " << r << " of " << plan.C();
    }
    EXPECT_EQ(found[t * task.coded_stride + plan.C() * task.coded_block], 0xeeeeeeeeU);
  }
}

// One payload arrives whole, another with a wrong bit, a third with a wrong parity bit.
void expect_same_payloads(Place& place, const TransportPlan& plan, std::mt19937& random) {
  constexpr std::uint32_t kCount = 3;
  const std::size_t bytes = bytes_for(plan.A()), block = bytes_for(plan.K());
  Bytes infos;
  for (std::uint32_t t = 0; t < kCount; ++t) {
    Bytes own = segmented(plan, random_bytes(bytes, random).data());
    const std::uint32_t wrong = t == 1 ? plan.A() / 2 : plan.B() - 1;
    const std::uint32_t per = plan.B() / plan.C();
    auto& byte = own[wrong / per * block + wrong % per / 8];
    if (t != 0) byte = static_cast<std::uint8_t>(byte ^ 0x80 >> wrong % per % 8);
    infos.insert(infos.end(), own.begin(), own.end());
  }
  DesegmentTask task{};
  task.plan = view(plan);
  task.count = kCount;
  task.info = place.put(infos);
  task.info_block = block;
  task.info_stride = block * plan.C();
  task.payload_stride = bytes + 2;
  task.payload = place.put(Bytes(kCount * task.payload_stride, 0xee));
  task.good_stride = 3;
  task.good = place.put(Bytes(kCount * task.good_stride, 7));
  place.run(task, kDesegment, desegment);
  const Bytes found = place.get(task.payload, kCount * task.payload_stride);
  const Bytes good = place.get(task.good, kCount * task.good_stride);
  for (std::uint32_t t = 0; t < kCount; ++t) {
    Bytes expected(bytes);
    const bool holds = desegment(plan, &infos[t * task.info_stride], block, expected.data());
    EXPECT_EQ(holds, t == 0 || plan.transport_crc() == Crc::None);
    EXPECT_EQ(int{good[t * task.good_stride + 1]}, 7);
    EXPECT_EQ(int{good[t * task.good_stride]}, int{holds}) << "A " << plan.A() << " C " << plan.C();
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), &found[t * task.payload_stride]))
        << "A " << plan.A() << " C " << plan.C();
    EXPECT_EQ(int{found[t * task.payload_stride + bytes]}, 0xee);
  }
}

std::uint32_t planned(const Coding& coding, std::uint32_t re_count,
                      std::optional<std::uint32_t> tbs, Place& place, std::mt19937& random) {
  const auto made = TransportPlan::make(coding, re_count, tbs);
  const auto* const plan = std::get_if<TransportPlan>(&made);
  if (plan == nullptr) {
    ADD_FAILURE() << std::get<CodingError>(made).key << " " << std::get<CodingError>(made).message;
    return 0;
  }
  expect_same_coded_bits(place, *plan, random);
  expect_same_payloads(place, *plan, random);
  return plan->C();
}

GPU_TEST(CudaTransport, EncodesEverySizeAsTheCpuDoes) {
  std::mt19937 random(1);
  for (const std::uint8_t graph : {std::uint8_t{1}, std::uint8_t{2}})
    for (const std::uint16_t z : kLiftingSizes) {
      Coding coding;
      coding.base_graph = graph;
      coding.lifting = z;
      const std::uint32_t K = LdpcCode{graph, z}.info_bits();
      coding.crc = K > 100;
      coding.rate = graph == 1 ? 0.32 : 0.19;  // so low that all rows are sent
      planned(coding, static_cast<std::uint32_t>(K / coding.rate / 2) + 3, {}, place, random);
    }
}

GPU_TEST(CudaTransport, CutsBlocksOfEveryKind) {
  std::mt19937 random(2);
  struct Case {
    std::uint32_t re_count;
    Modulation modulation;
    double rate;
    std::optional<std::uint32_t> tbs;
    bool crc = true;
    std::uint8_t graph = 0;
  };
  std::uint32_t several = 0;
  for (const Case& of : {
           Case{156, Modulation::Qpsk, 0.3, 24},
           Case{300, Modulation::Qpsk, 0.4, 101},  // no whole bytes
           Case{156, Modulation::Qam16, 0.5, {}},
           Case{1200, Modulation::Qam64, 1.0 / 3, {}},
           Case{1201, Modulation::Qam64, 0.9, 6001},
           Case{2404, Modulation::Qam64, 0.66, {}},
           Case{3000, Modulation::Qam256, 0.9, {}},
           Case{6000, Modulation::Qam256, 0.2, {}},
           Case{4999, Modulation::Qam16, 0.7, 13802, true, 1},  // blocks begin within bytes
           Case{4001, Modulation::Qam64, 0.75, {}, false},
       }) {
    Coding coding;
    coding.modulation = of.modulation;
    coding.rate = of.rate;
    coding.crc = of.crc;
    coding.base_graph = of.graph;
    several += planned(coding, of.re_count, of.tbs, place, random) > 1;
  }
  EXPECT_GE(several, 4U);
}

// Limited buffers, every start, and as much repetition as comes.
GPU_TEST(CudaTransport, SelectsAndRepeatsAsTheCpuDoes) {
  std::mt19937 random(3);
  for (std::uint8_t version = 0; version < 4; ++version)
    for (const double limit : {1.0, 0.61}) {
      Coding coding;
      coding.redundancy_version = version;
      coding.buffer_limit = limit;
      coding.rate = 0.5;
      planned(coding, 1507, 1352, place, random);
      coding.rate = 0.1;
      planned(coding, 3301, 640, place, random);  // 2Ncb and more
      coding.modulation = Modulation::Qam64;
      planned(coding, 1500, 192, place, random);
      coding.base_graph = 1;
      planned(coding, 600, 48, place, random);
    }
}

TEST(CudaTransport, ChunksOfEveryLengthAddUpToTheCrc) {
  std::mt19937 random(4);
  for (const Crc kind : {Crc::Crc16, Crc::Crc24A, Crc::Crc24B})
    for (const std::uint32_t bits : {1U, 7U, 24U, 31U, 32U, 33U, 64U, 159U, 1000U, 8448U, 60001U})
      for (const std::uint32_t most : {1U, 2U, 3U, 33U, 128U, 1024U}) {
        const Bytes message = random_bytes(bytes_for(bits), random);
        const CrcChunks how = crc_chunks(kind, bits, most);
        EXPECT_LE(how.chunks, most);
        std::uint32_t sum = 0;
        for (std::uint32_t i = 0; i < how.chunks; ++i)
          sum ^= crc_of_chunk(
              how, i, [&](std::uint32_t n) { return packed_bytes(message.data(), bits, n); });
        EXPECT_EQ(crc_parity(how, sum), crc(kind, message.data(), bits)) << bits << " " << most;
      }
}

}  // namespace
