// The taps of filters, as parameters of blocks.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "dataflow/blocks/type.hpp"

namespace carillon::dataflow {

inline Parameter taps_parameter(std::string text) {
  return {.name = "taps", .text = std::move(text), .kind = ParameterKind::Numbers};
}
inline Parameter decimation_parameter(
    std::string text = "Samples that it takes for one that it makes.") {
  return {.name = "decimation",
          .text = std::move(text),
          .kind = ParameterKind::Whole,
          .standard = 1,
          .least = 1,
          .most = 4096};
}

/// Throws std::invalid_argument of more than `most`.
inline std::vector<float> taps_of(const Values& values, std::size_t most = 8192) {
  const std::vector<double>& given = numbers(values, "taps");
  if (given.size() > most)
    throw std::invalid_argument("taps: at most " + std::to_string(most) + " numbers");
  std::vector<float> taps;
  for (const double tap : given) taps.push_back(static_cast<float>(tap));
  return taps;
}

}  // namespace carillon::dataflow
