// What the benchmarks of the coding chain share: the fastest of several rounds, printed as a table
// or, with --json, as a list.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace carillon::bench {

/// Nanoseconds of one call, each round long enough for the clock.
template <typename Work>
double best_ns(Work&& work, int calls_per_round = 20) {
  double best = 1e30;
  for (int round = 0; round < 200; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int call = 0; call < calls_per_round; ++call) work();
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    best = std::min(best, spent.count() / calls_per_round);
  }
  return best;
}

class Report {
 public:
  Report(int argc, char** argv) : json_(argc > 1 && std::strcmp(argv[1], "--json") == 0) {}
  ~Report() {
    if (json_) std::printf("]\n");
  }
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  /// `bits` were handled in `ns`.
  void add(std::string_view kernel, std::string_view what, std::string_view isa, double bits,
           double ns) {
    const auto text = [](std::string_view s) { return static_cast<int>(s.size()); };
    if (json_)
      std::printf(
          "%s{\"kernel\": \"%.*s\", \"case\": \"%.*s\", \"isa\": \"%.*s\", \"ns\": %.2f, "
          "\"gbps\": %.3f}",
          separator_, text(kernel), kernel.data(), text(what), what.data(), text(isa), isa.data(),
          ns, bits / ns);
    else
      std::printf("%-14.*s %-22.*s %-10.*s %10.1f ns %8.2f Gb/s\n", text(kernel), kernel.data(),
                  text(what), what.data(), text(isa), isa.data(), ns, bits / ns);
    separator_ = ",\n ";
  }

 private:
  bool json_;
  const char* separator_ = "[";
};

}  // namespace carillon::bench
