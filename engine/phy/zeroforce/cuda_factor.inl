// The inverse of a Gram matrix plus a diagonal, without the matrix ever leaving the registers: each
// thread has one 4×4 block (i, j) on or below the diagonal, from beginning to end. That block is,
// in turn, part of
//
//   A                until step j, minus what is explained by the columns before,
//   X = L⁻¹          from step j to step i, as the sum over L(i, p)·X(p, j), j ≤ p < i,
//   P = XᴴX          from step i on, as the sum over X(p, i)ᴴ·X(p, j), p ≥ i.
//
// Step p makes row p of X and, from it and column p of L, the panel
//
//   S = [X(p, 0) … X(p, p), L(p+1, p)ᴴ … L(n-1, p)ᴴ],
//
// 4 rows long and all that the blocks need of each other: block (i, j) adds S(i)ᴴ·S(j), whatever it
// is at the time, if A and X are kept with the opposite sign. So all threads do the same at every
// step, two barriers long, in K/4 steps; shared memory holds the panel only.
#pragma once

#include "phy/zeroforce/cuda_product.inl"

namespace carillon::phy::cuda::zeroforce {

// A channel with less power is none; with more, the inverse leaves the range of a float.
inline constexpr float kLeastPower = 1e-30F, kMostPower = 1e30F;
// A user's own share in what a combiner yields is taken as at least this; where it was loaded, the
// share is the rest that rounding leaves where too many users have the same channel.
inline constexpr float kLeastGain = 1e-8F, kLeastLoadedGain = 0x1p-8F;

inline constexpr std::uint32_t kMostUsers = 128;
inline constexpr std::uint32_t kMostFactorThreads =
    simt::round_up(triangle(user_blocks(kMostUsers)), simt::kWarp);

/// Matrices of a block: small ones fill a warp together.
CARILLON_BOTH constexpr std::uint32_t matrices_per_block(std::uint32_t users) {
  const std::uint32_t threads = triangle(user_blocks(users));
  return threads < simt::kWarp ? simt::kWarp / threads : 1;
}

/// Two neighbours of a row of a panel.
struct alignas(16) Pair {
  Complex at[2];
};

/// Of a panel, [row][half][block of users], so that threads with neighbouring blocks read
/// neighbouring pairs: from one half row to the next. Odd, so that these are in different banks,
/// too.
CARILLON_BOTH constexpr std::uint32_t panel_pitch(std::uint32_t users) {
  return user_blocks(users) | 1;
}

/// Shared memory of a block, for each matrix m.
struct FactorShared {
  Pair *panel, *raw;       ///< S and what it is made of
  SquareBlock* corner;     ///< X(p, p)
  float *power, *loading;  ///< [user] of the channel, 0 where there is none; added to it
  float *diagonal, *own;   ///< [user] of what is inverted; of the inverse
  std::uint32_t *lost, *singular;

  CARILLON_BOTH static constexpr std::uint32_t bytes(std::uint32_t users) {
    return 2 * kSide * 2 * 16 * panel_pitch(users) + 4 * kSide * 4 * user_blocks(users) + 128 + 16;
  }
};

template <typename Cta>
CARILLON_GPU FactorShared factor_shared(Cta& cta, std::uint32_t users, std::uint32_t m) {
  const std::uint32_t size = user_blocks(users), start = m * FactorShared::bytes(users);
  const std::uint32_t panel = kSide * 2 * 16 * panel_pitch(users), row = kSide * size * 4;
  FactorShared at;
  at.panel = cta.template shared<Pair>(start);
  at.raw = cta.template shared<Pair>(start + panel);
  at.corner = cta.template shared<SquareBlock>(start + 2 * panel);
  float* const rows = cta.template shared<float>(start + 2 * panel + 128);
  at.power = rows;
  at.loading = rows + row / 4;
  at.diagonal = rows + 2 * (row / 4);
  at.own = rows + 3 * (row / 4);
  at.lost = cta.template shared<std::uint32_t>(start + 2 * panel + 128 + 4 * row);
  at.singular = at.lost + 1;
  return at;
}

/// What a thread has: a block of one of the block's matrices. Small numbers: they share a register
/// for as long as the kernel runs.
struct FactorPlace {
  std::uint8_t matrix, row, column;
  bool there;  ///< else it has none
};
CARILLON_BOTH constexpr std::size_t lane_of(const CombineTask& task, std::uint32_t x,
                                            std::uint32_t matrix) {
  return std::size_t{task.first_tile} * kTileLanes + x * matrices_per_block(task.users) + matrix;
}
CARILLON_BOTH constexpr std::size_t end_lane(const CombineTask& task) {
  return (std::size_t{task.first_tile} + task.tiles) * kTileLanes;
}
CARILLON_BOTH constexpr FactorPlace factor_place(const CombineTask& task, std::uint32_t x,
                                                 std::uint32_t thread) {
  const std::uint32_t blocks = triangle(user_blocks(task.users)), matrix = thread / blocks;
  const TrianglePlace at = triangle_place(thread % blocks);
  return {static_cast<std::uint8_t>(matrix), static_cast<std::uint8_t>(at.row),
          static_cast<std::uint8_t>(at.column),
          matrix < matrices_per_block(task.users) && lane_of(task, x, matrix) < end_lane(task)};
}

struct FactorOwn {
  Complex sum[kSide][kSide];
  FactorPlace place;
};

/// An entry of a Gram matrix: the sum over slices.
CARILLON_GPU inline Complex gram_at(const CombineTask& task, std::size_t lane, std::uint32_t i,
                                    std::uint32_t j) {
  const std::uint32_t blocks = triangle(user_blocks(task.users));
  const SquareBlock* from =
      task.squares + lane * task.slices * blocks + triangle(i / kSide) + j / kSide;
  Complex sum = {0, 0};
  for (std::uint32_t s = 0; s < task.slices; ++s)
    sum = sum + from[s * blocks].at[i % kSide][j % kSide];
  return sum;
}

/// What is added to all users' power.
CARILLON_GPU inline float added_noise(const CombineTask& task) {
  return task.detector == Detector::Mmse ? *task.mean_noise : 0;
}

/// Calls f(matrix, lane, user, shared) for all users of the block's matrices; a phase.
template <typename Cta, typename F>
CARILLON_GPU void each_user(Cta& cta, const CombineTask& task, F&& f) {
  cta.each(matrices_per_block(task.users) * task.users, [&](std::uint32_t i) {
    const std::uint32_t m = i / task.users;
    const std::size_t lane = lane_of(task, cta.x(), m);
    if (lane < end_lane(task)) f(lane, i % task.users, factor_shared(cta, task.users, m));
  });
}

/// Finds the users without a channel.
template <typename Cta>
CARILLON_GPU void find_lost(Cta& cta, const CombineTask& task) {
  cta.each(matrices_per_block(task.users), [&](std::uint32_t m) {
    const FactorShared at = factor_shared(cta, task.users, m);
    *at.lost = 0;
    *at.singular = 0;
  });
  each_user(cta, task, [&](std::size_t lane, std::uint32_t user, const FactorShared& at) {
    const float power = gram_at(task, lane, user, user).re;
    const bool usable = power > kLeastPower && power < kMostPower;
    at.power[user] = usable ? power : 0;
    at.loading[user] = 0;
    if (!usable) cta.add(at.lost, 1U);
  });
}

/// A block of -(A + diagonal). A user without a channel, or past the last one, gets the identity's
/// row and column, so that the others do not notice it.
CARILLON_GPU inline void load_block(const CombineTask& task, const FactorShared& at,
                                    std::size_t lane, FactorOwn& own) {
  const FactorPlace& place = own.place;
  const float noise = added_noise(task);
  const std::uint32_t blocks = triangle(user_blocks(task.users));
  const SquareBlock* from =
      task.squares + lane * task.slices * blocks + triangle(place.row) + place.column;
  for (std::uint32_t r = 0; r < kSide; ++r)
    for (std::uint32_t c = 0; c < kSide; ++c) own.sum[r][c] = {0, 0};
  // Row after row: all of a slice at once takes too many registers.
  for (std::uint32_t r = 0; r < kSide; ++r)
    for (std::uint32_t s = 0; s < task.slices; ++s) {
      const Pair* const row = reinterpret_cast<const Pair*>(from[s * blocks].at[r]);
      const Pair pairs[2] = {row[0], row[1]};
      for (std::uint32_t c = 0; c < kSide; ++c)
        own.sum[r][c] = own.sum[r][c] - pairs[c / 2].at[c % 2];
    }
  for (std::uint32_t r = 0; r < kSide; ++r) {
    const std::uint32_t i = place.row * kSide + r;
    const bool row_there = i < task.users && at.power[i] > 0;
    for (std::uint32_t c = 0; c < kSide; ++c) {
      const std::uint32_t j = place.column * kSide + c;
      Complex& entry = own.sum[r][c];
      if (!row_there || j >= task.users || at.power[j] <= 0) entry = {0, 0};
      if (i != j) continue;
      float whole = row_there ? -entry.re : 1;
      if (i < task.users) whole += at.loading[i] + noise;
      at.diagonal[i] = whole;
      entry = {-whole, 0};
    }
  }
}

/// -A, 4×4 → X = L⁻¹. Pivots that rounding makes smaller than they can be in a loaded matrix are
/// raised; in one without loading that amplifies beyond the limit. In place, for want of registers:
/// L is left below the diagonal, X's diagonal on it and the rest of X, transposed, above.
CARILLON_GPU inline void invert_corner(Complex (&a)[kSide][kSide], const float* whole,
                                       SquareBlock& to) {
  for (std::uint32_t c = 0; c < kSide; ++c) {
    float pivot = -a[c][c].re;
    for (std::uint32_t k = 0; k < kSide; ++k)
      if (k < c) pivot -= simt::norm(a[c][k]);
    const float least = whole[c] * (kLoading / 2);
    const float inverse = simt::inverse_root(pivot > least ? pivot : least);
    a[c][c] = {inverse, 0};
    for (std::uint32_t r = 0; r < kSide; ++r) {
      if (r == c) continue;
      Complex sum = r > c ? a[r][c] : Complex{0, 0};
      for (std::uint32_t k = 0; k < kSide; ++k) {
        if (k >= c) continue;
        if (r > c) sum = sum + a[r][k] * simt::conj(a[c][k]);
        if (r < c && k >= r) sum = sum + a[c][k] * a[r][k];
      }
      a[r][c] = -inverse * sum;
    }
  }
  for (std::uint32_t r = 0; r < kSide; ++r)
    for (std::uint32_t c = 0; c < kSide; ++c) to.at[r][c] = c > r ? Complex{0, 0} : a[c][r];
}

/// The part of a thread that has a block of row or column p: gives it to the next panel, and starts
/// anew with what it is from now on.
CARILLON_GPU inline void hand_over(const CombineTask& task, const FactorShared& at, std::uint32_t p,
                                   FactorOwn& own) {
  const FactorPlace& place = own.place;
  if (place.row != p && place.column != p) return;
  const std::uint32_t pitch = panel_pitch(task.users);
  if (place.row == place.column) {
    invert_corner(own.sum, at.diagonal + p * kSide, *at.corner);
  } else {
    const bool below = place.column == p;
    const std::uint32_t other = below ? place.row : place.column;
    for (std::uint32_t q = 0; q < kSide; ++q)
      for (std::uint32_t half = 0; half < 2; ++half) {
        Pair pair;
        for (std::uint32_t n = 0; n < 2; ++n)
          pair.at[n] = below ? simt::conj(own.sum[2 * half + n][q]) : own.sum[q][2 * half + n];
        at.raw[(q * 2 + half) * pitch + other] = pair;
      }
  }
  for (std::uint32_t r = 0; r < kSide; ++r)
    for (std::uint32_t c = 0; c < kSide; ++c) own.sum[r][c] = {0, 0};
}

/// Panel p from what was handed over: -X(p, p) times it; X(p, p) itself in the middle.
template <typename Cta>
CARILLON_GPU void make_panel(Cta& cta, const CombineTask& task, std::uint32_t p) {
  const std::uint32_t size = user_blocks(task.users), pitch = panel_pitch(task.users);
  cta.each(matrices_per_block(task.users) * size * kSide * 2, [&](std::uint32_t i) {
    const std::uint32_t half = i % 2, q = i / 2 % kSide, all = i / (2 * kSide);
    const std::uint32_t m = all / size, block = all - m * size;
    const FactorShared at = factor_shared(cta, task.users, m);
    const Complex* const factors = at.corner->at[q];
    Pair sum = {};
    if (block == p) {
      sum = {{factors[2 * half], factors[2 * half + 1]}};
    } else {
      for (std::uint32_t k = 0; k <= q; ++k) {
        const Pair raw = at.raw[(k * 2 + half) * pitch + block];
        for (std::uint32_t n = 0; n < 2; ++n) sum.at[n] = sum.at[n] - factors[k] * raw.at[n];
      }
    }
    at.panel[(q * 2 + half) * pitch + block] = sum;
  });
}

/// sum += S(row)ᴴ·S(column).
CARILLON_GPU inline void add_panel(const Pair* panel, std::uint32_t pitch, FactorOwn& own) {
  const Pair* left = panel + own.place.row;
  const Pair* right = panel + own.place.column;
  for (std::uint32_t q = 0; q < kSide; ++q, left += 2 * pitch, right += 2 * pitch) {
    const Pair rows[2] = {left[0], left[pitch]}, columns[2] = {right[0], right[pitch]};
    for (std::uint32_t r = 0; r < kSide; ++r)
      for (std::uint32_t c = 0; c < kSide; ++c) {
        const Complex a = rows[r / 2].at[r % 2], b = columns[c / 2].at[c % 2];
        Complex& sum = own.sum[r][c];
        sum.re = sum.re + a.re * b.re + a.im * b.im;
        sum.im = sum.im + a.re * b.im - a.im * b.re;
      }
  }
}

/// Leaves the inverse in the threads' blocks and its diagonal in shared memory.
template <typename Cta>
CARILLON_GPU void invert(Cta& cta, const CombineTask& task,
                         typename Cta::template Own<FactorOwn>& own) {
  const std::uint32_t size = user_blocks(task.users);
  cta.each_thread([&](std::uint32_t thread) {
    if (!own[thread].place.there) return;
    const FactorShared at = factor_shared(cta, task.users, own[thread].place.matrix);
    load_block(task, at, lane_of(task, cta.x(), own[thread].place.matrix), own[thread]);
    hand_over(task, at, 0, own[thread]);
  });
  for (std::uint32_t p = 0; p < size; ++p) {
    make_panel(cta, task, p);
    cta.each_thread([&](std::uint32_t thread) {
      FactorOwn& mine = own[thread];
      if (!mine.place.there) return;
      const FactorShared at = factor_shared(cta, task.users, mine.place.matrix);
      add_panel(at.panel, panel_pitch(task.users), mine);
      hand_over(task, at, p + 1, mine);
      if (p + 1 != size || mine.place.row != mine.place.column) return;
      for (std::uint32_t r = 0; r < kSide; ++r)
        at.own[mine.place.row * kSide + r] = mine.sum[r][r].re;
    });
  }
}

/// Loads the matrices where some user's noise is amplified beyond the limit: entry (k, k) of the
/// inverse times that of the matrix, which is 1 where k is orthogonal to all others. True: there
/// are such.
template <typename Cta>
CARILLON_GPU bool load_inseparable(Cta& cta, const CombineTask& task) {
  const float noise = added_noise(task);
  each_user(cta, task, [&](std::size_t, std::uint32_t user, const FactorShared& at) {
    const bool separable = at.own[user] * (at.power[user] + noise) < 1 / kLoading;
    if (!separable) cta.add(at.singular, 1U);
  });
  each_user(cta, task, [&](std::size_t, std::uint32_t user, const FactorShared& at) {
    if (*at.singular != 0) at.loading[user] = at.power[user] * kLoading;
  });
  bool any = false;
  for (std::uint32_t m = 0; m < matrices_per_block(task.users); ++m)
    any |= *factor_shared(cta, task.users, m).singular != 0;
  return any;
}

CARILLON_GPU inline float kept(float variance) {
  const float below = variance < kPostNoiseCeiling ? variance : kPostNoiseCeiling;
  return below > kPostNoiseFloor ? below : kPostNoiseFloor;
}

/// Interference that what was added to the diagonal leaves on user k: WH = I - P·diag(added).
CARILLON_GPU inline float interference(const CombineTask& task, std::size_t lane, std::uint32_t k,
                                       const FactorShared& at) {
  const std::uint32_t blocks = triangle(user_blocks(task.users));
  const SquareBlock* const inverse = task.squares + lane * task.slices * blocks;
  const float noise = added_noise(task);
  float sum = 0;
  for (std::uint32_t j = 0; j < task.users; ++j) {
    if (j == k) continue;
    const std::uint32_t high = j < k ? k : j, low = j < k ? j : k;
    const SquareBlock& block = inverse[triangle(high / kSide) + low / kSide];
    const float added = at.loading[j] + noise;
    sum += added * added * simt::norm(block.at[high % kSide][low % kSide]);
  }
  return sum;
}

/// With P = (HᴴH + diag(added))⁻¹ user k's gain is d = 1 - P(k, k)·added(k). Divided by it, noise
/// and interference are noise·P(k, k)/d where nothing but noise was added (1/(WH)kk - 1 for Mmse).
/// Where the diagonal is loaded, the interference only: expand() adds the noise.
template <typename Cta>
CARILLON_GPU void finish(Cta& cta, const CombineTask& task) {
  const float noise = added_noise(task);
  each_user(cta, task, [&](std::size_t lane, std::uint32_t k, const FactorShared& at) {
    const bool lost = at.power[k] <= 0, loaded = at.loading[k] > 0;
    const float own = at.own[k], gain = 1 - own * (at.loading[k] + noise);
    const float least = loaded ? kLeastLoadedGain : kLeastGain;
    const float inverse = 1 / (gain > least ? gain : least);
    float variance = *task.mean_noise * own * inverse;
    if (loaded) variance = interference(task, lane, k, at) * inverse * inverse;
    task.variances[lane * task.users + k] = lost ? kPostNoiseCeiling : kept(variance);
    task.gains[lane * task.users + k] = lost ? 0 : inverse;
  });
}

/// w(k) = h(k)ᴴ / g(k, k), noise/g(k, k) + Σ |g(k, j)|²/g(k, k)² of noise and interference.
template <typename Cta>
CARILLON_GPU void match(Cta& cta, const CombineTask& task) {
  each_user(cta, task, [&](std::size_t lane, std::uint32_t k, const FactorShared& at) {
    const bool lost = at.power[k] <= 0;
    const float inverse = lost ? 0 : 1 / at.power[k];
    float sum = 0;
    for (std::uint32_t j = 0; j < task.users; ++j)
      if (j != k && at.power[j] > 0)
        sum += simt::norm(gram_at(task, lane, j < k ? k : j, j < k ? j : k));
    const float variance = *task.mean_noise * inverse + sum * inverse * inverse;
    task.variances[lane * task.users + k] = lost ? kPostNoiseCeiling : kept(variance);
    task.gains[lane * task.users + k] = inverse;
  });
}

template <typename Cta>
CARILLON_GPU void store_inverse(Cta& cta, const CombineTask& task,
                                typename Cta::template Own<FactorOwn>& own) {
  const std::uint32_t blocks = triangle(user_blocks(task.users));
  cta.each_thread([&](std::uint32_t thread) {
    const FactorPlace& place = own[thread].place;
    if (!place.there) return;
    const std::size_t lane = lane_of(task, cta.x(), place.matrix);
    SquareBlock block;
    for (std::uint32_t r = 0; r < kSide; ++r)
      for (std::uint32_t c = 0; c < kSide; ++c) block.at[r][c] = own[thread].sum[r][c];
    task.squares[lane * task.slices * blocks + triangle(place.row) + place.column] = block;
  });
}

/// Grid: matrices, some to a block. The inverse takes the place of the Gram matrix's first slice.
template <typename Cta>
CARILLON_GPU void factor_block(Cta& cta, const FactorTask& whole) {
  const CombineTask& task = whole.of;
  find_lost(cta, task);
  if (task.detector == Detector::Conjugate) {
    match(cta, task);
  } else {
    typename Cta::template Own<FactorOwn> own(cta);
    cta.each_thread(
        [&](std::uint32_t thread) { own[thread].place = factor_place(task, cta.x(), thread); });
    invert(cta, task, own);
    if (load_inseparable(cta, task)) invert(cta, task, own);
    store_inverse(cta, task, own);
    finish(cta, task);
  }
  cta.each(matrices_per_block(task.users), [&](std::uint32_t m) {
    const FactorShared at = factor_shared(cta, task.users, m);
    const std::size_t lane = lane_of(task, cta.x(), m);
    if (lane >= end_lane(task)) return;
    task.flags[lane] =
        (*at.lost + *at.singular != 0 ? kFlagged : 0) | (*at.singular != 0 ? kRegularised : 0);
  });
}

}  // namespace carillon::phy::cuda::zeroforce
