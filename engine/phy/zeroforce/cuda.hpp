// Combiners on a GPU, once in a frame: what they are, how they are kept safe and in what half
// precision they are stored is zeroforce.hpp's.
//
// Four launches lead from CSI to W (combine() makes all of them), because they need different
// numbers of blocks: with one combiner per 16 subcarriers there are 75 matrices only, and a block
// for each would leave half of the device idle while it does the products.
//
//   survey  what came of the pilots: one block
//   gram    HᴴH in slices of antennas: a block has 8 lanes, two sets of users, a slice
//   factor  (HᴴH + λI)⁻¹ in registers: a block has one matrix, or some small ones
//   weigh   W = (HᴴH + λI)⁻¹Hᴴ: a block has 8 lanes, a set of users, a set of antennas
//
// expand() then spreads W to subcarriers, halves it and finishes the noise after it;
// antenna_power() is for the downlink. All work on a range of csi tiles, so that parts of the band
// can be in different places, and all arrays are indexed by tiles of the whole band.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cuda/status.hpp"
#include "phy/estimate/residual.hpp"
#include "phy/simt/simt.hpp"
#include "phy/zeroforce/zeroforce.hpp"

namespace carillon::phy::cuda {

using carillon::cuda::Status;
using carillon::cuda::Stream;

/// 4×4 entries of a Hermitian matrix of users, row by row; past the last user are those of the
/// identity. Of each matrix the blocks on and below the diagonal are kept, row by row.
inline constexpr std::uint32_t kSide = 4;
struct alignas(16) SquareBlock {
  Complex at[kSide][kSide];
};
CARILLON_BOTH constexpr std::uint32_t user_blocks(std::uint32_t users) {
  return simt::divide_up(users, kSide);
}
CARILLON_BOTH constexpr std::uint32_t triangle(std::uint32_t size) { return size * (size + 1) / 2; }

/// Into how many slices the antennas are cut, so that `tiles` of csi keep a device busy.
std::uint32_t slices_for(std::uint32_t antennas, std::uint32_t users, std::uint32_t tiles);

/// csi and w: [tile * tile_stride + user * user_stride + antenna], lanes as in ZeroForceKernels.
///
/// An antenna of which a pilot is missing takes no part, as on the CPU: by its other pilots alone
/// it would bring the interference of the users whose pilot is missing. So unless fewer antennas
/// than users are left.
struct CombineTask {
  Detector detector;
  std::uint32_t antennas, users;    ///< up to 256, up to 128 and no more than antennas
  std::uint32_t first_tile, tiles;  ///< of csi
  const Tile* csi;
  Tile* w;
  std::size_t tile_stride, user_stride;
  const float* noise;  ///< [pilot][antenna] ≥ 0; negative where no packet came
  std::uint32_t pilots;
  float noise_gain;  ///< so many times the mean noise counts

  std::uint32_t slices;      ///< of slices_for()
  SquareBlock* squares;      ///< room for [16·tiles][slices][triangle(user_blocks(users))]
  float* gains;              ///< room for [16·tiles][users]
  float* mean_noise;         ///< room for one
  float* residual;           ///< room for [user] Residual::common; or null: there is none …
  HeldResidual* held;        ///< … and room for [user], or null
  std::uint32_t comb;        ///< of pilots, if held
  std::uint8_t* takes_part;  ///< [antenna] 0 or 1
  float* variances;          ///< [16·tiles][users] post_noise; without noise in kRegularised lanes
  std::uint32_t* flags;      ///< [16·tiles] kFlagged where combine() of the CPU counts the lane
};
inline constexpr std::uint32_t kFlagged = 1, kRegularised = 2;

/// Where deviations within groups tell of a user's residual.
struct DeviationPlace {
  std::uint32_t pilot;          ///< the symbol: those of antennas that are measured there …
  std::uint32_t offset, users;  ///< … ≡ offset (mod users)
  std::uint32_t plan;
};

struct SurveyTask {
  CombineTask of;
  const GroupDeviation* deviations = nullptr;  ///< [pilot][antenna]; these three if of.residual
  const DeviationPlace* places = nullptr;      ///< [user]
  const DeviationPlan* plans = nullptr;
};
struct GramTask {
  CombineTask of;
};
struct FactorTask {
  CombineTask of;
};
struct WeighTask {
  CombineTask of;
};

/// What equalize and precode want, for the subcarrier tiles of a range of csi tiles. Outputs that
/// are null are left out.
struct ExpandTask {
  CombineTask of;  ///< as it was combined
  std::uint32_t group, subcarriers;
  Tile* tiles;                           ///< group < 16; null for group 1, where w is that
  HalfTile* half;                        ///< group < 16
  Complex* scalars;                      ///< group 16
  HalfComplex* half_scalars;             ///< group 16
  std::size_t tile_stride, user_stride;  ///< of these four, [tile][user][antenna]
  float* half_scale;                     ///< [tile][user]
  float* post_noise;                     ///< [tile][user][16]
};

/// power[tile of csi][antenna]: |w|² summed over users and the subcarriers that there are.
struct AntennaPowerTask {
  CombineTask of;
  std::uint32_t group, subcarriers;
  float* power;
};

/// The gain with which the loudest antenna's samples get the power `target`, as they get
/// power[…] with gain 1: √(target / most), 0 without power.
struct GainTask {
  const float* power;  ///< of AntennaPowerTask, for the whole band
  std::uint32_t tiles, antennas;
  float target;
  float* gain;
};

simt::Launch launch_of(const SurveyTask&);
simt::Launch launch_of(const GramTask&);
simt::Launch launch_of(const FactorTask&);
simt::Launch launch_of(const WeighTask&);
simt::Launch launch_of(const ExpandTask&);
simt::Launch launch_of(const AntennaPowerTask&);
simt::Launch launch_of(const GainTask&);

/// In order on the stream; what they point to is on its device.
Status survey(const SurveyTask&, Stream);
Status gram(const GramTask&, Stream);
Status factor(const FactorTask&, Stream);
Status weigh(const WeighTask&, Stream);
Status expand(const ExpandTask&, Stream);
Status antenna_power(const AntennaPowerTask&, Stream);
Status choose_gain(const GainTask&, Stream);

/// survey, gram, factor and weigh.
Status combine(const CombineTask&, Stream);

}  // namespace carillon::phy::cuda
