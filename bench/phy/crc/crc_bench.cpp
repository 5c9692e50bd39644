// CRC and scrambling sequence, Gb/s of the bits they run over.
#include "phy/crc/crc.hpp"

#include <random>
#include <string>
#include <vector>

#include "phy/crc/measure.hpp"
#include "phy/gold/gold.hpp"

int main(int argc, char** argv) {
  using namespace carillon;
  using namespace carillon::phy;
  bench::Report report(argc, argv);
  std::minstd_rand random(1);
  std::vector<std::uint8_t> bytes(100'000);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
  volatile std::uint32_t sink = 0;
  for (const std::size_t bits : {256U, 2288U, 8424U, 400'000U}) {
    const double ns = bench::best_ns([&] { sink = crc(Crc::Crc24A, bytes.data(), bits); });
    report.add("crc24a", std::to_string(bits) + " bits", "any", static_cast<double>(bits), ns);
  }
  for (const std::size_t bits : {7'200U, 400'000U}) {
    const double ns = bench::best_ns([&] { gold(77, 0, bits, bytes.data()); });
    report.add("gold", std::to_string(bits) + " bits", "any", static_cast<double>(bits), ns);
  }
  const double ns = bench::best_ns([&] { gold_planes(77, 6, 1200, bytes.data(), 1024); });
  report.add("gold_planes", "1200 symbols, 64QAM", "any", 7200, ns);
}
