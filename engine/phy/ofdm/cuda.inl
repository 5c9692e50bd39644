// Fourier transforms of a block's antennas by Stockham's algorithm: each thread has eight points of
// one of them in registers, and between radix-8 steps (the last may be 4 or 2) they meet in shared
// memory. Reading samples and picking subcarriers are part of the first and the last step.
#pragma once

#include <cmath>
#include <type_traits>

#include "phy/ofdm/cuda.hpp"

namespace carillon::phy::cuda {

using simt::operator+;
using simt::operator-;
using simt::operator*;

inline constexpr std::uint32_t kPoints = 8;  // of a thread

struct Points {
  Complex at[kPoints];
};

/// A root, and a sample: one access reads it.
struct alignas(8) Root {
  float re, im;
};
struct alignas(4) Sample {
  std::int16_t i, q;
};

/// As many as make four warps.
CARILLON_BOTH constexpr std::uint32_t transforms_per_block(std::uint32_t fft_size) {
  const std::uint32_t threads = fft_size / kPoints;
  return threads < 128 ? 128 / threads : 1;
}
CARILLON_BOTH constexpr std::uint32_t threads_per_block(std::uint32_t fft_size) {
  return transforms_per_block(fft_size) * (fft_size / kPoints);
}

/// Places for so many points, and the place of one: what a radix-8 step writes eight apart lies
/// nine apart, in different banks. padded(a + b) = padded(a) + padded(b) where 8 divides b, so that
/// a constant b costs nothing.
CARILLON_BOTH constexpr std::uint32_t padded(std::uint32_t points) { return points + points / 8; }

/// The radix of the step that follows those of `done` points.
CARILLON_BOTH constexpr std::uint32_t radix_after(std::uint32_t fft_size, std::uint32_t done) {
  return fft_size / done < 8 ? fft_size / done : 8;
}

/// Where used subcarrier k is among the bins.
template <std::uint32_t kSize>
CARILLON_BOTH constexpr std::uint32_t bin_of(const OfdmView& plan, std::uint32_t k) {
  const std::uint32_t below = plan.subcarriers / 2;
  const std::uint32_t hole = plan.dc_hole && k >= below ? 1 : 0;
  return (k + kSize - below + hole) & (kSize - 1);
}

/// The used subcarrier at a bin; plan.subcarriers or more: there is none.
template <std::uint32_t kSize>
CARILLON_BOTH constexpr std::uint32_t subcarrier_at(const OfdmView& plan, std::uint32_t bin) {
  const std::uint32_t below = plan.subcarriers / 2;
  const std::uint32_t place = (bin + below) & (kSize - 1);
  if (!plan.dc_hole || place < below) return place;
  return place == below ? plan.subcarriers : place - 1;
}

/// +1: exp(-j…), the forward transform; -1: the inverse.
template <int kSign>
CARILLON_GPU Complex quarter_turn(Complex a) {
  return kSign > 0 ? Complex{a.im, -a.re} : Complex{-a.im, a.re};
}

CARILLON_GPU inline void dft2(Complex& a, Complex& b) {
  const Complex sum = a + b;
  b = a - b;
  a = sum;
}

template <int kSign>
CARILLON_GPU void dft4(Complex& a, Complex& b, Complex& c, Complex& d) {
  dft2(a, c);
  dft2(b, d);
  d = quarter_turn<kSign>(d);
  dft2(a, b);
  dft2(c, d);
  const Complex second = c;
  c = b;
  b = second;
}

template <int kSign>
CARILLON_GPU void dft8(Complex* x) {
  constexpr float kHalfRoot = 0.70710678118654752F;
  dft4<kSign>(x[0], x[2], x[4], x[6]);
  dft4<kSign>(x[1], x[3], x[5], x[7]);
  const Complex turned3 = quarter_turn<kSign>(x[3]), turned7 = quarter_turn<kSign>(x[7]);
  x[3] = kHalfRoot * (x[3] + turned3);
  x[5] = quarter_turn<kSign>(x[5]);
  x[7] = kHalfRoot * (turned7 - x[7]);
  const Complex even[4] = {x[0], x[2], x[4], x[6]}, odd[4] = {x[1], x[3], x[5], x[7]};
  for (std::uint32_t i = 0; i < 4; ++i) {
    x[i] = even[i] + odd[i];
    x[i + 4] = even[i] - odd[i];
  }
}

/// One thread's part of a step: kPoints / radix butterflies. kDone: the product of the radices of
/// the steps before.
template <int kSign, std::uint32_t kSize, std::uint32_t kDone>
CARILLON_GPU void butterflies(const Complex* roots, std::uint32_t thread, Complex* x) {
  constexpr std::uint32_t kRadix = radix_after(kSize, kDone);
  for (std::uint32_t b = 0; b < kPoints / kRadix; ++b) {
    Complex* const own = x + b * kRadix;
    if constexpr (kDone != 1) {  // the first step's roots are all 1
      const std::uint32_t k = (thread + b * (kSize / kPoints)) & (kDone - 1);
      for (std::uint32_t i = 1; i < kRadix; ++i) {
        const Root root = reinterpret_cast<const Root*>(roots)[i * kDone + k];
        own[i] = own[i] * Complex{root.re, kSign < 0 ? -root.im : root.im};
      }
    }
    if constexpr (kRadix == 8) {
      dft8<kSign>(own);
    } else if constexpr (kRadix == 4) {
      dft4<kSign>(own[0], own[1], own[2], own[3]);
    } else {
      dft2(own[0], own[1]);
    }
  }
}

/// How far behind the thread's first point another of its butterflies' points is, and at which of
/// the padded places its results are.
template <std::uint32_t kSize, std::uint32_t kDone>
CARILLON_BOTH constexpr std::uint32_t source_after(std::uint32_t point) {
  constexpr std::uint32_t kRadix = radix_after(kSize, kDone);
  return point / kRadix * (kSize / kPoints) + point % kRadix * (kSize / kRadix);
}
template <std::uint32_t kSize, std::uint32_t kDone>
CARILLON_BOTH constexpr std::uint32_t target_of(std::uint32_t thread, std::uint32_t point) {
  constexpr std::uint32_t kRadix = radix_after(kSize, kDone);
  if constexpr (kDone * kRadix == kSize) {  // the last step: in order
    return padded(thread) + padded(point / kRadix * (kSize / kPoints) + point % kRadix * kDone);
  } else {
    const std::uint32_t k = thread & (kDone - 1);
    return padded((thread - k) * kRadix + k) + (kDone == 1 ? point : padded(point * kDone));
  }
}

template <std::uint32_t kSize, std::uint32_t kDone, typename Cta>
CARILLON_GPU void leave(Cta& cta, std::uint32_t thread, const Complex* x) {
  constexpr std::uint32_t kPer = kSize / kPoints;
  Complex* const to = cta.template shared<Complex>() + thread / kPer * padded(kSize);
  for (std::uint32_t i = 0; i < kPoints; ++i) to[target_of<kSize, kDone>(thread % kPer, i)] = x[i];
}

/// The steps that follow those of kDone points.
template <int kSign, std::uint32_t kSize, std::uint32_t kDone, typename Cta>
CARILLON_GPU void more_steps(Cta& cta, const Complex* roots,
                             typename Cta::template Own<Points>& own) {
  constexpr std::uint32_t kPer = kSize / kPoints;
  const Complex* const shared = cta.template shared<Complex>();
  cta.each_thread([&](std::uint32_t thread) {
    const Complex* const from = shared + thread / kPer * padded(kSize) + padded(thread % kPer);
    Complex* const x = own[thread].at;
    for (std::uint32_t i = 0; i < kPoints; ++i) x[i] = from[padded(source_after<kSize, kDone>(i))];
    butterflies<kSign, kSize, kDone>(roots, thread % kPer, x);
  });
  cta.each_thread([&](std::uint32_t thread) { leave<kSize, kDone>(cta, thread, own[thread].at); });
  constexpr std::uint32_t kNow = kDone * radix_after(kSize, kDone);
  if constexpr (kNow < kSize) more_steps<kSign, kSize, kNow>(cta, roots, own);
}

/// Leaves transforms in shared memory, in order, each padded. load(transform, n, x): x[i] is its
/// point n + i·kSize/8.
template <int kSign, std::uint32_t kSize, typename Cta, typename Load>
CARILLON_GPU void transform(Cta& cta, const Complex* roots, Load&& load) {
  constexpr std::uint32_t kPer = kSize / kPoints;
  typename Cta::template Own<Points> own(cta);
  cta.each_thread([&](std::uint32_t thread) {
    Complex* const x = own[thread].at;
    load(thread / kPer, thread % kPer, x);
    butterflies<kSign, kSize, 1>(roots, thread % kPer, x);
    leave<kSize, 1>(cta, thread, x);  // where nothing was yet that others read
  });
  more_steps<kSign, kSize, 8>(cta, roots, own);
}

/// A phase in which each transform's threads share out n < count: f(transform, n).
template <std::uint32_t kSize, typename Cta, typename F>
CARILLON_GPU void each_of_all(Cta& cta, std::uint32_t count, F&& f) {
  constexpr std::uint32_t kPer = kSize / kPoints;
  cta.each_thread([&](std::uint32_t thread) {
    for (std::uint32_t n = thread % kPer; n < count; n += kPer) f(thread / kPer, n);
  });
}

/// Subcarriers of the block's antennas from shared memory to tiles.
template <std::uint32_t kSize, typename Out, typename Cta>
CARILLON_GPU void pick(Cta& cta, const ReceiveTask& task, Out* out, float scale) {
  const OfdmView& plan = task.plan;
  const std::uint32_t lanes = simt::round_up(plan.subcarriers, kTileLanes);
  const Complex* const shared = cta.template shared<Complex>();
  each_of_all<kSize>(cta, lanes, [&](std::uint32_t which, std::uint32_t k) {
    const std::uint32_t antenna = cta.x() * transforms_per_block(kSize) + which;
    if (antenna >= task.antennas) return;
    Complex value = {0, 0};
    if (k < plan.subcarriers)
      value = scale * shared[which * padded(kSize) + padded(bin_of<kSize>(plan, k))];
    if (task.pilot != nullptr)
      value = value * simt::get(task.pilot[cta.y() * (lanes / kTileLanes) + k / kTileLanes],
                                k % kTileLanes);
    simt::put(out[cta.y() * task.symbol_stride + antenna * task.antenna_stride +
                  k / kTileLanes * task.tile_stride],
              k % kTileLanes, value);
  });
}

CARILLON_GPU inline bool is_missing(const ReceiveTask& task, std::uint32_t symbol,
                                    std::uint32_t antenna) {
  return task.missing != nullptr && task.missing[symbol * task.antennas + antenna] != 0;
}

/// Mean power of the bins that nobody uses, in the order of OfdmPlan. One thread each: there are
/// few, and only for pilots.
template <std::uint32_t kSize, typename Cta>
CARILLON_GPU void measure_noise(Cta& cta, const ReceiveTask& task, float scale) {
  const OfdmView& plan = task.plan;
  Complex* const shared = cta.template shared<Complex>();
  const std::uint32_t first = kSize - plan.subcarriers / 2 + plan.noise_first;
  const auto power_at = [&](std::uint32_t which, std::uint32_t n) -> Complex& {
    return shared[which * padded(kSize) + padded((first + n) & (kSize - 1))];
  };
  each_of_all<kSize>(cta, plan.noise_bins, [&](std::uint32_t which, std::uint32_t n) {
    Complex& bin = power_at(which, n);
    bin.re = simt::norm(bin);
  });
  for (std::uint32_t left = plan.noise_bins; left > 1; left = simt::divide_up(left, 2)) {
    const std::uint32_t upper = simt::divide_up(left, 2);
    each_of_all<kSize>(cta, left / 2, [&](std::uint32_t which, std::uint32_t n) {
      power_at(which, n).re += power_at(which, upper + n).re;
    });
  }
  each_of_all<kSize>(cta, 1, [&](std::uint32_t which, std::uint32_t) {
    const std::uint32_t antenna = cta.x() * transforms_per_block(kSize) + which;
    if (antenna >= task.antennas) return;
    float noise = 0;
    if (is_missing(task, cta.y(), antenna))
      noise = -1;
    else if (plan.noise_bins != 0)
      noise = scale * scale * power_at(which, 0).re / static_cast<float>(plan.noise_bins);
    task.noise[cta.y() * task.antennas + antenna] = noise;
  });
}

inline constexpr std::uint32_t kGatherThreads = 256, kGatherLoads = 4;

// While the packets of a frame that was given up are still read, those of the next may come into
// the same memory and be noted where these were: the samples are mixed, and nobody uses them.
template <typename T>
#if defined(__SANITIZE_THREAD__) && !defined(__CUDACC__)
__attribute__((no_sanitize("thread")))
#endif
CARILLON_GPU T
fetch(const T* from) {
  return *from;
}

/// A block for each antenna. A thread asks for several samples at once: each takes as long as the
/// bus does to answer.
template <typename Cta>
CARILLON_GPU void gather_block(Cta& cta, const GatherTask& task) {
  const std::uint32_t antenna = cta.x(), apart = task.samples / kGatherLoads;
  const std::int16_t* const packet = fetch(task.packets + antenna);
  cta.each(1, [&](std::uint32_t) { task.missing[antenna] = packet == nullptr ? 1 : 0; });
  if (packet == nullptr) return;
  const Sample* const from = reinterpret_cast<const Sample*>(packet) + task.skip;
  Sample* const to = reinterpret_cast<Sample*>(task.iq) + antenna * task.iq_antenna;
  cta.each(apart, [&](std::uint32_t n) {
    Sample some[kGatherLoads];
    CARILLON_UNROLL
    for (std::uint32_t k = 0; k < kGatherLoads; ++k) some[k] = fetch(from + k * apart + n);
    CARILLON_UNROLL
    for (std::uint32_t k = 0; k < kGatherLoads; ++k) to[k * apart + n] = some[k];
  });
}

template <std::uint32_t kSize, typename Cta>
CARILLON_GPU void receive_sized(Cta& cta, const ReceiveTask& task) {
  const auto samples = [&](std::uint32_t which, std::uint32_t n, Complex* x) {
    const std::uint32_t antenna = cta.x() * transforms_per_block(kSize) + which;
    for (std::uint32_t i = 0; i < kPoints; ++i) x[i] = {0, 0};
    if (antenna >= task.antennas || is_missing(task, cta.y(), antenna)) return;
    const Sample* const from = reinterpret_cast<const Sample*>(task.iq) + cta.y() * task.iq_symbol +
                               antenna * task.iq_antenna + n;
    for (std::uint32_t i = 0; i < kPoints; ++i) {
      const Sample sample = from[i * (kSize / kPoints)];
      x[i] = {static_cast<float>(sample.i), static_cast<float>(sample.q)};
    }
  };
  transform<1, kSize>(cta, task.plan.roots, samples);
  const float scale = 1 / (32768 * std::sqrt(static_cast<float>(kSize)));
  if (task.tiles != nullptr) pick<kSize>(cta, task, task.tiles, scale);
  if (task.half != nullptr) pick<kSize>(cta, task, task.half, scale * kHalfScale);
  if (task.noise != nullptr) measure_noise<kSize>(cta, task, scale);
}

CARILLON_GPU inline std::int16_t to_sample(float value, std::uint32_t& cut) {
  const float kept = std::fmin(std::fmax(value, -32768.0F), 32767.0F);
  cut += kept != value ? 1 : 0;
  return static_cast<std::int16_t>(std::rint(kept));
}

template <std::uint32_t kSize, typename Cta>
CARILLON_GPU void transmit_sized(Cta& cta, const TransmitTask& task) {
  const OfdmView& plan = task.plan;
  const auto antenna_of = [&](std::uint32_t which) {
    return cta.x() * transforms_per_block(kSize) + which;
  };
  const auto bins = [&](std::uint32_t which, std::uint32_t n, Complex* x) {
    const Tile* const from =
        task.tiles + cta.y() * task.symbol_stride + antenna_of(which) * task.antenna_stride;
    for (std::uint32_t i = 0; i < kPoints; ++i) {
      const std::uint32_t k = subcarrier_at<kSize>(plan, n + i * (kSize / kPoints));
      x[i] = {0, 0};
      if (antenna_of(which) < task.antennas && k < plan.subcarriers)
        x[i] = simt::get(from[k / kTileLanes * task.tile_stride], k % kTileLanes);
    }
  };
  each_of_all<kSize>(cta, 1, [&](std::uint32_t which, std::uint32_t) {
    const std::uint32_t antenna = antenna_of(which);
    if (antenna < task.antennas) task.saturated[cta.y() * task.antennas + antenna] = 0;
  });
  transform<-1, kSize>(cta, plan.roots, bins);
  const float scale = 32768 * *task.gain / std::sqrt(static_cast<float>(kSize));
  const Complex* const shared = cta.template shared<Complex>();
  each_of_all<kSize>(cta, kSize, [&](std::uint32_t which, std::uint32_t n) {
    const std::uint32_t antenna = antenna_of(which);
    if (antenna >= task.antennas) return;
    const Complex value = scale * shared[which * padded(kSize) + padded(n)];
    std::uint32_t cut = 0;
    const std::int16_t re = to_sample(value.re, cut), im = to_sample(value.im, cut);
    Sample* const to =
        reinterpret_cast<Sample*>(task.iq) + cta.y() * task.iq_symbol + antenna * task.iq_antenna;
    to[task.prefix + n] = {re, im};
    if (n + task.prefix >= kSize) to[task.prefix + n - kSize] = {re, im};
    if (cut != 0) cta.add(&task.saturated[cta.y() * task.antennas + antenna], cut);
  });
}

/// f(size) with the size of a transform as a constant: a kernel for each of OfdmShape's, so that
/// neither places nor roots are worked out while it runs.
template <typename F>
auto with_size(std::uint32_t fft_size, F&& f) {
  switch (fft_size) {
    case 128: return f(std::integral_constant<std::uint32_t, 128>());
    case 256: return f(std::integral_constant<std::uint32_t, 256>());
    case 512: return f(std::integral_constant<std::uint32_t, 512>());
    case 1024: return f(std::integral_constant<std::uint32_t, 1024>());
    case 2048: return f(std::integral_constant<std::uint32_t, 2048>());
    default: return f(std::integral_constant<std::uint32_t, 4096>());
  }
}

template <typename Cta>
void receive_block(Cta& cta, const ReceiveTask& task) {
  with_size(task.plan.fft_size, [&](auto size) { receive_sized<size()>(cta, task); });
}
template <typename Cta>
void transmit_block(Cta& cta, const TransmitTask& task) {
  with_size(task.plan.fft_size, [&](auto size) { transmit_sized<size()>(cta, task); });
}

}  // namespace carillon::phy::cuda
