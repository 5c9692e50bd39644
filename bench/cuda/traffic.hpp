// Users that all send 64QAM over the whole band: one transport block each in the data symbols of a
// frame, at rate 1/3.
#pragma once

#include <cstdint>
#include <random>
#include <variant>
#include <vector>

#include "cuda/bench.hpp"
#include "phy/transport/runs.hpp"

namespace carillon::bench {

struct BandShape {
  std::uint32_t antennas, users, symbols;
};
inline constexpr BandShape kBandShapes[] = {
    {64, 16, 13}, {128, 32, 12}, {128, 64, 10}, {256, 128, 6}};
inline constexpr std::uint32_t kBand = 1200, kBandTiles = 75, kBandBits = 6;

class Traffic {
 public:
  Traffic(phy::RunTable::Order order, const BandShape& shape) : table_(table(order, shape)) {}

  phy::Runs runs() const { return {runs_.data(), first_.data(), places_.data(), signs_.data()}; }
  /// Of soft bits, or room enough for coded ones.
  std::size_t bytes() const { return bytes_; }

 private:
  phy::RunTable table(phy::RunTable::Order order, const BandShape& shape) {
    phy::Coding coding;
    coding.modulation = phy::Modulation::Qam64;
    const auto made = phy::TransportPlan::make(coding, kBand * shape.symbols);
    const auto& plan = std::get<phy::TransportPlan>(made);
    std::vector<std::vector<std::size_t>> buffers(shape.users);
    for (auto& of_user : buffers)
      for (std::size_t r = 0; r < plan.blocks().size(); ++r, bytes_ += plan.soft_bytes())
        of_user.push_back(bytes_);
    phy::RunTable table(order);
    std::uint32_t signs = 0;
    for (std::uint32_t s = 0; s < shape.symbols; ++s)
      for (std::uint32_t u = 0; u < shape.users; ++u, signs += kBandBits * kBandTiles)
        table.add({&plan, 0, kBand, kBand * s, signs, buffers[u]});
    return table;
  }
  static std::vector<std::uint16_t> random_signs(std::size_t count) {
    std::mt19937 random(1);
    std::vector<std::uint16_t> signs(count);
    for (auto& word : signs) word = static_cast<std::uint16_t>(random());
    return signs;
  }

  std::size_t bytes_ = 0;
  phy::RunTable table_;
  OnDevice<phy::Run> runs_{table_.runs()};
  OnDevice<std::uint32_t> first_{table_.first()};
  OnDevice<phy::Places> places_{table_.places()};
  OnDevice<std::uint16_t> signs_{
      random_signs((table_.first().size() - 1) * kBandBits * kBandTiles)};
};

}  // namespace carillon::bench
