// The sender's bit chain without modulation: CRC and segmentation, LDPC encoding, bit selection;
// and the receiver's reassembly. A transport block of 12 code blocks, 64QAM; bits are payload.
#include "phy/transport/transport.hpp"

#include <random>

#include "support/bench.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;

void run(bench::Bench& bench) {
  const auto made = TransportPlan::make({.modulation = Modulation::Qam64, .rate = 0.6}, 14 * 2000);
  const auto& plan = std::get<TransportPlan>(made);
  std::minstd_rand random(1);
  std::vector<std::uint8_t> payload(plan.A() / 8 + 8);
  for (auto& byte : payload) byte = static_cast<std::uint8_t>(random());
  const std::size_t stride = (plan.K() + 7) / 8;
  std::vector<std::uint8_t> infos(stride * plan.C() + 8), codeword(plan.N() / 8 + 64),
      e(plan.blocks().back().E / 8 + 1 + kCodedPadding);

  const auto time = [&](const char* kernel, std::string_view isa, auto&& call) {
    bench.time({.kernel = kernel,
                .shape = "64QAM R=0.6",
                .isa = std::string(isa),
                .per = "block",
                .work = {.bits = static_cast<double>(plan.A())}},
               call);
  };
  const auto segment_all = [&] {
    const std::uint32_t parity = transport_parity(plan, payload.data());
    for (std::uint32_t r = 0; r < plan.C(); ++r)
      segment(plan, payload.data(), parity, r, infos.data() + r * stride);
  };
  time("segment", "any", segment_all);
  time("select bits", "any", [&] {
    for (const CodeBlock& block : plan.blocks()) select_bits(block.map, codeword.data(), e.data());
  });
  time("desegment", "any", [&] { desegment(plan, infos.data(), stride, payload.data()); });
  LdpcScratch scratch;
  for (const Isa isa : bench.isas())
    time("encode chain", to_string(isa), [&] {
      segment_all();
      for (std::uint32_t r = 0; r < plan.C(); ++r) {
        ldpc_kernels(isa).encode(plan.code(), infos.data() + r * stride, codeword.data(), scratch);
        select_bits(plan.blocks()[r].map, codeword.data(), e.data());
      }
    });
}

const bench::Group group("phy/transport", run);

}  // namespace
