// The Cta of simt.hpp on the host, for kernels that have no other form there: the threads of a
// phase one after the other, nothing of a warp.
#pragma once

#include <cstdint>
#include <vector>

#include "phy/simt/simt.hpp"

namespace carillon::phy::simt {

class SerialCta {
 public:
  explicit SerialCta(const Launch& launch)
      : launch_(launch), shared_(launch.shared_bytes / 16 + 1) {}

  std::uint32_t x() const { return x_; }
  std::uint32_t threads() const { return launch_.threads; }
  template <typename T>
  T* shared(std::uint32_t offset = 0) {
    return reinterpret_cast<T*>(reinterpret_cast<unsigned char*>(shared_.data()) + offset);
  }
  template <typename F>
  void each(std::uint32_t n, F&& f) const {
    for (std::uint32_t i = 0; i < n; ++i) f(i);
  }
  template <typename F>
  void each_thread(F&& f) const {
    each(launch_.threads, f);
  }
  template <typename T>
  static void add(T* to, T value) {
    *to += value;
  }

  /// body(cta) for each block of a launch of one dimension.
  template <typename Body>
  static void run(const Launch& launch, Body&& body) {
    SerialCta cta(launch);
    for (cta.x_ = 0; cta.x_ < launch.x; ++cta.x_) body(cta);
  }

 private:
  struct alignas(16) Line {
    unsigned char bytes[16];
  };
  Launch launch_;
  std::uint32_t x_ = 0;
  std::vector<Line> shared_;
};

}  // namespace carillon::phy::simt
