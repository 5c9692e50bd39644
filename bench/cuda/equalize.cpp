// All data symbols of a frame of 1200 subcarriers, 64QAM, to soft bits.
#include "phy/equalize/cuda.hpp"

#include "cuda/bench.hpp"
#include "cuda/libraries.hpp"
#include "cuda/traffic.hpp"

namespace carillon::bench {
namespace {

using phy::Tile;
using phy::cuda::EqualizeTask;

void measure(GpuBench& bench, const BandShape& of) {
  const Traffic traffic(phy::RunTable::Order::Decoder, of);
  const std::size_t stride = of.antennas + 1, block = of.users * stride;
  const std::size_t received = std::size_t{of.symbols} * kBandTiles * stride;
  const OnDevice<Tile> y(received);
  const OnDevice<phy::HalfTile> half_y(received);
  const OnDevice<Tile> tiles(kBandTiles * block);
  const OnDevice<phy::HalfTile> half_tiles(kBandTiles * block);
  const OnDevice<phy::Complex> scalars(kBandTiles * block);
  const OnDevice<phy::HalfComplex> half_scalars(kBandTiles * block);
  const std::size_t rows = std::size_t{kBandTiles} * of.users;
  const OnDevice<float> scale(std::vector<float>(rows, 1.0F)),
      noise(std::vector<float>(16 * rows, 0.1F));
  const OnDevice<std::int8_t> soft(traffic.bytes());

  EqualizeTask common{};
  common.shape = {of.antennas, of.users, of.antennas + 1};
  common.tiles = kBandTiles;
  common.symbols = of.symbols;
  common.w_tile = block;
  common.y_tile = stride;
  common.y_symbol = stride * kBandTiles;
  common.noise = noise.data();
  common.runs = traffic.runs();
  common.soft = soft.data();

  const double products = double{kBand} * of.symbols * of.users * of.antennas;
  const double entries = double{kBandTiles} * of.users * of.antennas;
  const double y_numbers = double{kBand} * of.symbols * of.antennas;
  const double rest =
      double{kBand} * of.symbols * of.users * kBandBits * 9 / 8 + entries / of.antennas * 64;
  const std::string shape = std::to_string(of.antennas) + "x" + std::to_string(of.users) + "x" +
                            std::to_string(of.symbols);
  const auto time = [&](const char* name, const EqualizeTask& task, const GpuWork& work,
                        const Enqueue& library = {}) {
    bench.time(
        name, shape, work, [&](cuda::Stream stream) { return phy::cuda::equalize(task, stream); },
        "cuBLAS alone", library);
  };

  const OnDevice<std::uint8_t> missing(std::size_t{of.symbols} * of.antennas), altered(of.symbols);
  const OnDevice<std::uint8_t> takes_part(std::vector<std::uint8_t>(of.antennas, 1));
  phy::cuda::LeaveOutTask none{};
  none.of = common;
  none.of.altered.symbols = altered.data();
  none.missing = missing.data();
  none.takes_part = takes_part.data();
  bench.time("leave out none", shape, {.bytes = 1.0 * of.symbols * of.antennas},
             [&](cuda::Stream stream) { return phy::cuda::leave_out(none, stream); });

  EqualizeTask task = common;
  task.half_w_scalars = half_scalars.data();
  task.scale = scale.data();
  task.half_y = half_y.data();
  ProductPeer library(of.users, of.antennas, kBandTiles * of.symbols);
  time("equalize half", task,
       {.bytes = entries * 4 + y_numbers * 4 + rest, .half_flops = 8 * products},
       library.enqueue());
  task.half_w_scalars = nullptr;
  task.half_w_tiles = half_tiles.data();
  time("equalize half, own combiners", task,
       {.bytes = entries * 64 + y_numbers * 4 + rest, .flops = 8 * products});
  task = common;
  task.y = y.data();
  task.w_scalars = scalars.data();
  time("equalize", task, {.bytes = entries * 8 + y_numbers * 8 + rest, .flops = 8 * products},
       library.enqueue());
  task.w_scalars = nullptr;
  task.w_tiles = tiles.data();
  time("equalize, own combiners", task,
       {.bytes = entries * 128 + y_numbers * 8 + rest, .flops = 8 * products});
}

}  // namespace

void measure_equalize(GpuBench& bench) {
  for (const BandShape& shape : kBandShapes) measure(bench, shape);
}

}  // namespace carillon::bench
