// CRC and scrambling sequence; bits are those they run over.
#include "phy/crc/crc.hpp"

#include <random>

#include "phy/gold/gold.hpp"
#include "support/bench.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;

void run(bench::Bench& bench) {
  std::minstd_rand random(1);
  std::vector<std::uint8_t> bytes(100'000);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
  volatile std::uint32_t sink = 0;
  const auto time = [&](const char* kernel, std::size_t bits, auto&& call) {
    bench.time({.kernel = kernel,
                .shape = std::to_string(bits) + " bits",
                .work = {.bits = static_cast<double>(bits)}},
               call);
  };
  for (const std::size_t bits : {256U, 2288U, 8424U, 400'000U})
    time("crc24a", bits, [&] { sink = crc(Crc::Crc24A, bytes.data(), bits); });
  for (const std::size_t bits : {7'200U, 400'000U})
    time("gold", bits, [&] { gold(77, 0, bits, bytes.data()); });
  time("gold planes", 7'200, [&] { gold_planes(77, 6, 1200, bytes.data(), 1024); });
}

const bench::Group group("phy/crc", run);

}  // namespace
