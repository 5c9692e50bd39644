// Parts of a benchmark, of which as many are measured as there is time for.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/tick.hpp"

namespace carillon::bench {

/// What is measured in one go.
struct Part {
  std::string name;
  double seconds;  ///< that it may take
  std::function<void()> measure;
};

/// One after the other; `after` each that was measured. One that may take longer than what is left
/// of `seconds` is left out, which is printed. 0 seconds: as many as it takes.
void measure_in_time(const std::vector<Part>& parts, double seconds,
                     const std::function<void()>& after,
                     const std::function<Tick()>& clock = carillon::now);

}  // namespace carillon::bench
