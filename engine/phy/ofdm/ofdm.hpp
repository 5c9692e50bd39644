// OFDM: one antenna's symbol from int16 samples to subcarrier tiles, and back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/aligned.hpp"
#include "base/fft.hpp"
#include "base/isa.hpp"
#include "phy/tile.hpp"

namespace carillon::phy {

/// Used subcarriers k = 0…subcarriers-1 in increasing frequency. Without a hole, k is at bin
/// k - subcarriers/2 (5G NR); with one, bin 0 stays empty and the upper part starts at bin 1 (LTE).
struct OfdmShape {
  std::uint32_t fft_size;     ///< a power of two, 128…4096
  std::uint32_t subcarriers;  ///< 1…fft_size, one fewer with a hole
  bool dc_hole;
};

/// Tables of one shape: immutable, shared by all threads.
class OfdmPlan {
 public:
  /// Throws std::invalid_argument, naming the field and its range.
  explicit OfdmPlan(OfdmShape shape);

  const OfdmShape& shape() const { return shape_; }
  /// Tiles that a symbol of used subcarriers occupies.
  std::uint32_t tiles() const { return tiles_for(shape_.subcarriers); }
  /// Unused bins that receive_pilot() measures noise on, as places above the lowest used bin. The
  /// eighth of the unused bins next to either edge of the band is left out, at least one each:
  /// there a timing or frequency error leaks most.
  std::uint32_t noise_first() const { return noise_first_; }
  std::uint32_t noise_bins() const { return noise_bins_; }

  const FftTables& tables(std::uint32_t lanes) const { return lanes == 8 ? eight_ : sixteen_; }

 private:
  OfdmShape shape_;
  std::uint32_t noise_first_ = 0, noise_bins_ = 0;
  FftTables eight_, sixteen_;  // 128 points make no sixteen-lane transform
};

/// Working memory of one thread, for any plan whose fft_size is not above the given one's.
struct OfdmScratch {
  explicit OfdmScratch(const OfdmPlan& plan)
      : work(2 * std::size_t{plan.shape().fft_size}),
        bins(plan.shape().fft_size / kTileLanes + 2) {}

  AlignedArray<float> work;  ///< rows of the transform, re and im of each in turn
  AlignedArray<Tile> bins;   ///< all bins, the lowest used one first
  /// The samples that will be received next, fetched into the cache meanwhile; null: unknown.
  const std::int16_t* next = nullptr;
};

/// All transforms are unitary (1/sqrt(fft_size)); samples count 32768 as 1.0. `iq` needs no
/// alignment.
struct OfdmKernels {
  /// iq: fft_size interleaved I, Q right after the prefix → out[t * stride] for t < tiles(), tail
  /// lanes zero.
  void (*receive)(const OfdmPlan& plan, const std::int16_t* iq, Tile* out, std::size_t stride,
                  OfdmScratch& scratch) noexcept;
  /// The same in half precision, times kHalfScale.
  void (*receive_half)(const OfdmPlan& plan, const std::int16_t* iq, HalfTile* out,
                       std::size_t stride, OfdmScratch& scratch) noexcept;

  /// The same for a pilot symbol in single precision, multiplied by `pilot` (tiles: conj(p)/|p|²
  /// where a pilot was sent, 0 elsewhere) → row[t]. Returns the mean power per unused bin, which is
  /// the noise variance per subcarrier; 0 when no bin is left to measure on.
  float (*receive_pilot)(const OfdmPlan& plan, const std::int16_t* iq, const Tile* pilot, Tile* row,
                         OfdmScratch& scratch) noexcept;

  /// in[t * stride], tail lanes zero → gain times the inverse transform as `prefix` ≤ fft_size and
  /// then fft_size interleaved samples, rounded to nearest (ties to even). Returns how many
  /// components (I and Q count one each, the prefix's copies not again) had to be saturated.
  std::uint32_t (*transmit)(const OfdmPlan& plan, const Tile* in, std::size_t stride, float gain,
                            std::uint32_t prefix, std::int16_t* iq, OfdmScratch& scratch) noexcept;
};

const OfdmKernels& ofdm_kernels(Isa isa = active_isa());

}  // namespace carillon::phy
