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
                            {{2, 384}, 50, "1/5"}, {{2, 384}, 30, "1/3"}};
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

  void decode(const Code& c, std::uint32_t iterations) {
    DecodeOptions options;
    options.sent = c.columns * c.code.lifting;
    options.max_iterations = iterations;
    options.early_stop = false;
    std::vector<std::int8_t> soft(c.code.length());
    for (std::uint32_t n = 0; n < options.sent; ++n) soft[n] = random() % 2 == 0 ? 10 : -10;
    std::vector<std::uint8_t> info(c.code.info_bits() / 8 + 1);
    const double edges = bench::ldpc_edges(c.code, c.columns, iterations);
    const bench::Case of{.kernel = "decode " + std::to_string(iterations) + " iterations",
                         .shape = label(c.code) + " R=" + c.rate,
                         .isa = std::string(to_string(isa)),
                         .per = "code block",
                         .work = {.int8_ops = bench::kEdgeOperations * edges,
                                  .edges = edges,
                                  .bits = static_cast<double>(c.code.info_bits())}};
    bench.compare(
        of, [&] { kernels.decode(c.code, soft.data(), options, info.data(), scratch); },
        [&] { return bench::recorded(of.kernel, of.shape); });
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
      for (const std::uint32_t iterations : {5U, 10U}) measure.decode(c, iterations);
    for (const LdpcCode code : kEncode) measure.encode(code);
  }
}

const bench::Group group("phy/ldpc", run);

}  // namespace
