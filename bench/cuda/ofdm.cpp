// Received and sent symbols of 2048 points, 1200 subcarriers.
#include <cmath>
#include <random>

#include "cuda/bench.hpp"
#include "cuda/libraries.hpp"
#include "phy/ofdm/cuda.hpp"

namespace carillon::bench {

using phy::OfdmPlan;
using phy::Tile;

void measure_ofdm(GpuBench& bench) {
  constexpr std::uint32_t kSize = 2048, kSymbols = 14;
  const OfdmPlan plan({kSize, 1200, false});
  const OnDevice<phy::Complex> roots(phy::cuda::fft_roots(kSize));
  for (const std::uint32_t antennas : {64U, 128U, 256U}) {
    std::mt19937 random(1);
    std::vector<std::int16_t> noise(std::size_t{2} * kSize * antennas * kSymbols);
    for (auto& each : noise) each = static_cast<std::int16_t>(random() % 8192);
    const OnDevice<std::int16_t> iq(noise);
    const std::size_t count = std::size_t{plan.tiles()} * antennas * kSymbols;
    const OnDevice<Tile> tiles(count);
    const OnDevice<phy::HalfTile> half(count);
    const OnDevice<float> gain(std::vector<float>{1});
    const OnDevice<std::uint32_t> saturated(std::size_t{antennas} * kSymbols);

    phy::cuda::ReceiveTask in{};
    in.plan = phy::cuda::view(plan, roots.data());
    in.antennas = antennas;
    in.symbols = kSymbols;
    in.iq = iq.data();
    in.iq_antenna = kSize;
    in.iq_symbol = std::size_t{kSize} * antennas;
    in.half = half.data();
    in.symbol_stride = std::size_t{plan.tiles()} * antennas;
    in.antenna_stride = 1;
    in.tile_stride = antennas;
    const double transforms = double{kSymbols} * antennas;
    const double flops = transforms * 5 * kSize * std::log2(kSize);
    const double samples = transforms * kSize * 4;
    const std::string shape = std::to_string(antennas) + "x14";
    FftPeer library(kSize, antennas * kSymbols);
    bench.time(
        "receive half", shape, {.bytes = samples + transforms * 1200 * 4, .flops = flops},
        [&](cuda::Stream stream) { return phy::cuda::receive(in, stream); }, "cuFFT alone",
        library.enqueue());
    in.half = nullptr;
    in.tiles = tiles.data();
    bench.time("receive", shape, {.bytes = samples + transforms * 1200 * 8, .flops = flops},
               [&](cuda::Stream stream) { return phy::cuda::receive(in, stream); });

    phy::cuda::TransmitTask out{};
    out.plan = in.plan;
    out.antennas = antennas;
    out.symbols = kSymbols;
    out.tiles = tiles.data();
    out.symbol_stride = in.symbol_stride;
    out.antenna_stride = in.antenna_stride;
    out.tile_stride = in.tile_stride;
    out.gain = gain.data();
    out.iq = iq.data();
    out.iq_antenna = in.iq_antenna;
    out.iq_symbol = in.iq_symbol;
    out.saturated = saturated.data();
    bench.time("transmit", shape, {.bytes = samples + transforms * 1200 * 8, .flops = flops},
               [&](cuda::Stream stream) { return phy::cuda::transmit(out, stream); });
  }
}

}  // namespace carillon::bench
