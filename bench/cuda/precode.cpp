// All data symbols of a frame of 1200 subcarriers, 64QAM, from coded bits to antennas' tiles.
#include "phy/precode/cuda.hpp"

#include "cuda/bench.hpp"
#include "cuda/libraries.hpp"
#include "cuda/traffic.hpp"

namespace carillon::bench {
namespace {

using phy::Tile;
using phy::cuda::PrecodeTask;

void measure(GpuBench& bench, const BandShape& of) {
  const Traffic traffic(phy::RunTable::Order::Sent, of);
  const std::size_t stride = of.antennas + 1, block = of.users * stride;
  const OnDevice<Tile> x(std::size_t{of.symbols} * kBandTiles * stride);
  const OnDevice<Tile> tiles(kBandTiles * block);
  const OnDevice<phy::Complex> scalars(kBandTiles * block);
  const OnDevice<phy::HalfComplex> half_scalars(kBandTiles * block);
  const OnDevice<float> scale(std::vector<float>(std::size_t{kBandTiles} * of.users, 1.0F));
  const OnDevice<std::uint8_t> coded(traffic.bytes());

  PrecodeTask common{};
  common.shape = {of.antennas, of.users, of.antennas + 1};
  common.tiles = kBandTiles;
  common.symbols = of.symbols;
  common.w_tile = block;
  common.runs = traffic.runs();
  common.coded = coded.data();
  common.x = x.data();
  common.x_tile = stride;
  common.x_symbol = stride * kBandTiles;

  const double products = double{kBand} * of.symbols * of.users * of.antennas;
  const double entries = double{kBandTiles} * of.users * of.antennas;
  const double rest = double{kBand} * of.symbols * (of.antennas * 8.0 + of.users * kBandBits / 4.0);
  const std::string shape = std::to_string(of.antennas) + "x" + std::to_string(of.users) + "x" +
                            std::to_string(of.symbols);
  const auto time = [&](const char* name, const PrecodeTask& task, const GpuWork& work,
                        const Enqueue& library = {}) {
    bench.time(
        name, shape, work, [&](cuda::Stream stream) { return phy::cuda::precode(task, stream); },
        "cuBLAS alone", library);
  };

  ProductPeer library(of.antennas, of.users, kBandTiles * of.symbols);
  PrecodeTask task = common;
  task.half_w_scalars = half_scalars.data();
  task.scale = scale.data();
  time("precode half", task, {.bytes = entries * 4 + rest, .half_flops = 8 * products},
       library.enqueue());
  task = common;
  task.w_scalars = scalars.data();
  time("precode", task, {.bytes = entries * 8 + rest, .flops = 8 * products}, library.enqueue());
  task.w_scalars = nullptr;
  task.w_tiles = tiles.data();
  time("precode, own precoders", task, {.bytes = entries * 128 + rest, .flops = 8 * products});
}

}  // namespace

void measure_precode(GpuBench& bench) {
  for (const BandShape& shape : kBandShapes) measure(bench, shape);
}

}  // namespace carillon::bench
