// LDPC; bits are information. Decoding runs a fixed number of iterations on random ±10 inputs, so
// that every message is busy.
#include "phy/ldpc/ldpc.hpp"

#include <random>

#include "peers/peer.hpp"
#include "support/bench.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;

struct Code {
  LdpcCode code;
  std::uint32_t columns;  // sent
  const char* rate;
};

constexpr Code kDecode[] = {{{1, 384}, 66, "1/3"}, {{1, 384}, 24, "0.92"}, {{1, 104}, 66, "1/3"},
                            {{1, 72}, 66, "1/3"},  {{1, 52}, 66, "1/3"},   {{1, 24}, 66, "1/3"},
                            {{1, 9}, 66, "1/3"},   {{2, 384}, 50, "1/5"},  {{2, 384}, 30, "1/3"},
                            {{2, 104}, 50, "1/5"}, {{2, 72}, 50, "1/5"},   {{2, 52}, 50, "1/5"},
                            {{2, 24}, 50, "1/5"},  {{2, 9}, 50, "1/5"}};
constexpr LdpcCode kEncode[] = {{1, 384}, {1, 104}, {1, 72}, {2, 384}};

std::string label(LdpcCode code) {
  return "BG" + std::to_string(code.base_graph) + " Z=" + std::to_string(code.lifting);
}

struct Measure {
  const bench::Bench& bench;
  Isa isa;
  const LdpcKernels& kernels = ldpc_kernels(isa);
  std::minstd_rand random{1};
  LdpcScratch scratch{};

  // One block, or as many at once as serve the rate.
  void decode(const Code& c, std::uint32_t iterations, std::uint32_t count) {
    DecodeOptions options;
    options.sent = c.columns * c.code.lifting;
    options.max_iterations = iterations;
    options.early_stop = false;
    std::vector<std::vector<std::int8_t>> soft(count, std::vector<std::int8_t>(c.code.length()));
    std::vector<std::vector<std::uint8_t>> info(
        count, std::vector<std::uint8_t>(c.code.info_bits() / 8 + 1));
    std::vector<DecodeBlock> blocks;
    for (std::uint32_t b = 0; b < count; ++b) {
      for (std::uint32_t n = 0; n < options.sent; ++n) soft[b][n] = random() % 2 == 0 ? 10 : -10;
      blocks.push_back({soft[b].data(), info[b].data()});
    }
    const double edges = bench::ldpc_edges(c.code, c.columns, iterations);
    const std::string shape = label(c.code) + " R=" + c.rate;
    const bench::Case of{
        .kernel = "decode " + std::to_string(iterations) + " iterations",
        .shape = shape + (count == 1 ? "" : ", " + std::to_string(count) + " at once"),
        .isa = std::string(to_string(isa)),
        .per = "code block",
        .items = static_cast<double>(count),
        .work = {.int8_ops = bench::kEdgeOperations * edges,
                 .edges = edges,
                 .bits = static_cast<double>(c.code.info_bits())}};
    bench.compare(
        of, [&] { kernels.decode(c.code, blocks, options, scratch); },
        [&] { return bench::recorded(of.kernel, shape); });
  }

  void encode(LdpcCode code) {
    std::vector<std::uint8_t> info(code.info_bits() / 8 + 1), codeword(code.length() / 8 + 1);
    for (auto& byte : info) byte = static_cast<std::uint8_t>(random());
    const bench::Case of{.kernel = "encode",
                         .shape = label(code),
                         .isa = std::string(to_string(isa)),
                         .per = "code block",
                         .work = {.bits = static_cast<double>(code.info_bits())}};
    bench.compare(
        of, [&] { kernels.encode(code, info.data(), codeword.data(), scratch); },
        [&] { return bench::recorded(of.kernel, of.shape); });
  }
};

void run(bench::Bench& bench) {
  for (const Isa isa : bench.isas()) {
    Measure measure{bench, isa};
    for (const Code& c : kDecode)
      for (const std::uint32_t iterations : {5U, 10U}) {
        measure.decode(c, iterations, 1);
        if (const std::uint32_t pack = ldpc_pack(c.code, kMaxPack); pack > 1)
          measure.decode(c, iterations, pack);
      }
    for (const LdpcCode code : kEncode) measure.encode(code);
  }
}

const bench::Group group("phy/ldpc", run);

}  // namespace
