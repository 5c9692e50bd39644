// Received and sent symbols of 2048 points, 1200 subcarriers.
#include <cmath>
#include <random>

#include "cuda/bench.hpp"
#include "cuda/libraries.hpp"
#include "phy/ofdm/cuda.hpp"

namespace carillon::bench {

using phy::OfdmPlan;
using phy::Tile;

// A symbol's samples from packets that lie apart, as a transport's buffers do. Beside it the copy
// engine, to which all of one symbol would have to lie together.
void measure_gather(GpuBench& bench) {
  constexpr std::uint32_t kSamples = 2048, kPrefix = 144, kHeader = 64;
  constexpr std::size_t kBuffer = 9216;
  for (const std::uint32_t antennas : {64U, 128U, 256U}) {
    const cuda::HostMemory buffers(2 * antennas * kBuffer);
    const cuda::HostMemory places(antennas * sizeof(void*));
    require(buffers.status());
    require(places.status());
    auto* const packets = reinterpret_cast<const std::int16_t**>(places.data());
    for (std::uint32_t a = 0; a < antennas; ++a)  // 7: in no order, since packets come in none
      packets[a] = reinterpret_cast<const std::int16_t*>(
          buffers.data() + 2 * std::size_t{7 * a % antennas} * kBuffer + kHeader);
    const OnDevice<std::int16_t> iq(std::size_t{2} * kSamples * antennas);
    const OnDevice<std::uint8_t> missing(antennas);
    const phy::cuda::GatherTask task{antennas,  kPrefix,  kSamples,      packets,
                                     iq.data(), kSamples, missing.data()};
    const std::size_t bytes = std::size_t{4} * kSamples * antennas;
    bench.time(
        "gather", std::to_string(antennas), {.bus_bytes = static_cast<double>(bytes)},
        [&](cuda::Stream stream) { return phy::cuda::gather(task, stream); }, "one copy",
        [&](cuda::Stream stream) {
          return cuda::Status(
              cudaMemcpyAsync(iq.data(), buffers.data(), bytes, cudaMemcpyHostToDevice, stream));
        });
  }
}

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
