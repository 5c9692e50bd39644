#include "cuda/schedule.hpp"

#include <algorithm>
#include <cstdio>

namespace carillon::bench {
namespace {

double seconds_between(Tick begin, Tick end) {
  return static_cast<double>(end - begin) / static_cast<double>(kSecond);
}

}  // namespace

void measure_in_time(const std::vector<Part>& parts, double seconds,
                     const std::function<void()>& after, const std::function<Tick()>& clock) {
  const Tick begin = clock();
  for (const Part& part : parts) {
    const Tick start = clock();
    const double left = seconds - seconds_between(begin, start);
    if (seconds > 0 && left < part.seconds) {
      std::printf("left out: %s, which may take %.0f s; %.0f are left\n", part.name.c_str(),
                  part.seconds, std::max(left, 0.0));
      std::fflush(stdout);  // nothing is lost if time ends the next part
      continue;
    }
    part.measure();
    after();
    std::printf("%s: %.1f s\n", part.name.c_str(), seconds_between(start, clock()));
    std::fflush(stdout);
  }
}

}  // namespace carillon::bench
