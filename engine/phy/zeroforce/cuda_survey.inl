// What has come of the pilots: how strong noise is, and which antennas make combiners.
#pragma once

#include "phy/zeroforce/cuda.hpp"

namespace carillon::phy::cuda::zeroforce {

inline constexpr std::uint32_t kSurveyThreads = 256;
inline constexpr std::uint32_t kMostAntennas = 256;

struct SurveyShared {
  float sum[kSurveyThreads];  ///< of what was measured
  std::uint32_t count[kSurveyThreads];
  std::uint32_t lost[kMostAntennas];  ///< pilots of an antenna
  std::uint32_t whole;                ///< antennas of which none is
};

template <typename Cta>
CARILLON_GPU void count_pilots(Cta& cta, const CombineTask& task, SurveyShared& all) {
  cta.each_thread([&](std::uint32_t thread) {
    float sum = 0;
    std::uint32_t count = 0;
    for (std::uint32_t i = thread; i < task.pilots * task.antennas; i += kSurveyThreads) {
      const float noise = task.noise[i];
      if (noise < 0) Cta::add(&all.lost[i % task.antennas], 1U);
      sum += noise < 0 ? 0 : noise;
      count += noise < 0 ? 0 : 1;
    }
    all.sum[thread] = sum;
    all.count[thread] = count;
  });
  for (std::uint32_t left = kSurveyThreads / 2; left > 0; left /= 2)
    cta.each(left, [&](std::uint32_t i) {
      all.sum[i] += all.sum[left + i];
      all.count[i] += all.count[left + i];
    });
}

/// One block: there are few numbers.
template <typename Cta>
CARILLON_GPU void survey_block(Cta& cta, const SurveyTask& survey) {
  const CombineTask& task = survey.of;
  SurveyShared& all = *cta.template shared<SurveyShared>();
  cta.each(task.antennas, [&](std::uint32_t antenna) {
    all.lost[antenna] = 0;
    if (antenna == 0) all.whole = 0;
  });
  count_pilots(cta, task, all);
  cta.each(task.antennas, [&](std::uint32_t antenna) {
    if (all.lost[antenna] == 0) Cta::add(&all.whole, 1U);
  });
  cta.each(task.antennas, [&](std::uint32_t antenna) {
    task.takes_part[antenna] = all.lost[antenna] == 0 || all.whole < task.users ? 1 : 0;
    if (antenna != 0) return;
    const auto count = static_cast<float>(all.count[0]);
    *task.mean_noise = count > 0 ? task.noise_gain * all.sum[0] / count : 0;
  });
}

}  // namespace carillon::phy::cuda::zeroforce
