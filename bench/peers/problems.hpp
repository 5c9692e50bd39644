// What peers are given to do: the same shapes as our kernels, in the layout that libraries want.
// Matrices lie column by column. Each problem can tell how far a result is from what it must be.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <new>
#include <numbers>
#include <random>
#include <vector>

namespace carillon::bench {

/// Memory that begins on a cache line, as every library likes it best.
template <typename T>
struct CacheLines {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{64};

  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kAlignment)); }
  void deallocate(T* p, std::size_t) noexcept { ::operator delete(p, kAlignment); }
  friend bool operator==(CacheLines, CacheLines) { return true; }
};

using Value = std::complex<float>;
using Values = std::vector<Value, CacheLines<Value>>;

inline Values random_values(std::size_t count) {
  std::minstd_rand random(1);
  Values values(count);
  const auto uniform = [&] { return static_cast<float>(random() % 2000) / 1000 - 1; };
  for (auto& value : values) value = {uniform(), uniform()};
  return values;
}

/// `count` transforms of `size` values, one after the other in memory.
struct Fft {
  Fft(std::uint32_t size_, std::uint32_t count_, bool inverse_)
      : size(size_),
        count(count_),
        inverse(inverse_),
        in(random_values(std::size_t{size} * count)),
        out(in.size()) {}

  std::uint32_t size, count;
  bool inverse;
  Values in, out;

  double items() const { return count; }
  /// Of the last transform's bin 3, relative to the whole's norm; up to the result's scale.
  double error() const {
    const std::size_t first = in.size() - size;
    std::complex<double> sum;
    double norm = 0;
    for (std::uint32_t n = 0; n < size; ++n) {
      const double turn = (inverse ? 2 : -2) * std::numbers::pi * 3 * n / size;
      sum += std::complex<double>(in[first + n]) * std::polar(1.0, turn);
      norm += static_cast<double>(std::norm(in[first + n]));
    }
    return std::abs(sum - std::complex<double>(out[first + 3])) / std::sqrt(norm);
  }
};

/// W = (HᴴH)⁻¹Hᴴ of `count` subcarriers: h is M×K each, w is K×M.
struct ZeroForce {
  ZeroForce(std::uint32_t antennas_, std::uint32_t users_, std::uint32_t count_)
      : antennas(antennas_),
        users(users_),
        count(count_),
        h(random_values(block() * count)),
        w(h.size()) {}

  std::uint32_t antennas, users, count;
  Values h, w;

  std::size_t block() const { return std::size_t{antennas} * users; }
  double items() const { return count; }
  /// The largest element of WH - I, of the last subcarrier.
  double error() const {
    const Value* last_w = &w[block() * (count - 1)];
    const Value* last_h = &h[block() * (count - 1)];
    double most = 0;
    for (std::uint32_t i = 0; i < users; ++i)
      for (std::uint32_t j = 0; j < users; ++j) {
        std::complex<double> sum = i == j ? -1 : 0;
        for (std::uint32_t m = 0; m < antennas; ++m)
          sum += std::complex<double>(last_w[std::size_t{m} * users + i]) *
                 std::complex<double>(last_h[std::size_t{j} * antennas + m]);
        most = std::max(most, std::abs(sum));
      }
    return most;
  }
};

/// c = a·b, `count` times: a is rows×inner, b is inner×columns.
struct Product {
  Product(std::uint32_t rows_, std::uint32_t inner_, std::uint32_t columns_, std::uint32_t count_)
      : rows(rows_),
        inner(inner_),
        columns(columns_),
        count(count_),
        a(random_values(std::size_t{rows} * inner * count)),
        b(random_values(std::size_t{inner} * columns * count)),
        c(std::size_t{rows} * columns * count) {}

  std::uint32_t rows, inner, columns, count;
  Values a, b, c;

  const Value* a_of(std::uint32_t i) const { return &a[std::size_t{rows} * inner * i]; }
  const Value* b_of(std::uint32_t i) const { return &b[std::size_t{inner} * columns * i]; }
  Value* c_of(std::uint32_t i) { return &c[std::size_t{rows} * columns * i]; }

  double items() const { return 1; }
  /// Of the last element of the last product, relative to a typical one.
  double error() const {
    std::complex<double> sum;
    const Value* last_a = a_of(count - 1);
    const Value* last_b = b_of(count - 1) + std::size_t{inner} * (columns - 1);
    for (std::uint32_t i = 0; i < inner; ++i)
      sum += std::complex<double>(last_a[std::size_t{i} * rows + rows - 1]) *
             std::complex<double>(last_b[i]);
    return std::abs(sum - std::complex<double>(c.back())) / std::sqrt(inner);
  }
};

}  // namespace carillon::bench
