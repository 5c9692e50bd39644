// Fourier transforms of a block's antennas by Stockham's algorithm: each thread has eight points of
// one of them in registers, and between radix-8 steps (the last may be 4 or 2) they meet in shared
// memory. Reading samples and picking subcarriers are part of the first and the last step.
#pragma once

#include <cmath>

#include "phy/ofdm/cuda.hpp"

namespace carillon::phy::cuda {

using simt::operator+;
using simt::operator-;
using simt::operator*;

inline constexpr std::uint32_t kPoints = 8;  // of a thread

struct Points {
  Complex at[kPoints];
};

/// As many as make four warps.
CARILLON_BOTH constexpr std::uint32_t transforms_per_block(std::uint32_t fft_size) {
  const std::uint32_t threads = fft_size / kPoints;
  return threads < 128 ? 128 / threads : 1;
}

/// Places for so many points, and the place of one: what a radix-8 step writes eight apart lies
/// nine apart, in different banks.
CARILLON_BOTH constexpr std::uint32_t padded(std::uint32_t points) { return points + points / 8; }

/// Where used subcarrier k is among the bins.
CARILLON_BOTH constexpr std::uint32_t bin_of(const OfdmView& plan, std::uint32_t k) {
  const std::uint32_t below = plan.subcarriers / 2;
  const std::uint32_t hole = plan.dc_hole && k >= below ? 1 : 0;
  return (k + plan.fft_size - below + hole) & (plan.fft_size - 1);
}

/// The used subcarrier at a bin; plan.subcarriers or more: there is none.
CARILLON_BOTH constexpr std::uint32_t subcarrier_at(const OfdmView& plan, std::uint32_t bin) {
  const std::uint32_t below = plan.subcarriers / 2;
  const std::uint32_t place = (bin + below) & (plan.fft_size - 1);
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

/// One thread's part of a step: kPoints / kRadix butterflies. `done`: the product of the radices of
/// the steps before. load(i) and store(i, value) have the points.
template <int kSign, std::uint32_t kRadix>
CARILLON_GPU void butterflies(const OfdmView& plan, std::uint32_t thread, std::uint32_t done,
                              Complex* x) {
  const std::uint32_t threads = plan.fft_size / kPoints;
  for (std::uint32_t b = 0; b < kPoints / kRadix; ++b) {
    const std::uint32_t k = (thread + b * threads) & (done - 1);
    const std::uint32_t turn = k * (plan.fft_size / (done * kRadix));
    Complex* own = x + b * kRadix;
    for (std::uint32_t i = 1; i < kRadix; ++i) {
      Complex root = plan.roots[i * turn];
      if (kSign < 0) root = simt::conj(root);
      own[i] = own[i] * root;
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

/// Where the points of a thread's butterflies come from and go to.
CARILLON_BOTH constexpr std::uint32_t source_of(std::uint32_t fft_size, std::uint32_t radix,
                                                std::uint32_t thread, std::uint32_t point) {
  const std::uint32_t butterfly = thread + point / radix * (fft_size / kPoints);
  return butterfly + point % radix * (fft_size / radix);
}
CARILLON_BOTH constexpr std::uint32_t target_of(std::uint32_t fft_size, std::uint32_t radix,
                                                std::uint32_t done, std::uint32_t thread,
                                                std::uint32_t point) {
  const std::uint32_t butterfly = thread + point / radix * (fft_size / kPoints);
  const std::uint32_t k = butterfly & (done - 1);
  return (butterfly - k) * radix + k + point % radix * done;
}

template <int kSign, std::uint32_t kRadix, typename Cta, typename Load>
CARILLON_GPU void step(Cta& cta, const OfdmView& plan, std::uint32_t done,
                       typename Cta::template Own<Points>& own, Load&& load) {
  const std::uint32_t per = plan.fft_size / kPoints;
  Complex* const shared = cta.template shared<Complex>();
  cta.each_thread([&](std::uint32_t thread) {
    Complex* const x = own[thread].at;
    for (std::uint32_t i = 0; i < kPoints; ++i)
      x[i] = load(thread / per, source_of(plan.fft_size, kRadix, thread % per, i));
    butterflies<kSign, kRadix>(plan, thread % per, done, x);
  });
  cta.each_thread([&](std::uint32_t thread) {
    Complex* const to = shared + thread / per * padded(plan.fft_size);
    for (std::uint32_t i = 0; i < kPoints; ++i)
      to[padded(target_of(plan.fft_size, kRadix, done, thread % per, i))] = own[thread].at[i];
  });
}

/// Leaves the transforms of load(transform, point) in shared memory, in order, each padded.
template <int kSign, typename Cta, typename Load>
CARILLON_GPU void transform(Cta& cta, const OfdmView& plan, Load&& load) {
  typename Cta::template Own<Points> own(cta);
  const Complex* const shared = cta.template shared<Complex>();
  const auto again = [&](std::uint32_t which, std::uint32_t point) {
    return shared[which * padded(plan.fft_size) + padded(point)];
  };
  step<kSign, 8>(cta, plan, 1, own, load);
  std::uint32_t done = 8;
  for (; done * 8 <= plan.fft_size; done *= 8) step<kSign, 8>(cta, plan, done, own, again);
  if (done * 4 == plan.fft_size) step<kSign, 4>(cta, plan, done, own, again);
  if (done * 2 == plan.fft_size) step<kSign, 2>(cta, plan, done, own, again);
}

/// Subcarriers of the block's antennas from shared memory to tiles.
template <typename Out, typename Cta>
CARILLON_GPU void pick(Cta& cta, const ReceiveTask& task, Out* out, float scale) {
  const OfdmView& plan = task.plan;
  const std::uint32_t each = transforms_per_block(plan.fft_size);
  const std::uint32_t lanes = simt::round_up(plan.subcarriers, kTileLanes);
  const Complex* const shared = cta.template shared<Complex>();
  cta.each(each * lanes, [&](std::uint32_t i) {
    const std::uint32_t which = i / lanes, k = i % lanes, antenna = cta.x() * each + which;
    if (antenna >= task.antennas) return;
    Complex value = {0, 0};
    if (k < plan.subcarriers)
      value = scale * shared[which * padded(plan.fft_size) + padded(bin_of(plan, k))];
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
template <typename Cta>
CARILLON_GPU void measure_noise(Cta& cta, const ReceiveTask& task, float scale) {
  const OfdmView& plan = task.plan;
  const std::uint32_t each = transforms_per_block(plan.fft_size);
  Complex* const shared = cta.template shared<Complex>();
  const std::uint32_t first = plan.fft_size - plan.subcarriers / 2 + plan.noise_first;
  const auto power_at = [&](std::uint32_t which, std::uint32_t n) -> Complex& {
    return shared[which * padded(plan.fft_size) + padded((first + n) & (plan.fft_size - 1))];
  };
  cta.each(each * plan.noise_bins, [&](std::uint32_t i) {
    Complex& bin = power_at(i / plan.noise_bins, i % plan.noise_bins);
    bin.re = simt::norm(bin);
  });
  for (std::uint32_t left = plan.noise_bins; left > 1; left = simt::divide_up(left, 2)) {
    const std::uint32_t half = left / 2, upper = simt::divide_up(left, 2);
    cta.each(each * half, [&](std::uint32_t i) {
      power_at(i / half, i % half).re += power_at(i / half, upper + i % half).re;
    });
  }
  cta.each(each, [&](std::uint32_t which) {
    const std::uint32_t antenna = cta.x() * each + which;
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

struct alignas(4) Sample {
  std::int16_t i, q;
};

// While the packets of a frame that was given up are still read, the next may come into the same
// memory: the samples are mixed, and nobody uses them.
#if defined(__SANITIZE_THREAD__) && !defined(__CUDACC__)
__attribute__((no_sanitize("thread")))
#endif
CARILLON_GPU inline Sample
fetch(const Sample* from) {
  return *from;
}

/// A block for each antenna. A thread asks for several samples at once: each takes as long as the
/// bus does to answer.
template <typename Cta>
CARILLON_GPU void gather_block(Cta& cta, const GatherTask& task) {
  const std::uint32_t antenna = cta.x(), apart = task.samples / kGatherLoads;
  const std::int16_t* const packet = task.packets[antenna];
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

template <typename Cta>
CARILLON_GPU void receive_block(Cta& cta, const ReceiveTask& task) {
  const OfdmView& plan = task.plan;
  const std::uint32_t each = transforms_per_block(plan.fft_size);
  const auto samples = [&](std::uint32_t which, std::uint32_t point) {
    const std::uint32_t antenna = cta.x() * each + which;
    if (antenna >= task.antennas || is_missing(task, cta.y(), antenna)) return Complex{0, 0};
    const std::int16_t* const at =
        task.iq + 2 * (cta.y() * task.iq_symbol + antenna * task.iq_antenna + point);
    return Complex{static_cast<float>(at[0]), static_cast<float>(at[1])};
  };
  transform<1>(cta, plan, samples);
  const float scale = 1 / (32768 * std::sqrt(static_cast<float>(plan.fft_size)));
  if (task.tiles != nullptr) pick(cta, task, task.tiles, scale);
  if (task.half != nullptr) pick(cta, task, task.half, scale * kHalfScale);
  if (task.noise != nullptr) measure_noise(cta, task, scale);
}

CARILLON_GPU inline std::int16_t to_sample(float value, std::uint32_t& cut) {
  const float kept = std::fmin(std::fmax(value, -32768.0F), 32767.0F);
  cut += kept != value ? 1 : 0;
  return static_cast<std::int16_t>(std::rint(kept));
}

template <typename Cta>
CARILLON_GPU void transmit_block(Cta& cta, const TransmitTask& task) {
  const OfdmView& plan = task.plan;
  const std::uint32_t each = transforms_per_block(plan.fft_size);
  const auto bins = [&](std::uint32_t which, std::uint32_t bin) {
    const std::uint32_t antenna = cta.x() * each + which, k = subcarrier_at(plan, bin);
    if (antenna >= task.antennas || k >= plan.subcarriers) return Complex{0, 0};
    return simt::get(task.tiles[cta.y() * task.symbol_stride + antenna * task.antenna_stride +
                                k / kTileLanes * task.tile_stride],
                     k % kTileLanes);
  };
  cta.each(each, [&](std::uint32_t which) {
    const std::uint32_t antenna = cta.x() * each + which;
    if (antenna < task.antennas) task.saturated[cta.y() * task.antennas + antenna] = 0;
  });
  transform<-1>(cta, plan, bins);
  const float scale = 32768 * *task.gain / std::sqrt(static_cast<float>(plan.fft_size));
  const Complex* const shared = cta.template shared<Complex>();
  cta.each(each * plan.fft_size, [&](std::uint32_t i) {
    const std::uint32_t which = i / plan.fft_size, n = i % plan.fft_size;
    const std::uint32_t antenna = cta.x() * each + which;
    if (antenna >= task.antennas) return;
    const Complex value = scale * shared[which * padded(plan.fft_size) + padded(n)];
    std::uint32_t cut = 0;
    const std::int16_t re = to_sample(value.re, cut), im = to_sample(value.im, cut);
    std::int16_t* const to = task.iq + 2 * (cta.y() * task.iq_symbol + antenna * task.iq_antenna);
    to[2 * (task.prefix + n)] = re;
    to[2 * (task.prefix + n) + 1] = im;
    if (n + task.prefix >= plan.fft_size) {
      to[2 * (task.prefix + n - plan.fft_size)] = re;
      to[2 * (task.prefix + n - plan.fft_size) + 1] = im;
    }
    if (cut != 0) cta.add(&task.saturated[cta.y() * task.antennas + antenna], cut);
  });
}

}  // namespace carillon::phy::cuda
