// A band into channels of equal width.
#pragma once

#include <cstddef>
#include <span>

#include "base/aligned.hpp"
#include "base/fft.hpp"
#include "base/isa.hpp"
#include "dsp/sample.hpp"

namespace carillon::dsp {

/// M channels by one low-pass filter of K real taps: polyphase branches of J = ⌈K/M⌉ taps and a
/// transform over them. Has scratch memory of its own: one thread at a time.
class Channelizer {
 public:
  static constexpr std::size_t kAtOnce = 64;  // outputs of a channel

  /// M: a power of two from 4 to 4096.
  Channelizer(std::span<const float> taps, std::size_t channels);

  std::size_t channels() const { return tables_.rows; }
  std::size_t length() const { return length_; }                    ///< J
  std::size_t history() const { return length_ * channels() - 1; }  ///< before a new sample
  const FftTables& tables() const { return tables_; }
  const float* taps(std::size_t branch) const { return &taps_[branch * length_]; }
  /// Of a branch: its samples' real parts, kAtOnce + J - 1 of them, then the imaginary ones.
  float* samples(std::size_t branch) { return &samples_[branch * 2 * samples_of_branch()]; }
  std::size_t samples_of_branch() const { return kAtOnce + length_ - 1; }
  float* scratch() { return scratch_.data(); }

 private:
  FftTables tables_;
  std::size_t length_;
  AlignedArray<float> taps_, samples_, scratch_;
};

struct ChannelizeKernels {
  /// y[n·M + c] = Σ over k of taps[k]·x[history() + n·M - k]·exp(2πj·c·k/M), n < count, c < M: what
  /// is c/M of the rate above the centre, brought there.
  void (*channelize)(Channelizer& channelizer, const Complex* x, Complex* y,
                     std::size_t count) noexcept;
};

const ChannelizeKernels& channelize_kernels(Isa isa = active_isa());

namespace avx2 {
extern const ChannelizeKernels channelize_kernels;
}
namespace avx512 {
extern const ChannelizeKernels channelize_kernels;
}

}  // namespace carillon::dsp
