#include "phy/equalize/leave_out.hpp"

#include <algorithm>

namespace carillon::phy {
namespace {

using Lanes = float[kTileLanes];

// Σ h·x over users, times a real number for each lane.
Tile project(std::uint32_t users, const Tile* h, const Tile* x, const Lanes& times) {
  Tile sum{};
  for (std::uint32_t k = 0; k < users; ++k)
    for (std::uint32_t i = 0; i < kTileLanes; ++i) {
      sum.re[i] += h[k].re[i] * x[k].re[i] - h[k].im[i] * x[k].im[i];
      sum.im[i] += h[k].re[i] * x[k].im[i] + h[k].im[i] * x[k].re[i];
    }
  for (std::uint32_t i = 0; i < kTileLanes; ++i) {
    sum.re[i] *= times[i];
    sum.im[i] *= times[i];
  }
  return sum;
}

void add(std::uint32_t users, const Tile* w, const Tile& times, Tile* to) {
  for (std::uint32_t k = 0; k < users; ++k)
    for (std::uint32_t i = 0; i < kTileLanes; ++i) {
      to[k].re[i] += w[k].re[i] * times.re[i] - w[k].im[i] * times.im[i];
      to[k].im[i] += w[k].re[i] * times.im[i] + w[k].im[i] * times.re[i];
    }
}

void scale(Tile& tile, std::uint32_t lane, float by) {
  tile.re[lane] *= by;
  tile.im[lane] *= by;
}

float power(const Tile& tile, std::uint32_t lane) {
  return tile.re[lane] * tile.re[lane] + tile.im[lane] * tile.im[lane];
}

// NaN too becomes the ceiling: nothing is known then.
float kept(float variance) { return variance < kPostNoiseCeiling ? variance : kPostNoiseCeiling; }

// Mmse's rows are divided by their gains, 1/(1 + post_noise): what is said of W holds before that.
// Leaves noise·P(k, k) in post_noise.
void undo_gains(std::uint32_t users, std::uint32_t count, Tile* columns, Tile* s,
                float* post_noise) {
  for (std::uint32_t k = 0; k < users; ++k)
    for (std::uint32_t i = 0; i < kTileLanes; ++i) {
      float& variance = post_noise[k * kTileLanes + i];
      const float gain = 1 / (1 + variance);
      variance *= gain;
      scale(s[k], i, gain);
      for (std::uint32_t a = 0; a < count; ++a) scale(columns[a * users + k], i, gain);
    }
}

void restore_gains(std::uint32_t users, Tile* s, float* post_noise) {
  for (std::uint32_t k = 0; k < users; ++k)
    for (std::uint32_t i = 0; i < kTileLanes; ++i) {
      float& variance = post_noise[k * kTileLanes + i];
      const float gain = std::max(1 - variance, 1 / kPostNoiseCeiling);
      scale(s[k], i, 1 / gain);
      variance /= gain;
    }
}

void restore_conjugate(std::uint32_t users, std::uint32_t count, const Tile* channels,
                       const Tile* columns, Tile* s, float* post_noise) {
  for (std::uint32_t k = 0; k < users; ++k)
    for (std::uint32_t i = 0; i < kTileLanes; ++i) {
      float left = 1;
      for (std::uint32_t a = k; a < count * users; a += users)
        left -= channels[a].re[i] * columns[a].re[i] - channels[a].im[i] * columns[a].im[i];
      const float times = 1 / std::max(left, kLeastLeft);
      scale(s[k], i, times);
      float& noise = post_noise[k * kTileLanes + i];
      noise = kept(noise * times);
    }
}

}  // namespace

void leave_out(Detector detector, std::uint32_t users, std::uint32_t count, float noise,
               const Tile* channels, Tile* columns, Tile* s, float* post_noise) noexcept {
  if (detector == Detector::Conjugate)
    return restore_conjugate(users, count, channels, columns, s, post_noise);
  if (detector == Detector::Mmse) undo_gains(users, count, columns, s, post_noise);
  for (std::uint32_t a = 0; a < count; ++a) {
    const Tile* const h = channels + a * users;
    const Tile* const w = columns + a * users;
    Lanes inverse;
    std::ranges::fill(inverse, 1.0F);
    const Tile own = project(users, h, w, inverse);
    for (std::uint32_t i = 0; i < kTileLanes; ++i)
      inverse[i] = 1 / std::max(1 - own.re[i], kLeastLeft);
    add(users, w, project(users, h, s, inverse), s);
    for (std::uint32_t k = 0; k < users; ++k)
      for (std::uint32_t i = 0; i < kTileLanes; ++i)
        post_noise[k * kTileLanes + i] += noise * power(w[k], i) * inverse[i];
    for (std::uint32_t next = a + 1; next < count; ++next) {
      Tile* const column = columns + next * users;
      add(users, w, project(users, h, column, inverse), column);
    }
  }
  if (detector == Detector::Mmse) restore_gains(users, s, post_noise);
  for (std::uint32_t i = 0; i < users * kTileLanes; ++i) post_noise[i] = kept(post_noise[i]);
}

void erase(std::uint32_t users, Tile* s, float* post_noise) noexcept {
  std::fill_n(s, users, Tile{});
  std::fill_n(post_noise, std::size_t{users} * kTileLanes, kPostNoiseCeiling);
}

}  // namespace carillon::phy
