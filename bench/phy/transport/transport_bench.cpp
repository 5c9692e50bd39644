// The sender's bit chain without modulation: CRC and segmentation, LDPC encoding, bit selection,
// Gb/s of payload; and the receiver's reassembly. A transport block of 12 code blocks, 64QAM.
#include "phy/transport/transport.hpp"

#include <random>
#include <vector>

#include "phy/crc/measure.hpp"

int main(int argc, char** argv) {
  using namespace carillon;
  using namespace carillon::phy;
  bench::Report report(argc, argv);
  const auto made = TransportPlan::make({.modulation = Modulation::Qam64, .rate = 0.6}, 14 * 2000);
  const auto& plan = std::get<TransportPlan>(made);
  std::minstd_rand random(1);
  std::vector<std::uint8_t> payload(plan.A() / 8 + 8);
  for (auto& byte : payload) byte = static_cast<std::uint8_t>(random());
  const std::size_t stride = (plan.K() + 7) / 8;
  std::vector<std::uint8_t> infos(stride * plan.C() + 8), codeword(plan.N() / 8 + 64),
      e(plan.blocks().back().E / 8 + 1 + kCodedPadding);
  const double bits = plan.A();

  const auto segment_all = [&] {
    const std::uint32_t parity = transport_parity(plan, payload.data());
    for (std::uint32_t r = 0; r < plan.C(); ++r)
      segment(plan, payload.data(), parity, r, infos.data() + r * stride);
  };
  const auto select_all = [&] {
    for (const CodeBlock& block : plan.blocks()) select_bits(block.map, codeword.data(), e.data());
  };
  report.add("segment", "64QAM R=0.6", "any", bits, bench::best_ns(segment_all));
  report.add("select_bits", "64QAM R=0.6", "any", bits, bench::best_ns(select_all));
  report.add("desegment", "64QAM R=0.6", "any", bits,
             bench::best_ns([&] { desegment(plan, infos.data(), stride, payload.data()); }));
  LdpcScratch scratch;
  for (const Isa isa : available_isas()) {
    const double ns = bench::best_ns([&] {
      segment_all();
      for (std::uint32_t r = 0; r < plan.C(); ++r) {
        ldpc_kernels(isa).encode(plan.code(), infos.data() + r * stride, codeword.data(), scratch);
        select_bits(plan.blocks()[r].map, codeword.data(), e.data());
      }
    });
    report.add("encode_chain", "64QAM R=0.6", to_string(isa), bits, ns);
  }
}
