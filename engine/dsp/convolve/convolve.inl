// Included inside an instruction set's namespace (dsp/simd/*_begin.inl).
#include "base/simd/fft.inl"

namespace {

using Cv = Cx<kLanes>;

// A window of samples, multiplied by the response where they are frequencies. The way back begins
// and ends with re and im exchanged.
template <typename Load, typename Store>
[[gnu::always_inline]] inline void convolve_window(Convolution& c, Load load_at, Store store_at) {
  const FftTables& tables = c.tables(kLanes);
  const auto nothing = [] {};
  float *const there = c.scratch(), *const back = there + 2 * c.size();
  samples_to_rows<kLanes>(tables, there, load_at, nothing);
  const WorkRows<kLanes> rows{there}, made{back}, response{const_cast<float*>(c.response(kLanes))};
  transform_rows<kLanes>(tables, there, rows, rows);
  const std::uint16_t* place = tables.place_of.data();
  const auto product = [=](std::uint32_t v) __attribute__((always_inline)) {
    const Cv x = rows(place[v]), h = response(v);
    const Cv y = times(x, h.re, h.im);
    return Cv{y.im, y.re};
  };
  transform_rows<kLanes>(tables, back, product, made);
  rows_to_samples<kLanes>(tables, back, store_at, nothing);
}

void convolve_pairs(Convolution& c, const float* x, float* y) {
  const std::size_t history = c.history();
  convolve_window(
      c,
      [=](std::size_t n) __attribute__((always_inline)) {
        const Parts both = parts(load(x + 2 * n), load(x + 2 * n + kLanes));
        return Cv{both.re, both.im};
      },
      [=](std::size_t n, Cv made) __attribute__((always_inline)) {
        if (n < history) return;
        float* const to = y + 2 * (n - history);
        store(to, interleaved({made.im, made.re}, 0));
        store(to + kLanes, interleaved({made.im, made.re}, kLanes / 2));
      });
}

// Taps are real, so that two windows do not meet as the parts of one.
void convolve_two(Convolution& c, const float* x, float* y) {
  const std::size_t history = c.history(), apart = c.size() - history;
  convolve_window(
      c,
      [=](std::size_t n) __attribute__((always_inline)) {
        return Cv{load(x + n), load(x + n + apart)};
      },
      [=](std::size_t n, Cv made) __attribute__((always_inline)) {
        if (n < history) return;
        store(y + n - history, made.im);
        store(y + n - history + apart, made.re);
      });
}

// The last window ends with the outputs: some may be computed twice.
void convolve(Convolution& c, const float* x, float* y, std::size_t count) noexcept {
  const std::size_t outputs = c.outputs();
  for (std::size_t done = 0; done < count; done += outputs) {
    const std::size_t n = std::min(done, count - outputs);
    if (c.kind() == FirKind::Real)
      convolve_two(c, x + n, y + n);
    else
      convolve_pairs(c, x + 2 * n, y + 2 * n);
  }
}

}  // namespace

const ConvolveKernels convolve_kernels{.convolve = convolve};
