// The Cta of phy/simt/simt.hpp on the host: the threads of a phase one after the other. Built with
// ThreadSanitizer, three threads of the host share a phase, so that it tells of races that no order
// shows.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include "phy/simt/simt.hpp"
#include "support/side_by_side.hpp"

namespace carillon::test {

/// In which order the threads of a phase run: a result that depends on it is a race.
enum class Order : std::uint8_t { Rising, Falling };

class EmulatedCta {
 public:
  template <typename T>
  class Own {
   public:
    explicit Own(const EmulatedCta& cta) : values_(cta.threads()) {}
    T& operator[](std::uint32_t thread) { return values_[thread]; }

   private:
    std::vector<T> values_;
  };

  class Product {
   public:
    void add(const std::uint16_t* a, std::uint32_t a_stride, const std::uint16_t* b,
             std::uint32_t b_stride) {
      for (std::uint32_t row = 0; row < 16; ++row)
        for (std::uint32_t column = 0; column < 16; ++column)
          for (std::uint32_t k = 0; k < 16; ++k)
            sum_[row][column] += phy::simt::from_half(a[row * a_stride + k]) *
                                 phy::simt::from_half(b[k * b_stride + column]);
    }
    void store(float* to, std::uint32_t stride) const {
      for (std::uint32_t row = 0; row < 16; ++row)
        for (std::uint32_t column = 0; column < 16; ++column)
          to[row * stride + column] = sum_[row][column];
    }

   private:
    float sum_[16][16] = {};
  };

  EmulatedCta(const phy::simt::Launch& launch, Order order)
      : launch_(launch), order_(order), shared_(launch.shared_bytes) {}

  /// As at the start of a block, when nobody knows what is in its shared memory.
  void begin(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
    x_ = x;
    y_ = y;
    z_ = z;
    if (!shared_.empty()) std::memset(shared_.data(), 0xcd, shared_.size());
  }

  std::uint32_t x() const { return x_; }
  std::uint32_t y() const { return y_; }
  std::uint32_t z() const { return z_; }
  std::uint32_t threads() const { return launch_.threads; }
  template <typename T>
  T* shared(std::uint32_t offset = 0) {
    return reinterpret_cast<T*>(shared_.data() + offset);
  }

  template <typename F>
  void each(std::uint32_t n, F&& f) {
#ifdef __SANITIZE_THREAD__
    const auto part = [&](std::uint32_t first) {
      for (std::uint32_t i = first; i < n; i += SideBySide::kThreads) f(i);
    };
    if (n < 2) return part(0);
    SideBySide::here().run(part);
#else
    for (std::uint32_t i = 0; i < n; ++i) f(order_ == Order::Rising ? i : n - 1 - i);
#endif
  }
  template <typename F>
  void each_thread(F&& f) {
    each(threads(), f);
  }
  template <typename F>
  void each_warp(F&& f) {
    each(threads() / phy::simt::kWarp, f);
  }
  // A team does all of its phase before the next begins: on a GPU only its own threads wait for
  // each other.
  template <std::uint32_t kTeam>
  class Team {
   public:
    Team(std::uint32_t first, Order order) : first_(first), order_(order) {}
    std::uint32_t first() const { return first_; }
    template <typename Part, typename Read, typename Write>
    void together(Read&& read, Write&& write) const {
      Part parts[kTeam];
      for_each([&](std::uint32_t i) { read(first_ + i, parts[i]); });
      auto common = parts[0].common;
      for (std::uint32_t i = 1; i < kTeam; ++i) common.merge(parts[i].common);
      for (Part& part : parts) part.common = common;
      for_each([&](std::uint32_t i) { write(first_ + i, parts[i]); });
    }

   private:
    template <typename F>
    void for_each(F&& f) const {
      for (std::uint32_t i = 0; i < kTeam; ++i) f(order_ == Order::Rising ? i : kTeam - 1 - i);
    }
    std::uint32_t first_;
    Order order_;
  };
  template <std::uint32_t kTeam, typename F>
  void each_team(F&& f) {
    each(threads() / kTeam, [&](std::uint32_t team) { f(Team<kTeam>(team * kTeam, order_)); });
  }
  template <typename T>
  static void add(T* to, T value) {
    std::atomic_ref<T>(*to).fetch_add(value, std::memory_order_relaxed);
  }

  template <std::uint32_t kDown, std::uint32_t kAcross>
  class Products {
   public:
    void add(const std::uint16_t* a, std::uint32_t a_stride, const std::uint16_t* b,
             std::uint32_t b_stride) {
      float left[16], right[16][16 * kAcross];
      for (std::uint32_t k = 0; k < 16; ++k)
        for (std::uint32_t column = 0; column < 16 * kAcross; ++column)
          right[k][column] = phy::simt::from_half(b[k * b_stride + column]);
      for (std::uint32_t row = 0; row < 16 * kDown; ++row) {
        for (std::uint32_t k = 0; k < 16; ++k)
          left[k] = phy::simt::from_half(a[row * a_stride + k]);
        for (std::uint32_t k = 0; k < 16; ++k)
          for (std::uint32_t column = 0; column < 16 * kAcross; ++column)
            sums_[row][column] += left[k] * right[k][column];
      }
    }
    template <typename Where>
    void store(Where&& where, std::uint32_t stride, float factor = 1) {
      for (std::uint32_t i = 0; i < kDown; ++i) {
        float* const to = where(i);
        if (to == nullptr) continue;
        for (std::uint32_t row = 0; row < 16; ++row)
          for (std::uint32_t column = 0; column < 16 * kAcross; ++column)
            to[row * stride + column] = factor * sums_[16 * i + row][column];
      }
    }

   private:
    float sums_[16 * kDown][16 * kAcross] = {};
  };

 private:
  phy::simt::Launch launch_;
  Order order_;
  std::uint32_t x_ = 0, y_ = 0, z_ = 0;
  std::vector<unsigned char> shared_;
};

/// Runs body(cta) for all blocks of a launch.
template <typename Body>
void emulate(const phy::simt::Launch& launch, Order order, Body&& body) {
  EmulatedCta cta(launch, order);
  for (std::uint32_t z = 0; z < launch.z; ++z)
    for (std::uint32_t y = 0; y < launch.y; ++y)
      for (std::uint32_t x = 0; x < launch.x; ++x) {
        cta.begin(x, y, z);
        body(cta);
      }
}

}  // namespace carillon::test
